"""Trials are stored, and read back by the next command."""

import pytest


def test_what_is_better_decides_the_direction(tmp_path):
    distributions = pytest.importorskip("optuna.distributions")
    from attnexp.sweeps.plan import Override
    from attnexp.sweeps.search.space import Dimension
    from attnexp.sweeps.search.study import TrialStore

    line = [
        Dimension(
            "x",
            distributions.FloatDistribution(0, 1),
            lambda value: Override("", (value,)),
            (),
            None,
        )
    ]
    trials = TrialStore(tmp_path, line, 0, 1)
    for value in (0.2, 0.9, 0.5):
        trials.measured(trials.ask(), value, "exact_match", "higher")
    assert [trial.value for trial in trials.ranked()] == [0.9, 0.5, 0.2]
    again = TrialStore(tmp_path, line, 0, 1)
    assert again.metric == "exact_match"
    assert again.best().value == 0.9
