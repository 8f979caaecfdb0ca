"""The cores and the GPUs that jobs at the same time share."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

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


class Idle(parallel.LocalExecutor):
    """Says how many of the jobs would run at a time, and starts none."""

    def _free_worker(self, jobs):
        raise StopIteration


@pytest.mark.parametrize(
    ("cores", "gpus", "settings", "count", "said"),
    [
        (8, "0,1", {"device": "cuda"}, 2, True),
        (2, "0,1,2,3", {"device": "cuda"}, 2, False),
        (8, "0", {"device": "cuda", "threads": 2}, 1, True),
        (8, "0", {"device": "cpu"}, 8, False),
        (8, "", {"device": "cuda"}, 8, False),
        (8, "0", {"device": "auto"}, 1, True),
    ],
)
def test_gpus_bound_the_workers(monkeypatch, capsys, cores, gpus, settings, count, said):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    monkeypatch.setattr(parallel, "core_count", lambda: cores)
    executor: Any = Idle(lambda job: cast(Any, job), -1)
    jobs = [SimpleNamespace(settings=settings, folder=Path("a"))]
    assert executor._worker_count(jobs) == count
    with pytest.raises(RuntimeError):
        list(executor.run(jobs, lambda: None))
    assert ("one for each GPU" in capsys.readouterr().out) is said
