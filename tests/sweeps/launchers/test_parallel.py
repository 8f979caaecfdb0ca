"""The cores and the GPUs that jobs at the same time share."""

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


def test_gpus_are_found_without_cuda(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", " 2, GPU-77,-1")
    assert parallel.visible_gpus() == ["2", "GPU-77"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert parallel.visible_gpus() == []
