"""The number of cores that jobs beside each other share."""

import os

import pytest

from attnexp.sweeps.launchers import local as parallel


@pytest.mark.parametrize(
    ("quota", "cores"), [("150000 100000\n", 2), ("max 100000\n", 8), (None, 8)]
)
def test_cores_are_those_of_the_container(tmp_path, monkeypatch, quota, cores):
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    monkeypatch.setattr(parallel, "QUOTA", file)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert parallel.core_count() == cores
