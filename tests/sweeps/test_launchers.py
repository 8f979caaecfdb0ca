"""Real sweeps in worker processes and launchers here, with jobs that fail, exit and are killed."""

import os
import re
import signal
from importlib.util import find_spec

import pytest
from sweeping import begun, folder_of, marked, statuses, until

LAUNCHERS = {
    "parallel": ("hydra/launcher=parallel", "hydra.launcher.n_jobs=2"),
    "joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    "submitit_local": ("hydra/launcher=submitit_local", "hydra.sweeper.max_batch_size=2"),
    "ray_tasks": ("hydra/launcher=ray_tasks", "++hydra.launcher.ray.init.num_cpus=2"),
}
NEEDS = {
    "parallel": "attnexp",
    "joblib": "hydra_plugins.hydra_joblib_launcher",
    "submitit_local": "hydra_plugins.hydra_submitit_launcher",
    "ray_tasks": "hydra_plugins.hydra_ray_launcher",
}


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


CHOICES = {
    name: pytest.param(
        name,
        marks=[
            pytest.mark.skipif(not installed(module), reason=f"{module} is not installed"),
            *([pytest.mark.slow] if name != "parallel" else []),
        ],
    )
    for name, module in NEEDS.items()
}


@pytest.fixture(params=CHOICES.values())
def launcher(request):
    """The words that choose a launcher which is installed."""
    return LAUNCHERS[request.param]


@pytest.mark.slow
def test_whatever_a_job_does_the_others_finish(start, home, launcher):
    ways = ("fine", "raise", "exit", "os_exit", "kill", "fine")
    command = start("-m", *launcher, f"model.how={','.join(ways)}", "model.seconds=0,0.1")
    code, out, err = command.end(timeout=240)
    assert code == 1, out + err
    ends = statuses(home)
    assert ends.pop("fine-0") == "finished"
    assert set(ends.values()) == {"failed"}
    assert re.search(r"done +2\nfailed +8\n", out)
    assert "failed: model.how=kill model.seconds=0: its process was killed by signal 9" in out
    assert "failed: model.how=exit model.seconds=0: SystemExit: 3" in out
    log = (folder_of(home, "raise", 0) / "attnexp.log").read_text()
    assert "Traceback (most recent call last)" in log
    assert "ZeroDivisionError" in log
    assert len(begun(home)) == 10
    until(lambda: marked(start.mark) == [], seconds=20)

    # another launcher goes on where this one has ended, and the other way round
    code, out, _ = start("-m", "model.how=fine,raise", "seed=0,1", "model.seconds=0").end()
    assert code == 1
    assert re.search(r"done +1\nskipped +1\nfailed +2\n", out)
    out = start("-m", *launcher, "seed=0,1,2", "model.seconds=0").output(timeout=240)
    assert re.search(r"done +1\nskipped +2\n", out)
    assert not (home / "outputs" / ".sweeps").exists()


def test_ctrl_c_ends_all_of_it(start, home, launcher):
    command = start("-m", *launcher, "model.seconds=0,60", "seed=0,1")
    until(lambda: [seconds for _, seconds, *_ in begun(home)].count("60") == 2, seconds=240)
    command.interrupt()
    code, out, err = command.end(timeout=60)
    assert code == 130, out + err
    assert "the same command goes on with the rest" in err
    until(lambda: marked(start.mark) == [], seconds=20)
    assert re.search(r"done +2\ninterrupted +2\n", out)
    assert not (home / "outputs" / ".sweeps").exists()


def test_fail_fast_begins_nothing_more(start, home, launcher):
    command = start(
        "-m",
        *launcher,
        "fail_fast=true",
        "model.how=raise,fine",
        "seed=range(0,10)",
        "model.seconds=1",
    )
    code, out, _ = command.end(timeout=240)
    assert code == 1
    assert "fail_fast=true: the remaining jobs are not run" in out
    assert 1 <= len(begun(home)) <= 8


@pytest.mark.parametrize(
    "launcher", [CHOICES["submitit_local"], CHOICES["ray_tasks"]], indirect=True
)
def test_a_killed_process_of_the_launcher_costs_no_job(start, home, launcher):
    """Launchers give up when one of their own processes dies; the sweep launches the rest again."""
    command = start("-m", *launcher, "model.seconds=0.5", "seed=range(0,6)")
    until(lambda: begun(home), seconds=240)
    worker = int(begun(home)[0][2])
    with open(f"/proc/{worker}/stat") as file:
        launchers_own = int(file.read().rpartition(")")[2].split()[1])
    os.kill(launchers_own, signal.SIGKILL)
    command.output(timeout=240)
    assert set(statuses(home).values()) == {"finished"}
    assert len(statuses(home)) == 6
    until(lambda: marked(start.mark) == [], seconds=20)


@pytest.mark.slow
def test_jobs_beside_each_other_share_the_cores_and_the_gpus(start, home, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    words = ("model.seconds=2", "data.num_train=600", "seed=range(0,4)")
    command = start("-m", *LAUNCHERS["parallel"], *words)
    command.output(timeout=240)
    cores = max(1, (os.cpu_count() or 1) // 2)
    assert {threads for *_, threads, _ in begun(home)} == {str(cores)}
    by_process = {process: gpus for _, _, process, _, gpus in begun(home)}
    assert sorted(by_process.values()) == ["4", "7"]


@pytest.mark.slow
def test_there_are_no_more_jobs_at_once_than_cores_for_their_threads(start, home):
    words = ("hydra/launcher=parallel", "threads=256")
    command = start("-m", *words, "seed=0,1,2", "model.seconds=0.3")
    command.output(timeout=120)
    assert len({process for _, _, process, *_ in begun(home)}) == 1
    assert statuses(home) == {f"fine-{seed}": "finished" for seed in range(3)}


def test_a_killed_command_takes_the_jobs_beside_each_other_with_it(start, home):
    command = start("-m", *LAUNCHERS["parallel"], "seed=0,1,2", "model.seconds=60")
    until(lambda: len(begun(home)) == 2)
    os.kill(command.process.pid, signal.SIGKILL)
    command.end()
    until(lambda: marked(start.mark) == [], seconds=20)
    assert set(statuses(home).values()) == {"interrupted"}


@pytest.mark.slow
def test_a_job_that_will_not_stop_is_ended_and_the_others_are_heard(start, home):
    command = start("-m", *LAUNCHERS["parallel"], "model.how=stubborn,wait")
    until(lambda: len(begun(home)) == 2)
    command.interrupt()
    code, out, _ = command.end(timeout=40)
    assert code == 130
    assert re.search(r"interrupted +2\n", out)
    until(lambda: marked(start.mark) == [], seconds=20)
    assert statuses(home) == {"wait-0": "interrupted", "stubborn-0": "interrupted"}
