"""Time and memory of attention by length."""

import re

import pytest

from attnexp.cards.cost import DIM, costs_in_turns, measure, why_not_measured


@pytest.mark.check
def test_memory_is_at_least_that_of_the_weights_and_grows_with_their_number():
    """Of a plain formula the weights, n^2 numbers of 4 bytes, are kept, and queries, keys and
    values."""
    line = ["model=dot", "normalizer=sparsemax", "device=cpu"]
    found, again = (measure(line, [128, 256]) for _ in range(2))
    small, large = (found[f"MB kept@{length}"] for length in (128, 256))
    assert small >= 4 * (128**2 + 3 * 128 * DIM) / 2**20
    assert small == again["MB kept@128"]
    assert 2.5 < large / small < 4
    assert found["seconds@256"] > 0


def test_an_estimator_costs_what_it_adds():
    """The line makes several maps of n^2 numbers, the average by a fused kernel none."""
    average, line, delta = (
        measure(["model=dot", f"estimator={name}", "device=cpu"], [256])["MB kept@256"]
        for name in ("local_constant", "local_linear", "delta")
    )
    weights = 4 * 256**2 / 2**20
    assert line > average + 2 * weights
    assert delta > average + weights


@pytest.mark.parametrize("word", ["attention=gated", "arch.kv_heads=1", "positions=rotary"])
def test_what_is_around_the_score_has_no_cost(word):
    message = f"the cost is that of model, normalizer, estimator alone, without {word}"
    assert why_not_measured(["model=dot", "normalizer.k=3", word]) == message
    assert why_not_measured(["model=dot", "normalizer.k=3"]) == ""


def test_rows_are_measured_in_turns_each_in_a_process_of_its_own(monkeypatch):
    calls = []

    def called(seconds, function, line, lengths):
        assert function is measure
        assert seconds <= 60
        calls.append(line[0])
        if line == ["b"]:
            raise RuntimeError("out of memory")
        if line == ["c"] and len(calls) > 3:
            raise TimeoutError
        return {"seconds@8": float(len(calls))}

    monkeypatch.setattr("attnexp.cards.cost.in_own_process", called)
    found = costs_in_turns([["a"], ["b"], ["c"]], [8], 3, 60, "late")
    assert calls == ["a", "b", "c", "a", "c", "a"]
    assert found == [{"seconds@8": {1: 1.0, 2: 4.0, 3: 6.0}}, "out of memory", "late"]


OWN = """
import os
import time
from attnexp.scores import Score


class Mine(Score):
    def compare(self, queries, keys):
        {body}
"""


@pytest.mark.check
def test_time_that_others_have_of_the_processor_is_not_counted(own_choice, in_process, tmp_path):
    body = "time.sleep(0.5); return queries @ keys.transpose(-2, -1)"
    words = own_choice("model", "mine_costs.Mine", OWN.format(body=body))
    line = [words[0], str(tmp_path / words[1]), words[2], "device=cpu"]
    assert 0 < measure(line, [8])["seconds@8"] < 0.25


@pytest.mark.check
@pytest.mark.parametrize(
    ("body", "seconds", "message"),
    [
        ("return queries.nonsense", 120, "AttributeError: .*nonsense"),
        ("time.sleep(60)", 6, "stopped after 0.1 minutes"),
        ("os.abort()", 120, r"its process was killed by signal 6 \(SIGABRT\)"),
    ],
)
def test_a_score_that_fails_or_never_ends_is_said(
    own_choice, in_process, tmp_path, body, seconds, message
):
    words = own_choice("model", "mine_costs.Mine", OWN.format(body=body))
    config_dir = [words[0], str(tmp_path / words[1])]
    line = [*config_dir, words[2], "device=cpu"]
    (found,) = costs_in_turns([line], [8], 1, seconds, "stopped after 0.1 minutes")
    assert re.search(message, str(found))
