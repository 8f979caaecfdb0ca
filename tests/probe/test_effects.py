"""What is measured of a run: changes paired by example, ladders, and intervals."""

import math
from itertools import pairwise

import pytest
import torch
from composed import prepared

from attnexp.config.laws import read_laws
from attnexp.core.errors import RequestError
from attnexp.probe.effects import interval, total_variation
from attnexp.probe.measure import Probe
from attnexp.runs.probed import CHANGE, HIGH, LEARNED, LOW, on_test

SMALL = ("data.num_train=20", "data.num_validation=10", "data.num_test=12")

LAWS = read_laws()


@pytest.fixture(scope="module")
def transformer():
    run = prepared(
        *("data=reverse", "model=scaled_dot", "arch=transformer", "arch.dim=8", "arch.heads=2"),
        *SMALL,
    )
    run.model.eval()
    return run


@pytest.fixture(scope="module")
def curve():
    return prepared("model=gaussian", "data.num_train=30")


SIGNED = {
    "a line": ("model=gaussian", "estimator=local_linear", "data.num_train=30"),
    "two maps": (
        *("data=reverse", "model=scaled_dot", "arch=transformer", "arch.dim=8", "arch.heads=2"),
        *("attention=differential", *SMALL),
    ),
}


@pytest.mark.parametrize("name", SIGNED)
def test_laws_that_share_a_sum_are_refused_where_weights_have_both_signs(name):
    run = prepared(*SIGNED[name])
    run.model.eval()
    for word in ("hard", "unit_uniform", "interpolate=hard:0..1", "adversarial"):
        with pytest.raises(RequestError, match="the weights of this model have both signs"):
            Probe(run, [word], LAWS)
    rows = measured(run)
    assert {"topk=1", "without_topk=1", "shuffled"} <= {row.intervention for row in rows}


def measured(run, *words, others=()):
    passes = []
    probe = Probe(run, words, LAWS)
    rows = probe.measure(lambda done, _: passes.append(done), others)
    assert passes == list(range(1, probe.passes + 1))
    return rows


def test_every_metric_of_the_answers_is_measured_as_the_task_does(transformer, curve):
    for run, metrics in [
        (transformer, ("exact_match", "token_accuracy", "test_loss")),
        (curve, ("test_mse", "test_mae")),
    ]:
        with torch.no_grad():
            wanted = run.task.evaluate(run.model, run.dataset).metrics
        learned = on_test(measured(run, "hard"))[LEARNED]
        assert {name: learned[name] for name in metrics} == pytest.approx(
            {name: wanted[name] for name in metrics}, rel=1e-5
        )


def test_a_change_is_the_metric_minus_that_of_the_learned_weights(curve):
    rows = on_test(measured(curve, "uniform"))
    uniform, learned = rows["uniform"], rows[LEARNED]
    assert uniform["test_mse" + CHANGE] == pytest.approx(uniform["test_mse"] - learned["test_mse"])
    assert uniform["test_mse" + LOW] < uniform["test_mse" + CHANGE] < uniform["test_mse" + HIGH]
    assert uniform["test_mse"] == pytest.approx(baseline(curve), rel=1e-5)
    assert uniform["moved"] > 0


def baseline(run):
    with torch.no_grad():
        return run.task.evaluate(run.model, run.dataset).metrics["baseline_mse"]


def test_all_keys_change_nothing(transformer):
    for row in measured(transformer, "topk=100"):
        if row.intervention != LEARNED:
            changes = [value for name, value in row.numbers.items() if name.endswith(CHANGE)]
            assert changes == pytest.approx([0] * len(changes), abs=1e-5)
            assert row.numbers.get("unchanged", 1) == 1
            assert row.numbers.get("flips", 0) == 0
            assert row.numbers.get("total_variation", 0) == pytest.approx(0, abs=1e-5)


def test_a_ladder_ends_at_its_law_and_has_the_area_of_its_rungs(curve):
    rows = on_test(measured(curve, "uniform", "interpolate=uniform:0..1"))
    errors = [rows[LEARNED]["test_mse"]]
    errors += [rows[f"interpolate=uniform:{share}"]["test_mse"] for share in (0.25, 0.5, 0.75, 1)]
    assert errors[-1] == pytest.approx(rows["uniform"]["test_mse"])
    area = sum((a + b) / 2 for a, b in pairwise(errors)) / 4
    assert rows["interpolate=uniform:0..1"]["test_mse"] == pytest.approx(area)


def test_heads_are_measured_on_validation_too_and_nothing_else_is(transformer):
    rows = measured(transformer, "uniform", "zero=cross.1.1", "zero=cross.1.2")
    validation = [row for row in rows if row.split == "validation"]
    assert [row.intervention for row in validation] == [
        *(LEARNED, "zero=cross.1.1", "zero=cross.1.2")
    ]
    assert {row.fed for row in validation} == {"teacher"}
    assert not [row for row in measured(transformer, "zero=cross.1.1") if row.split != "test"]


def test_gold_is_refused_where_no_answer_has_a_gold_key(curve, transformer):
    with pytest.raises(RequestError, match="data=sine does not say it of pooling"):
        Probe(curve, ["gold"], LAWS)
    with pytest.raises(RequestError, match="does not say it of encoder"):
        Probe(transformer, ["gold=encoder"], LAWS)


def test_an_interval_over_examples_is_students():
    differences = torch.tensor([0.5, 1.5, 2.0, 4.0], dtype=torch.float64)
    mean, low, high = interval(differences)
    reach = 3.1824463 * float(differences.std()) / 2  # t of 3 degrees of freedom
    assert (mean, low, high) == pytest.approx((2.0, 2.0 - reach, 2.0 + reach))
    assert interval(differences[:1])[1:] == (-math.inf, math.inf)


def test_an_interval_of_shares_is_no_point_where_all_examples_change_alike():
    mean, low, high = interval(-torch.ones(100, dtype=torch.float64))
    assert mean == low == -1
    assert -0.97 < high < -0.94
    assert interval(torch.zeros(100))[0] == 0
    assert interval(torch.zeros(100))[1] == pytest.approx(-interval(torch.zeros(100))[2])


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_an_interval_of_shares_covers_the_truth(share):
    """Agresti and Min's, at 60 examples of which a share goes wrong."""
    rng = torch.Generator().manual_seed(0)
    held = 0
    for draw in (torch.rand(2000, 60, generator=rng) < share).double():
        _, low, high = interval(-draw)
        held += low <= -share <= high
    assert held / 2000 > 0.93


def test_the_total_variation_of_predictions_by_hand():
    """|0.9 - 0.5| and |0.1 - 0.5|, halved; 1 if they have no symbol in common."""
    logits, others = (
        torch.tensor([[0.9, 0.1], [1.0, 0.0]]).log(),
        torch.tensor([[0.5, 0.5], [0.0, 1.0]]).log(),
    )
    torch.testing.assert_close(total_variation(logits, others), torch.tensor([0.4, 1.0]))
