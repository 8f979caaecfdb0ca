"""The value of an objective is the mean over the jobs of a point."""

from types import SimpleNamespace
from typing import Any

import pytest

from attnexp.runs.run_status import Status
from attnexp.sweeps.objective import NotMeasuredError, mean_of


@pytest.fixture
def jobs(write_run, summary):
    def finished(*values: float | None) -> Any:
        found = []
        for seed, value in enumerate(values):
            metrics = {"test_mse": value}
            place = SimpleNamespace(
                found=SimpleNamespace(status=Status.FINISHED, summary=summary(metrics=metrics))
            )
            folder = write_run(f"{seed}", {"seed": seed}, metrics=metrics)
            found.append(SimpleNamespace(folder=folder, refreshed=lambda place=place: place))
        return found

    return finished


def test_it_is_the_mean_over_seeds(jobs):
    assert mean_of(jobs(0.25, 0.5, 1.5), "test_mse") == 0.75


def test_a_seed_without_a_finite_number_leaves_the_point_without_a_value(jobs):
    with pytest.raises(NotMeasuredError, match="test_mse is not finite"):
        mean_of(jobs(0.25, None), "test_mse")
