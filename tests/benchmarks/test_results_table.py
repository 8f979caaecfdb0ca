"""The runs that the benchmark of tables writes."""

from pathlib import Path

from results_table import write_runs

from attnexp.select.collect import collect


def test_the_runs_of_the_benchmark_are_compared(tmp_path: Path):
    write_runs(tmp_path, 7)
    assert len(collect([tmp_path]).runs) == 7
