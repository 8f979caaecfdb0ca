"""Interventions that stored runs lack."""

import shutil

from attnexp.config.probing import lacking, probe_missing
from attnexp.runs.folder import load_run


def test_only_the_runs_that_lack_an_intervention_are_measured(finished_runs, tmp_path):
    paths = [
        str(shutil.copytree(finished_runs[name], tmp_path / name)) for name in ("curve", "second")
    ]

    def measured(runs, *names):
        """The interventions of both runs after these are made, and the times of their files."""
        probe_missing([load_run(path) for path in runs], names, None)
        both = [load_run(path) for path in paths]
        return (
            [{row.intervention for row in run.interventions} for run in both],
            [
                (run.folder / "interventions.csv").stat().st_mtime_ns
                for run in both
                if run.interventions
            ],
        )

    first, (before,) = measured(paths[:1], "uniform")
    assert first == [{"learned", "uniform"}, set()]
    found, (after, other) = measured(paths, "uniform")
    assert found == [{"learned", "uniform"}] * 2
    assert before == after < other
    found, times = measured(paths, "uniform", "hard")
    assert found == [{"learned", "uniform", "hard"}] * 2
    assert min(times) > other
    assert measured(paths, "hard") == (found, times)
    assert [run.seed for run in lacking([load_run(path) for path in paths], ["topk=1"])] == [0, 1]
