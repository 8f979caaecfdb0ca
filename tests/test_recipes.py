"""What the shipped recipes reach. The figures in the README are from the same commands."""

import json
from typing import Any

import pytest
from composed import composed

SHIPPED = {
    "reverse": (("data=reverse", "model=additive"), 0.99, 0.85),
    "copy": (("data=copy", "model=additive"), 0.98, 0.85),
    "sort": (("data=sort", "model=additive"), 0.98, 0.6),
    "dates": (("data=dates", "model=additive"), 0.98, 0.4),
    "recall": (("data=recall", "arch=transformer", "model=scaled_dot"), 0.99, 0.3),
}
"""The words, and what exact match and alignment accuracy should be at least."""


@pytest.fixture
def metrics_of(succeeds, tmp_path):
    """Trains, and returns the final metrics."""

    def train(*words):
        succeeds(*words, "seed=1", "figures=false")
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
def test_recall_as_published_takes_a_second_layer(succeeds, tmp_path):
    """One layer names one of the four values told; two layers name the right one."""
    succeeds("-m", "experiment=recall_as_published", "seed=0")
    found = {}
    for path in tmp_path.glob("outputs/*/summary.json"):
        summary = json.loads(path.read_text())
        found[summary["config"]["arch"]["layers"]] = summary["metrics"]["token_accuracy"]
        assert summary["peak_memory_mb"] < 2000  # it does not grow with the steps
    assert 0.2 <= found[1] <= 0.3
    assert found[2] >= 0.99


SHORT = {"max_epochs": 3, "batch_size": 32, "stop_metric": "exact_match", "stop_at": 1.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "copy": SHORT | {"stop_epochs": 2},
    "reverse": SHORT | {"stop_epochs": 2},
    "dates": SHORT | {"stop_epochs": 2},
    "sort": {"max_epochs": 15, "batch_size": 64, "stop_metric": None},
    "recall": SHORT | {"max_epochs": 60, "batch_size": 128, "stop_epochs": 1},
}
"""The settings of training that docs/recipes.md gives for each data set of sequences."""


@pytest.mark.parametrize("name", SETTINGS)
def test_a_recipe_is_the_one_that_is_told(name):
    config = composed(f"data={name}", "model=additive")
    assert {key: config.train[key] for key in SETTINGS[name]} == SETTINGS[name]
    assert (config.train.clip_norm, config.optim._target_) == (
        1.0,
        "attnexp.training.optimizers.Adam",
    )
    assert (config.optim.lr, config.schedule.warmup) == (0.002, 0.1)


def test_many_points_take_adam_in_units_of_the_width():
    config = composed("experiment=width_of_many_points")
    assert (config.optim._target_, config.optim.lr) == ("attnexp.training.optimizers.Adam", 1)
    assert (config.train.batch_size, config.train.max_steps, config.data.num_train) == (
        *(512, 120, 20000),
    )
    assert "Cosine" in config.schedule._target_


def test_recall_as_published_has_the_sizes_that_are_told():
    config = composed("experiment=recall_as_published")
    assert (config.data.max_pairs, config.data.num_train, config.data.num_test) == (4, 100000, 1000)
    assert (config.train.max_epochs, config.train.batch_size, config.optim.lr) == (2, 128, 0.003)
    arch = config.arch
    assert (arch.heads, arch.dim, arch.feed_forward) == (1, 64, False)
    assert config.hydra.runtime.choices.positions == "learned"
    assert config.hydra.sweeper.params["arch.layers"] == "1,2"
