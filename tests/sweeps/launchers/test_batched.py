"""hydra/launcher=batched: ordinary run folders from jobs that train as replicas."""

import json
from pathlib import Path

import pytest
from sweeping import Started, until

from attnexp.runs.origin.command_line import command
from attnexp.runs.place import Place
from attnexp.runs.summary import read_summary
from attnexp.sweeps.launchers import batched
from attnexp.sweeps.launchers import local as parallel
from attnexp.sweeps.plan import PlannedJob

SHORT = ("train.max_epochs=6", "train.tolerance=null", "figures=false")
LAUNCHER = "hydra/launcher=batched"

SCORES = """
import os
import time

from attnexp.scores.gaussian import Gaussian


class Deadly(Gaussian):
    def __init__(self, query_dim: int, key_dim: int, width: str, initial_width: float):
        super().__init__(query_dim, key_dim, width, initial_width)
        self.deadly = initial_width == 0.75

    def compare(self, queries, keys):
        if self.deadly:
            os._exit(3)
        return super().compare(queries, keys)


class Deciding(Gaussian):
    def compare(self, queries, keys):
        scores = super().compare(queries, keys)
        return scores if bool(scores.isfinite().all()) else scores * 0


class Slow(Gaussian):
    def compare(self, queries, keys):
        time.sleep(0.01)
        return super().compare(queries, keys)
"""


@pytest.fixture
def own_scores(tmp_path):
    (tmp_path / "own_batched.py").write_text(SCORES)
    (tmp_path / "mine" / "model").mkdir(parents=True)
    for name in ("deadly", "deciding", "slow"):
        text = f"# A score of a test.\n_target_: own_batched.{name.title()}\n"
        text += "width: learned\ninitial_width: 0.5\n"
        (tmp_path / "mine" / "model" / f"{name}.yaml").write_text(text)
    return ("--config-dir", "mine")


def no_job(planned):
    """Jobs are dealt out before any is composed."""
    raise AssertionError(planned)


def summaries(folder):
    """The summaries below a folder, by seed and width."""
    found = {}
    for path in folder.glob("*/summary.json"):
        summary = json.loads(path.read_text())
        width = summary["config"]["model"].get("initial_width")
        found[summary["config"]["seed"], width] = (path.parent, summary)
    return found


@pytest.mark.parametrize(
    ("count", "cores", "gpus", "sizes"),
    [
        (64, 2, [], [16, 16, 16, 16]),
        (16, 2, [], [8, 8]),
        (16, 1, [], [16]),
        (16, 8, [], [4, 4, 4, 4]),
        (5, 2, [], [5]),
        (16, 8, ["0"], [16]),
        (16, 8, ["0", "1"], [8, 8]),
    ],
)
def test_jobs_are_dealt_out_to_all_workers(monkeypatch, count, cores, gpus, sizes):
    monkeypatch.setattr(parallel, "core_count", lambda: cores)
    monkeypatch.setattr(parallel, "visible_gpus", lambda: gpus)
    executor = batched.BatchedExecutor(no_job, size=16, n_jobs=-1)
    jobs = [
        PlannedJob(i, (), "", Place(Path(str(i)), ""), {"seed": i, "device": "auto"})
        for i in range(count)
    ]
    assert [len(group) for group in executor._groups(jobs)] == sizes


def test_seeds_of_the_data_may_differ_between_replicas():
    executor = batched.BatchedExecutor(no_job, size=16, n_jobs=1)
    jobs = [
        PlannedJob(i, (), "", Place(Path(str(i)), ""), {"seed": 0, "data_seed": data_seed})
        for i, data_seed in enumerate([None, 3, 4])
    ]
    (group,) = executor._groups(jobs)
    assert [job.number for job in group] == [0, 1, 2]


def test_a_batched_sweep_leaves_ordinary_folders_that_can_be_repeated_alone(succeeds, tmp_path):
    words = (LAUNCHER, "hydra.launcher.size=3", "seed=0,1", "data.noise=0.5,0.2", *SHORT)
    succeeds("-m", *words, "output_dir=many")
    runs = sorted((tmp_path / "many").iterdir())
    assert len(runs) == 4
    for folder in runs:
        summary = json.loads((folder / "summary.json").read_text())
        config = summary["config"]
        same = (f"seed={config['seed']}", f"data.noise={config['data']['noise']}", *SHORT)
        succeeds(*same, f"output_dir=plain/{folder.name}")
        (usual,) = (tmp_path / "plain" / folder.name).iterdir()
        files = {path.relative_to(folder) for path in folder.rglob("*")}
        assert files == {path.relative_to(usual) for path in usual.rglob("*")}
        assert config["batched"] is True
        expected = read_summary(usual)
        assert summary["metrics"]["steps"] == expected.metrics["steps"]
        assert summary["notes"] == list(expected.notes)
        lines = (folder / "attnexp.log").read_text().splitlines()
        assert [line.split("]")[1] for line in lines] == [
            line.split("]")[1] for line in (usual / "attnexp.log").read_text().splitlines()
        ]
    line = command([read_summary(folder)], [summary["config"]["seed"]])
    assert "batched=true" in line
    succeeds(*line.split()[1:], "output_dir=alone")
    for name in ("model.safetensors", "attention.safetensors", "predictions.csv"):
        again = (tmp_path / "alone" / folder.name / name).read_bytes()
        assert again == (folder / name).read_bytes()


@pytest.mark.slow
def test_a_job_that_kills_the_worker_does_not_end_the_others(in_process, tmp_path, own_scores):
    words = ("-m", LAUNCHER, *own_scores, "model=deadly", *SHORT)
    assert in_process(*words, "model.initial_width=0.75,0.5", "seed=0,1").returncode == 1
    found = summaries(tmp_path / "outputs")
    assert {key: summary["status"] for key, (_, summary) in found.items()} == {
        (0, 0.75): "failed",
        (1, 0.75): "failed",
        (0, 0.5): "finished",
        (1, 0.5): "finished",
    }
    assert "exit code 3" in found[0, 0.75][1]["error"]


def test_a_score_that_cannot_be_mapped_runs_by_itself_and_says_so(succeeds, tmp_path, own_scores):
    words = (*own_scores, "model=deciding", *SHORT)
    swept = succeeds("-m", LAUNCHER, *words, "seed=0,1")
    said = "batched=true, but this run was trained by itself, because its loss cannot be mapped"
    assert swept.stdout.count(said) == 1
    succeeds(*words, "seed=1", "output_dir=plain")
    ((_, usual),) = summaries(tmp_path / "plain").values()
    _, summary = summaries(tmp_path / "outputs")[1, 0.5]
    assert summary["notes"][0].startswith(said)
    assert summary["metrics"] == usual["metrics"]


@pytest.mark.slow
def test_an_interrupt_leaves_every_job_to_be_run_again(tmp_path, own_scores):
    words = ("-m", LAUNCHER, *own_scores, "model=slow", *SHORT, "train.max_epochs=2000", "seed=0,1")
    sweep = Started(tmp_path, words, "batched")
    outputs = tmp_path / "outputs"
    try:
        until(lambda: len([*outputs.glob("*/metrics.csv")]) == 2)
        sweep.interrupt()
        code, _, _ = sweep.end()
    finally:
        sweep.close()
    assert code == 130
    assert [summary["status"] for _, summary in summaries(outputs).values()] == ["interrupted"] * 2
