"""A job that breaks neither stops nor spoils the others."""

import json
import re
import subprocess

import pytest
from sweeping import begun, folder_of, statuses, summaries

from attnexp.select.overview import progress_of

WAYS = {
    "raise": "ZeroDivisionError: division by zero",
    "exit": "SystemExit: 3",
    "os_exit": "its process ended with exit code 3",
    "kill": "its process was killed by signal 9 (SIGKILL), perhaps for lack of memory",
    "crash": "its process was killed by signal 11 (SIGSEGV)",
    "memory": "MemoryError: no memory is left",
}


def test_whatever_a_job_does_the_others_finish(fragile, home):
    answer = fragile("-m", f"model.how={','.join(WAYS)},fine")
    assert answer.returncode == 1
    assert statuses(home) == {f"{how}-0": "failed" for how in WAYS} | {"fine-0": "finished"}
    for summary in summaries(home):
        how = summary["config"]["model"]["how"]
        if how != "fine":
            assert summary["error"].startswith(WAYS[how])
            assert summary["ended"] is not None
            # said at once, in a line, and again in the table with the way to the log
            assert f"failed: model.how={how}: {WAYS[how]}" in answer.stdout
            row = rf"model.how={how} +{re.escape(WAYS[how])}.* outputs/\S+/attnexp.log"
            assert re.search(row, answer.stdout)
    assert re.search(rf"done +1\nfailed +{len(WAYS)}\n", answer.stdout)
    assert "6 of 7 jobs failed; the same command runs them again" in answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr
    log = (folder_of(home, "raise", 0) / "attnexp.log").read_text()
    assert "a word from the score" in log  # what a job prints is in its log
    assert "Traceback (most recent call last)" in log
    assert "Segmentation fault" in (folder_of(home, "crash", 0) / "attnexp.log").read_text()

    # the same command runs what failed, and only that
    assert len(begun(home)) == len(WAYS) + 1
    again = fragile("-m", "model.how=fine,raise")
    assert again.returncode == 1
    assert re.search(r"skipped +1\n", again.stdout)
    assert len(begun(home)) == len(WAYS) + 2


def test_a_sweep_ends_with_the_table_of_its_diverged_and_failed_jobs_too(fragile, home, in_process):
    assert fragile("-m", "model.how=fine,diverge", "seed=0,1").returncode == 0
    (home / "diverge").touch()
    answer = fragile("-m", "model.how=fine,diverge,raise", "seed=0,1,2,3")
    assert answer.returncode == 1
    table = answer.stdout[answer.stdout.index("sine: ") : answer.stdout.index("\nnext:")]
    rows = {line.split()[1]: line.split() for line in table.splitlines() if line[:7] == "fragile"}
    errors = [
        summary["metrics"]["test_mse"]
        for summary in summaries(home)
        if summary["status"] == "finished"
    ]
    own = [
        json.loads((folder_of(home, "diverge", seed) / "summary.json").read_text())["metrics"]
        for seed in (0, 1)
    ]
    # the seeds that diverged have the largest error of any run
    mean = (sum(metrics["test_mse"] for metrics in own) + 2 * max(errors)) / 4
    (shown,) = (float(word) for word in rows["diverge"][2:] if word == f"{mean:.4g}")
    assert shown == pytest.approx(mean, rel=1e-3)
    assert "4 failed" in table
    assert "2 runs diverged and count as the worst value" in table
    listed = in_process("results", "outputs").stdout
    assert " ".join(listed.split()) in " ".join(answer.stdout.split())


def test_a_sweep_of_which_every_job_diverged_ends_with_its_table(fragile, home):
    (home / "diverge").touch()
    answer = fragile("-m", "model.how=diverge", "seed=0,1")
    assert answer.returncode == 1
    assert "2 failed" in answer.stdout.partition("sine: 1 configuration, 2 runs")[2]
    assert "attnexp plot" not in answer.stdout
    nothing = fragile("-m", "model.how=raise", "seed=0,1")
    assert "configuration, 2 runs" not in nothing.stdout


def test_a_job_that_cannot_be_built_fails_alone(fragile, home):
    answer = fragile("-m", "model.seconds=0,often", "data.num_train=50,1")
    assert answer.returncode == 1
    assert re.search(r"done +1\n", answer.stdout)
    assert "failed: model.seconds=often data.num_train=50: model.seconds must be a number, got" in (
        answer.stdout
    )
    assert "num_train must be at least 2" in answer.stdout
    failed = [summary for summary in summaries(home) if summary["status"] == "failed"]
    assert len(failed) == 3
    assert all("Traceback" in (path / "attnexp.log").read_text() for path in logs_of(home, failed))


def logs_of(home, some):
    keys = {summary["key"] for summary in some}
    return [path for path in (home / "outputs").iterdir() if path.name[-10:] in keys]


def test_what_a_job_leaves_behind_does_not_reach_the_next(fragile, home):
    """A job that changes PyTorch's default precision must not change the numbers of others."""
    assert fragile("seed=1", "output_dir=alone").returncode == 0
    answer = fragile("-m", "seed=1", "model.how=precision,fine")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (alone,) = (home / "alone").glob("*/summary.json")
    beside = folder_of(home, "fine", 1) / "summary.json"
    metrics = [json.loads(path.read_text())["metrics"] for path in (alone, beside)]
    assert metrics[0] == metrics[1]
    processes = [process for how, _, process, *_ in begun(home)[1:]]
    assert len(set(processes)) == 2


def test_fail_fast_ends_the_sweep_at_the_first_failure(fragile, home):
    answer = fragile("-m", "fail_fast=true", "model.how=raise,fine", "seed=range(0,3)")
    assert answer.returncode == 1
    assert "fail_fast=true: the remaining jobs are not run" in answer.stdout
    assert re.search(r"failed +1\n", answer.stdout)
    assert re.search(r"to do +[45]\n", answer.stdout)
    assert list(statuses(home).values()).count("failed") == 1


def test_a_job_that_cannot_write_fails_alone(fragile, home):
    plan = fragile("-m", "seed=0,1,2", "--dry-run").stdout
    (in_the_way,) = re.findall(r"seed=1 .* (outputs/\S+)", plan)
    (home / "outputs").mkdir()
    (home / in_the_way).write_text("in the way")
    answer = fragile("-m", "seed=0,1,2")
    assert answer.returncode == 1
    assert "failed: seed=1: FileExistsError" in answer.stdout
    assert statuses(home) == {"fine-0": "finished", "fine-2": "finished"}


def test_a_full_disk_fails_what_does_not_fit_and_keeps_the_rest(fragile, home):
    """Needs the right to mount a disk of 200 KiB where the results go."""
    (home / "outputs").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(home / "outputs")]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        answer = fragile("-m", "seed=range(0,8)")
        assert answer.returncode == 1
        assert "the disk is full: " in answer.stdout
        assert "Traceback" not in answer.stdout + answer.stderr
        finished = list(statuses(home).values()).count("finished")
        assert 0 < finished < 8
        assert list(home.rglob("*.tmp*")) == []
        subprocess.run([*mount[:3], "-o", "remount,size=20m", *mount[5:]], check=True)
        assert re.search(rf"skipped +{finished}\n", fragile("-m", "seed=range(0,8)").stdout)
        assert set(statuses(home).values()) == {"finished"}
    finally:
        subprocess.run(["umount", "-l", str(home / "outputs")], check=True)


@pytest.mark.slow
def test_a_plan_is_on_disk_while_jobs_are_missing(fragile, home):
    words = ("-m", "model.how=raise,fine", "fail_fast=true", "seed=0")
    assert fragile(*words).returncode == 1
    assert progress_of(home / "outputs").counts == {"failed": 1, "to do": 1}
    assert fragile("-m", "model.how=fine", "seed=0").returncode == 0
    assert progress_of(home / "outputs").counts == {"done": 1, "failed": 1}
    (plan,) = (home / "outputs" / ".plans").iterdir()
    plan.unlink()
    assert fragile("-m", "model.how=fine", "seed=0,1").returncode == 0
    assert not (home / "outputs" / ".plans").exists()


TAKES_OVER = """
import os

from attnexp.runs import lock
from attnexp.scores.bilinear import Bilinear
from attnexp.training.record.recording import Recording

lock.BEAT, lock.EXPIRY = 0.19, 0.2
record = Recording.record


def taken(self, row):
    if os.path.exists("once"):
        return record(self, row)
    open("once", "w").close()
    for name in (lock.LEASE, lock.LOCK):
        (self.folder / name).unlink()
    lease = "filelock/2 pid=4711 host=elsewhere mode=lease duration=0.2 token=of-another"
    (self.folder / lock.LEASE).write_text(lease.replace(" ", chr(10)) + chr(10))
    raise WHAT


Recording.record = taken


class Mine(Bilinear):
    pass
"""
"""At the first epoch, another machine has the lease of the folder, and an error arises."""


@pytest.mark.check
@pytest.mark.parametrize("launcher", ["basic", "batched"])
@pytest.mark.parametrize("error", ["FileNotFoundError('gone')", "ValueError('odd')", "SystemExit"])
def test_an_error_after_another_process_took_the_folder_is_no_failure_of_the_job(
    succeeds, own_choice, tmp_path, monkeypatch, launcher, error
):
    """The files that this process misses may be those that the other one cleared away."""
    monkeypatch.setattr("attnexp.runs.lock.EXPIRY", 0.2)
    monkeypatch.setattr("attnexp.runs.lock.BEAT", 0.19)
    words = own_choice("model", "takes_over.Mine", TAKES_OVER.replace("WHAT", error))
    words += ("data=sine", "train.max_epochs=2", "figures=false")
    answer = succeeds("-m", *words, f"hydra/launcher={launcher}", "seed=0")
    assert (tmp_path / "once").exists()
    assert "waiting for 1 jobs that another process is running" in answer.stdout
    assert "failed" not in answer.stdout
    assert [summary["status"] for summary in summaries(tmp_path)] == ["finished"]


LOSES = """
import shutil

from attnexp.scores.bilinear import Bilinear
from attnexp.training.record.recording import Recording


def lose(self, row):
    with open("tries", "a") as file:
        file.write("x")
    shutil.rmtree(self.folder)
    raise ValueError("odd")


Recording.record = lose


class Mine(Bilinear):
    pass
"""


@pytest.mark.check
@pytest.mark.parametrize("launcher", ["basic", "batched"])
def test_a_job_that_loses_its_folder_to_nobody_fails_once(
    in_process, own_choice, tmp_path, launcher
):
    words = own_choice("model", "loses.Mine", LOSES)
    words += ("data=sine", "train.max_epochs=2", "figures=false")
    answer = in_process("-m", *words, f"hydra/launcher={launcher}", "seed=0")
    assert answer.returncode == 1
    assert "ValueError: odd" in answer.stdout
    assert (tmp_path / "tries").read_text() == "x"
