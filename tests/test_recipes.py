"""What the shipped recipes reach. The figures in the README are from the same commands."""

import json

import pytest

SHIPPED = {
    "reverse": (("data=reverse", "model=additive"), 0.99, 0.85),
    "copy": (("data=copy", "model=additive"), 0.98, 0.85),
    "sort": (("data=sort", "model=additive"), 0.98, 0.6),
    "dates": (("data=dates", "model=additive"), 0.98, 0.4),
    "recall": (("data=recall", "arch=transformer", "model=scaled_dot"), 0.99, 0.3),
}
"""The words, and what exact match and alignment accuracy should be at least."""


@pytest.fixture
def metrics_of(in_process, tmp_path):
    """Trains, and returns the final metrics."""

    def train(*words):
        answer = in_process(*words, "seed=1", "figures=false")
        assert answer.returncode == 0, answer.stderr
        (path,) = tmp_path.glob("outputs/*/summary.json")
        return json.loads(path.read_text())["metrics"]

    return train


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_recipe_learns_its_task(metrics_of, name):
    words, exact_match, alignment_accuracy = SHIPPED[name]
    found = metrics_of(*words)
    assert found["exact_match"] >= exact_match
    assert found["alignment_accuracy"] >= alignment_accuracy


@pytest.mark.slow
def test_the_sentences_that_ship_are_translated(metrics_of):
    assert metrics_of("data=pairs", "model=additive")["bleu"] >= 75


@pytest.mark.slow
def test_looking_at_everything_at_once_is_not_enough_to_reverse(metrics_of):
    found = metrics_of("data=reverse", "model=average")
    assert found["exact_match"] < 0.95
    assert found["alignment_accuracy"] < 0.3


@pytest.mark.slow
def test_recall_as_published_takes_a_second_layer(in_process, tmp_path):
    """One layer names one of the four values told; two layers name the right one."""
    answer = in_process("-m", "experiment=recall_as_published", "seed=0")
    assert answer.returncode == 0, answer.stderr
    found = {}
    for path in tmp_path.glob("outputs/*/summary.json"):
        summary = json.loads(path.read_text())
        found[summary["config"]["arch"]["layers"]] = summary["metrics"]["token_accuracy"]
        assert summary["peak_memory_mb"] < 2000  # it does not grow with the steps
    assert 0.2 <= found[1] <= 0.3
    assert found[2] >= 0.99
