"""The floor of a metric against an own count of every rival, in words and loops."""

from collections import Counter, defaultdict
from math import prod
from statistics import fmean, stdev
from typing import Any

import pytest
import torch

from attnexp import sweep
from attnexp.cards.trial import read_tasks
from attnexp.data.compression import Compression
from attnexp.data.copy import Copy
from attnexp.data.first import First
from attnexp.data.flip_flop import FlipFlop
from attnexp.data.floors import (
    ANY,
    COMMONEST,
    COMMONEST_TOLD,
    EACH_ONCE,
    OWN,
    PLACE,
    TOLD,
    Rivals,
)
from attnexp.data.fuzzy_recall import FuzzyRecall
from attnexp.data.in_context_recall import InContextRecall
from attnexp.data.maximum import Maximum
from attnexp.data.memorization import Memorization
from attnexp.data.mqar import MultiQueryRecall
from attnexp.data.mqmtar import MultiTokenRecall
from attnexp.data.nback import NBack
from attnexp.data.noisy_recall import NoisyRecall
from attnexp.data.recall import Recall
from attnexp.data.selective_copying import SelectiveCopying
from attnexp.data.stacked_recall import StackedRecall
from attnexp.data.text import symbols
from attnexp.data.tiled import Tiled
from attnexp.data.trigger import Trigger

SIZES = {"num_train": 150, "num_validation": 5, "num_test": 40}
SMALL: dict[Any, dict[str, Any]] = {
    Compression: {"length": 4},
    First: {"min_length": 9, "max_length": 11},
    FlipFlop: {"min_length": 9, "max_length": 12, "write_prob": 0.3},
    FuzzyRecall: {"length": 20, "vocab_size": 8, "key_size": 1, "value_size": 2},
    InContextRecall: {"length": 24, "vocab_size": 10},
    Maximum: {"classes": 3},
    Memorization: {"length": 6, "vocab_size": 17},
    MultiQueryRecall: {"min_pairs": 2, "max_pairs": 4, "length": 18, "vocab_size": 17},
    MultiTokenRecall: {"min_length": 18, "max_length": 30, "alphabet": 6, "num_queries": 2},
    NBack: {"min_length": 8, "max_length": 10, "num_answers": 3, "vocab_size": 4},
    NoisyRecall: {"length": 24, "vocab_size": 10, "noise_vocab_size": 4},
    Recall: {"test_min_pairs": 7, "test_max_pairs": 8},
    SelectiveCopying: {"num_symbols": 3, "length": 12, "vocab_size": 9},
    StackedRecall: {"min_pairs": 2, "max_pairs": 3},
    Tiled: {"min_period": 3, "max_period": 5, "length": 12, "test_lengths": [12, 15]},
    Trigger: {"vocab_size": 4},
}


def build(target, **settings):
    return target(torch.Generator().manual_seed(1), **{**SIZES, **settings})


def questions(data, batch):
    """Each example as (place, symbol of the query, what was read, answer) of each question."""
    spec = data.spec
    longest = max(spec.max_source, spec.test_max_source)
    for i in range(len(batch)):
        source = list(symbols(batch.keys[i][batch.mask[i, 0]], spec.source_vocab))
        targets, asked = batch.targets[i].tolist(), range(batch.targets.shape[1])
        queries = [spec.target_vocab[query] for query in batch.queries[i]]
        found = []
        for j, target in enumerate(targets):
            if not batch.target_mask[i, j] or target == spec.eos:
                continue
            if batch.asked is None:
                place, before, query = longest + j, source, queries[asked[j]]
            else:
                own = int(batch.asked[i, j])
                place, before, query = len(source) + own, source + queries[: own + 1], queries[own]
            found.append((place, query, before, spec.target_vocab[target]))
        yield found


def likeliest(counts, order):
    return max(counts, key=lambda one: (counts[one], order(one)))


def rivals_of(data):
    """How probably each rival is right on each question, by example."""
    train, test = (list(questions(data, batch)) for batch in (data.train, data.test))
    number = {symbol: i for i, symbol in enumerate(data.spec.target_vocab)}
    answers = {answer for example in train for *_, answer in example}
    of_place, asked_at, of_query = defaultdict(Counter), Counter(), defaultdict(Counter)
    apart = True
    for place, query, read, answer in (question for example in train for question in example):
        of_place[place].update(at for at, symbol in enumerate(read) if symbol == answer)
        asked_at[place] += 1
        of_query[query][answer] += 1
        apart &= query != answer
    told_all = all(max(of_place[p].values(), default=0) == n for p, n in asked_at.items())
    right = defaultdict(list)
    for example in test:
        rows = defaultdict(list)
        for i, (place, query, read, answer) in enumerate(example):
            told = Counter(symbol for symbol in read if symbol in answers)
            others = Counter({s: n for s, n in told.items() if s != query or not apart})
            first = max(others, key=lambda told: others[told], default=None)
            used = [later for *_, later in example[:i]].count(answer)
            at = likeliest(of_place[place], lambda at: -at) if of_place[place] else None
            there = read[at] if at is not None and at < len(read) else None
            said = likeliest(of_query[query], number.get) if query in of_query else None
            rows[ANY].append((answer in answers) / len(answers))
            rows[TOLD].append(told[answer] / max(told.total(), 1))
            rows[EACH_ONCE].append(max(told[answer] - used, 0) / max(told.total() - i, 1))
            rows[COMMONEST_TOLD].append(float(first == answer))
            rows[PLACE].append(float(not told_all and there == answer))
            rows[COMMONEST].append(float(said == answer))
        for name, row in rows.items():
            right[name].append(row)
    return right


@pytest.mark.parametrize("target", SMALL, ids=lambda target: target.__name__)
def test_floors_are_those_of_the_best_rival_counted_in_loops(target):
    data = build(target, **SMALL[target])
    right = rivals_of(data)
    counted = {
        "exact_match": {name: fmean(map(prod, rows)) for name, rows in right.items()},
        "token_accuracy": {
            name: fmean(hit for row in rows for hit in row)
            for name, rows in right.items()
            if name != EACH_ONCE
        },
    }
    found = Rivals.of(data).floors()
    assert set(found) == set(target.floors)
    for metric, (value, rival) in found.items():
        own = counted[metric] | ({OWN: data.chance[metric]} if metric in data.chance else {})
        assert value == pytest.approx(max(own.values()))
        assert value == pytest.approx(own[rival])
    some = torch.arange(len(data.test)) % 3 == 1
    for name, rows in right.items():
        counted_alone = fmean(prod(row) for row, is_in in zip(rows, some, strict=True) if is_in)
        assert Rivals.of(data).exact_match(name, some) == pytest.approx(counted_alone)


def test_data_without_a_chance_have_no_floor():
    assert Rivals.of(build(Copy, min_length=3, max_length=4)).floors() == {}


def test_a_place_that_tells_every_answer_is_the_key_of_the_task_and_no_rival():
    assert Rivals.of(build(Compression, length=4)).floors()["token_accuracy"].value < 0.5
    assert Rivals.of(build(NBack, **SMALL[NBack])).floors()["token_accuracy"].value < 0.6


def test_values_without_repetition_are_all_right_once_in_n_factorial():
    data = build(MultiQueryRecall, **SMALL[MultiQueryRecall] | {"min_pairs": 4, "power": 1})
    value, rival = Rivals.of(data).floors()["exact_match"]
    assert value == pytest.approx(1 / 24)
    assert rival == EACH_ONCE


def test_mqar_keeps_the_order_of_the_slots_of_its_source_and_its_floor_says_so():
    settings = {"min_pairs": 4, "max_pairs": 4, "length": 16, "num_train": 2_000, "num_test": 500}
    data = build(MultiQueryRecall, vocab_size=33, **settings)
    value, rival = Rivals.of(data).floors()["token_accuracy"]
    assert value == pytest.approx(0.39, abs=0.04)
    assert rival == PLACE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in_context_recall", "noisy_recall", "fuzzy_recall", "mqar"])
def test_average_pooling_cannot_read_a_key_and_is_not_above_the_floor(name, tmp_path, monkeypatch):
    """Ten seeds of the quick trial: t of 9 degrees of freedom is below 1.83 in 19 of 20."""
    monkeypatch.chdir(tmp_path)
    (trial,) = read_tasks("quick", [name])
    runs = sweep(*trial.words, "model=average", f"seed={','.join(map(str, range(10)))}")
    metrics = [run.metrics for run in runs]
    above = [each["token_accuracy"] - each["token_accuracy_chance"] for each in metrics]
    assert fmean(above) < 1.83 * stdev(above) / len(above) ** 0.5
