import math
from dataclasses import fields, replace
from functools import partial
from typing import Any

import pytest
import torch

from attnexp import normalizers
from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.rnn import Rnn
from attnexp.attention.alignment import Scorecard
from attnexp.core.batch import Batch, Prediction
from attnexp.data.floors import Rivals
from attnexp.data.mqar import MultiQueryRecall
from attnexp.data.reverse import Reverse
from attnexp.scores.additive import Additive
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.stats.intervals import RANGES, UNBOUNDED
from attnexp.tasks.base import ScoreOverflowError
from attnexp.tasks.decoding import decode
from attnexp.tasks.seq2seq import SequenceToSequence


@pytest.fixture
def data():
    return Reverse(
        torch.Generator().manual_seed(0), num_train=40, num_validation=17, num_test=19, max_length=5
    )


@pytest.fixture
def model(data):
    torch.manual_seed(0)
    return Rnn(data.spec, Additive, embed_dim=5, hidden_dim=6).eval()


class Knowing(Rnn):
    """Writes the reversed source, except that it gets the first `wrong` examples wrong."""

    wrong = 0

    def greedy(self, source, mask, max_length):
        answers = torch.full((len(source), max_length), self.pad)
        for row, ids in enumerate(source.tolist()):
            content = [i for i in ids if i not in (self.eos, self.pad)][::-1]
            answers[row, : len(content) + 1] = torch.tensor([*content, self.eos])
        answers[: self.wrong, 0] = self.eos
        return answers


def test_answers_are_as_wide_as_the_targets_with_padding_behind_them(model, data, monkeypatch):
    monkeypatch.setattr(model, "greedy", lambda source, mask, most: torch.full((len(source), 1), 7))
    answers = decode(model, data.test, data.spec)
    assert answers.shape == data.test.targets.shape
    assert (answers[:, 0] == 7).all()
    assert (answers[:, 1:] == data.spec.pad).all()


@pytest.mark.parametrize("nothing", [math.nan, math.inf, -math.inf, 1e30])
def test_padding_has_no_influence_whatever_its_logits(nothing):
    """Neither on the loss nor on its gradient: both are those of the symbols that count."""
    torch.manual_seed(0)
    logits, ids = torch.randn(3, 4, 5), torch.randint(5, (3, 4))
    counts = torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]])
    mask = torch.ones(3, 1, 4, dtype=torch.bool)
    plain = logits[counts].requires_grad_()
    expected = torch.nn.functional.cross_entropy(plain, ids[counts])
    expected.backward()
    padded = logits.where(counts.unsqueeze(-1), nothing).requires_grad_()
    loss = SequenceToSequence().loss(
        Prediction(padded, {}), Batch(ids, ids, ids, ids, mask, counts)
    )
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    assert plain.grad.equal(padded.grad[counts])
    assert padded.grad[~counts].eq(0).all()


def test_exact_match_token_accuracy_and_rows_by_hand(data):
    knowing = Knowing(data.spec, Additive, embed_dim=5, hidden_dim=6).eval()
    knowing.wrong = 4
    with torch.no_grad():
        evaluation = SequenceToSequence().evaluate(knowing, data)
    assert evaluation.metrics["exact_match"] == pytest.approx(15 / 19)
    tokens = int(data.test.target_mask.sum())
    assert evaluation.metrics["token_accuracy"] == pytest.approx((tokens - 4) / tokens)
    by_length = evaluation.details["exact_match_by_length"]
    lengths = (data.test.mask.squeeze(1).sum(dim=1) - 1).tolist()
    assert set(by_length) == {str(length) for length in lengths}
    assert sum(by_length[str(length)] for length in lengths) == pytest.approx(15)
    trained = (data.train.mask.squeeze(1).sum(dim=1) - 1).tolist()
    told = evaluation.details["lengths_in_training"]
    assert told == {"shortest": min(trained), "longest": max(trained)}
    assert [row["exact"] for row in evaluation.rows] == [0] * 4 + [1] * 15
    rows: Any = evaluation.rows
    for row in rows:
        assert row["target"].split() == row["source"].split()[::-1]
        assert (row["decoded"] == row["target"]) == row["exact"]


def test_answers_due_at_given_queries_are_read_off():
    """Nothing is fed back: the answers are those of the teacher-forced pass, one a query."""
    data = MultiQueryRecall(
        torch.Generator().manual_seed(0),
        num_train=3,
        num_validation=4,
        num_test=5,
        max_pairs=5,
        length=20,
        vocab_size=20,
    )
    torch.manual_seed(0)
    model = Rnn(data.spec, Additive, embed_dim=5, hidden_dim=6).eval()
    with torch.no_grad():
        evaluation = SequenceToSequence().evaluate(model, data)
        likeliest = model(data.test).outputs.argmax(dim=-1)
    vocab = data.spec.target_vocab
    rows: Any = evaluation.rows
    for i, row in enumerate(rows):
        asked = data.test.asked[i][data.test.target_mask[i]].tolist()
        told = row["source"].split()
        value = dict(zip(told[::2], told[1::2], strict=True))
        stream = row["queries"].split()
        assert row["target"].split() == [value[stream[place]] for place in asked]
        assert row["decoded"].split() == [vocab[j] for j in likeliest[i, : len(asked)].tolist()]
    for name, floor in Rivals.of(data).floors().items():
        assert evaluation.metrics[f"{name}_chance"] == floor.value
        assert evaluation.floors[f"{name}_chance"] == floor.rival
    assert {int(length) for length in evaluation.details["exact_match_by_length"]} <= {8, 10}


def test_validation_and_test_agree_on_the_same_examples(data, model):
    """Teacher-forced exact match is greedy exact match; the rest is the same computation."""
    task = SequenceToSequence()
    with torch.no_grad():
        tested = task.evaluate(model, data).metrics
        validated = task.validate(model, data.test)
    assert validated.pop("loss") == pytest.approx(tested["test_loss"])
    validated.pop("token_accuracy")
    for name, value in validated.items():
        assert tested[name] == pytest.approx(value), name


class Drawn(Rnn):
    """Has two heads whose weights are drawn anew for every set, so that none is better."""

    def forward(self, batch, need_weights=False):
        prediction = super().forward(batch, need_weights)
        if not need_weights:
            return prediction
        generator = torch.Generator().manual_seed(len(batch))
        shape = (len(batch), 1, 8, *prediction.weights["cross"].shape[-2:])
        weights = torch.rand(shape, generator=generator).masked_fill(~batch.mask[:, None, None], 0)
        return Prediction(prediction.outputs, {"cross": weights})


NORMALIZERS = {
    name: partial(getattr(normalizers, name), **({"k": 2} if name == "TopK" else {}))
    for name in dir(normalizers)
    if name[0].isupper() and name != "Normalizer"
}


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_metrics_stay_within_the_range_of_their_units(data, normalizer):
    torch.manual_seed(0)
    model = Rnn(data.spec, ScaledDot, NORMALIZERS[normalizer], hidden_dim=8, heads=2)
    with torch.no_grad():
        model.attention.W_q.weight.mul_(30)  # weights that sum to much more than 1, where they may
        found = SequenceToSequence().evaluate(model.eval(), data)
    units = {metric.name: metric.unit for metric in SequenceToSequence.metrics}
    for name, value in found.metrics.items():
        least, most = RANGES.get(units.get(name, ""), UNBOUNDED)
        assert least <= value <= most, name


def test_the_weight_on_gold_is_told_by_the_length_of_the_source(data, model):
    with torch.no_grad():
        details = SequenceToSequence().evaluate(model, data).details
        weights = model(data.test, need_weights=True).weights["cross"][:, 0, 0]
    gold = data.test.alignment
    lengths = data.test.mask.squeeze(1).sum(dim=1) - 1
    on_gold = weights.gather(2, gold.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    expected = {
        str(length): on_gold[lengths == length][gold[lengths == length] >= 0].mean().item()
        for length in lengths.unique().tolist()
    }
    assert len(expected) > 1
    assert details["gold_mass_by_length"] == pytest.approx(expected, rel=1e-4)


def test_the_head_is_chosen_on_the_validation_set(data):
    """On the test set the chosen head is one of equals, and not the best of eight."""
    task, model = SequenceToSequence(), Drawn(data.spec, Additive, embed_dim=5, hidden_dim=6).eval()
    with torch.no_grad():
        metrics = task.evaluate(model, data).metrics
        validated = task.validate(model, data.validation)

    def heads(numbers):
        return [numbers[f"alignment_accuracy.layer1.head{head}"] for head in range(1, 9)]

    best = heads(validated).index(max(heads(validated)))
    assert metrics["alignment_accuracy"] == pytest.approx(heads(metrics)[best])
    assert metrics["alignment_accuracy"] < max(heads(metrics))
    assert metrics["alignment_accuracy_mean"] == pytest.approx(sum(heads(metrics)) / 8)
    masses = [metrics[f"gold_mass.layer1.head{head}"] for head in range(1, 9)]
    assert metrics["gold_mass"] == pytest.approx(masses[best])
    assert metrics["gold_mass_mean"] == pytest.approx(sum(masses) / 8)


def test_chance_is_what_untrained_models_reach(data, model):
    task, drawn = SequenceToSequence(), Drawn(data.spec, Additive, embed_dim=5, hidden_dim=6).eval()
    with torch.no_grad():
        alone = task.evaluate(drawn, data).metrics
        metrics = task.evaluate(model, data, untrained=[drawn, drawn]).metrics
    assert metrics["alignment_accuracy_chance"] == pytest.approx(alone["alignment_accuracy"])
    assert "alignment_accuracy_chance" not in alone


def test_chance_has_the_standard_error_of_its_untrained_models(data, model):
    """Of two numbers a and b it is |a - b| / 2, and of one there is none."""
    task, found = SequenceToSequence(), []
    drawn = [Rnn(data.spec, Additive, embed_dim=5, hidden_dim=n).eval() for n in (5, 6, 7, 8)]
    with torch.no_grad():
        for each in drawn:
            one = task.evaluate(model, data, untrained=[each]).metrics
            assert "alignment_accuracy_chance_se" not in one
            found.append(one["alignment_accuracy_chance"])
        low, high = min(range(4), key=found.__getitem__), max(range(4), key=found.__getitem__)
        assert found[low] < found[high]
        both = task.evaluate(model, data, untrained=[drawn[low], drawn[high]]).metrics
    expected = (found[high] - found[low]) / 2
    assert both["alignment_accuracy_chance_se"] == pytest.approx(expected)


def test_the_trivial_answer_is_the_commonest_symbol(data, model):
    with torch.no_grad():
        metrics = SequenceToSequence().evaluate(model, data).metrics
    train = data.train.targets[data.train.target_mask].tolist()
    commonest = max(set(train), key=train.count)
    test = data.test.targets[data.test.target_mask].tolist()
    assert metrics["baseline_token_accuracy"] == pytest.approx(test.count(commonest) / len(test))


def test_kept_attention_is_that_of_the_first_examples(data, model):
    with torch.no_grad():
        attended = SequenceToSequence(num_shown=3).attend(model, data)
    assert len(attended.shown) == 3
    assert attended.shown.keys.equal(data.test.keys[:3])
    assert attended.weights["cross"].shape[0] == 3


def test_an_alignment_without_any_gold_key_is_no_alignment(data, model):
    for split in ("validation", "test"):
        batch = getattr(data, split)
        setattr(data, split, replace(batch, alignment=torch.full_like(batch.alignment, -1)))
    task = SequenceToSequence()
    with torch.no_grad():
        measured = task.evaluate(model, data).metrics
        validated = task.validate(model, data.validation)
    card = {field.name for field in fields(Scorecard)}
    assert not card & {name.partition(".")[0] for name in (*measured, *validated)}
    assert {"exact_match", "test_loss", "val_loss", "val_exact_match"} <= set(measured)


def test_refuses_to_keep_nothing():
    with pytest.raises(ValueError, match="num_shown must be at least 1, got 0"):
        SequenceToSequence(num_shown=0)


class Elsewhere(DecoderOnly):
    """Gives the source no weight, and each symbol `own` of the weight on itself."""

    own = 1.0

    def forward(self, batch, need_weights=False):
        prediction = super().forward(batch, need_weights)
        source = batch.keys.shape[1]
        joint = torch.zeros_like(prediction.weights["self"])
        joint.diagonal(dim1=-2, dim2=-1).fill_(self.own)
        cross = joint[..., source:, :source]
        return Prediction(prediction.outputs, {"cross": cross, "self": joint})


def test_a_joint_sequence_may_have_no_weight_on_its_source(data):
    model = Elsewhere(data.spec, ScaledDot, layers=1, heads=1, dim=4, ff_dim=4).eval()
    task = SequenceToSequence()
    with torch.no_grad():
        validated = task.validate(model, data.validation)
        assert validated["sink_mass"] == 1
        assert validated["alignment_accuracy"] == 0
        model.own = 0.0
        with pytest.raises(ScoreOverflowError, match="queries have no weight on any key"):
            task.validate(model, data.validation)
