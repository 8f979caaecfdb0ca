"""Numbers by seed, of runs and of computed points."""

import pytest

from attnexp.claims.evidence import Evidence
from attnexp.core.errors import RequestError
from attnexp.runs import files
from attnexp.runs.summary import Tuning


def test_a_detail_of_runs_is_a_number_by_its_place(loaded):
    details = {"exact_match_by_length": {"16": 0.9, "512": 0.4}}
    runs = [loaded({"seed": seed}, details=details) for seed in (0, 1)]
    assert Evidence(runs).sample("exact_match_by_length@512").means == [0.4, 0.4]
    with pytest.raises(RequestError, match="nothing has the number 'exact_match_by_length@7' yet"):
        Evidence(runs).sample("exact_match_by_length@7")
    with pytest.raises(RequestError, match="several runs of seed 0 have exact_match_by_length@16"):
        Evidence([runs[0], runs[0]]).sample("exact_match_by_length@16")
    with pytest.raises(RequestError, match="none of the 2 runs fits seed=9"):
        Evidence(runs).sample("exact_match_by_length@16", "seed=9")


def test_all_tuned_rates_of_a_mechanism_are_named(loaded):
    tuning = Tuning({"optim.lr": ["0.001", "0.01"]}, "val_loss", [1000], tuning_run=False)
    runs = [
        loaded(
            {"seed": 0, "optim.lr": rate, "data.length": length},
            choices={"model": model},
            metrics={"steps": 10},
            tuning=tuning,
        )
        for model, length, rate in [("dot", 8, 0.001), ("dot", 16, 0.01), ("additive", 8, 0.01)]
    ]
    assert Evidence(runs).rates() == (
        "tuned for each row, optim.lr=0.001,0.01: dot 0.001, dot 0.01, additive 0.01"
    )


def test_a_metric_that_is_not_validated_has_the_change_of_the_loss(loaded):
    """Two runs whose losses fall by 0.2 and by 0.1 in the last pass: by 0.15 on the mean."""
    runs = [loaded({"seed": seed}, metrics={"bits": 1.0}) for seed in (0, 1)]
    for run, end in zip(runs, (0.3, 0.4), strict=True):
        losses = [{"epoch": i + 1, "val_loss": loss} for i, loss in enumerate((0.9, 0.5, end))]
        files.write_rows(run.folder / files.METRICS, losses)
    found = Evidence(runs)
    assert found.last_pass("bits") is None
    assert found.last_passes("bits", "seed=0", "seed=1") == [
        ("last pass, seed=0", "loss -0.2"),
        ("last pass, seed=1", "loss -0.1"),
    ]
    assert found.last_pass("loss") == pytest.approx(-0.15)
