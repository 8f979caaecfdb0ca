"""A sweep that is issued again runs what is missing, and nothing else."""

import json
import re

import pytest
from imported import python
from stored_runs import change_summary
from sweeping import ARGUMENTS, begun, folder_of, statuses


def counts(text):
    """The table at the end of a sweep."""
    return {status: int(count) for status, count in re.findall(r"^([a-z ]+?) +(\d+)$", text, re.M)}


def test_more_values_add_jobs(fragile, home):
    assert counts(fragile("-m", "seed=range(0,2)").stdout) == {"done": 2}
    answer = fragile("-m", "seed=range(0,3)")
    assert answer.returncode == 0
    assert counts(answer.stdout) == {"done": 1, "skipped": 2}
    assert len(begun(home)) == 3
    # what changes no number changes no job, and a dry run says so
    dry = fragile("-m", "seed=range(0,4)", "device=cpu", "fail_fast=true", "--dry-run")
    assert counts(dry.stdout) == {"done": 3, "to do": 1}
    assert re.search(r"seed=3 +to do +outputs/fragile-sine-kernel_regression-seed3-", dry.stdout)
    assert len(begun(home)) == 3


def test_rerun_runs_a_finished_job_again_in_the_environment_that_is_set(fragile, home):
    fragile("-m", "seed=0")
    setting = "+hydra.job.env_set.OMP_NUM_THREADS='7'"
    assert counts(fragile("-m", "seed=0", "rerun=true", setting).stdout) == {"done": 1}
    assert [line[3] == "7" for line in begun(home)] == [False, True]


def test_single_runs_and_sweeps_count_for_each_other(fragile, home):
    assert fragile("seed=1").returncode == 0
    assert counts(fragile("-m", "seed=0,1").stdout) == {"done": 1, "skipped": 1}
    assert "This run has finished before" in fragile("seed=0").stdout
    assert len(begun(home)) == 2
    assert "done: outputs/fragile" in fragile("seed=0", "--dry-run").stdout
    assert "to do: outputs/fragile" in fragile("seed=5", "--dry-run").stdout


def test_a_run_in_a_sweep_is_the_run_alone(fragile, succeeds, home):
    """Same bits, same files, same record of the configuration."""
    arguments = ("model=additive", "figures=false", "seed=3", "train.max_epochs=5")
    succeeds(*arguments, "output_dir=alone")
    succeeds("-m", *arguments, "output_dir=swept")
    (alone,), (swept,) = (list((home / where).iterdir()) for where in ("alone", "swept"))
    assert alone.name == swept.name
    files = [
        sorted(path.relative_to(folder) for path in folder.rglob("*")) for folder in (alone, swept)
    ]
    assert files[0] == files[1]
    for name in ("model.safetensors", "attention.safetensors", "predictions.csv"):
        assert (alone / name).read_bytes() == (swept / name).read_bytes()
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (alone, swept)]
    assert summaries[0].keys() == summaries[1].keys()
    configs = [{**each["config"], "output_dir": ""} for each in summaries]
    assert configs[0] == configs[1]
    assert summaries[0]["metrics"] == summaries[1]["metrics"]


def test_what_did_not_finish_is_run_and_what_is_foreign_is_not_touched(fragile, home):
    fragile("-m", "seed=range(0,6)")
    folders = [folder_of(home, "fine", seed) for seed in range(6)]
    change_summary(folders[0], lambda summary: summary.update(status="interrupted"))
    change_summary(folders[1], lambda summary: summary.update(status="running"))
    change_summary(folders[2], lambda summary: summary.update(status="failed", error="boom"))
    change_summary(folders[3], lambda summary: summary.update(results_version=0))
    (folders[4] / "summary.json").write_text("{")
    dry = fragile("-m", "seed=range(0,6)", "--dry-run").stdout
    for seed, state in enumerate(
        [
            "interrupted, to do again",
            "died, to do again",
            "failed, to do again",
            "to do",
            "unreadable, to do again",
        ]
    ):
        assert re.search(rf"seed={seed} +{state}", dry)
    answer = fragile("-m", "seed=range(0,6)")
    assert counts(answer.stdout) == {"done": 5, "skipped": 1}
    assert "summary.json cannot be read" in answer.stdout
    assert set(statuses(home).values()) == {"finished"}

    config = json.loads((folders[5] / "summary.json").read_text())["config"]
    change_summary(
        folders[5], lambda summary: summary.update(key="0000000000", config=config | {"seed": 77})
    )
    before = (folders[5] / "summary.json").read_bytes()
    for arguments in (("-m", "seed=4,5"), ("seed=5",)):
        answer = fragile(*arguments)
        assert answer.returncode == 2
        assert (
            "holds a run with another configuration (seed is 77 there, and 5 here): move it away, "
            "or overwrite it with rerun=true"
        ) in answer.stderr
    assert (folders[5] / "summary.json").read_bytes() == before
    assert len(begun(home)) == 6 + 5


@pytest.mark.parametrize("arguments", [("--dry-run",), ()], ids=["dry run", "finished"])
def test_without_work_torch_is_not_imported(fragile, home, arguments):
    fragile("-m", "seed=0,1")
    script = (
        "import sys\nfrom attnexp.cli.main import run\n"
        f"code = run({[*ARGUMENTS, '-m', 'seed=0,1', *arguments]!r})\n"
        "heavy = {'torch', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'{code} {heavy}')"
    )
    note, said = python("-c", script, cwd=home).stderr.splitlines()
    assert "your code reads while it runs (fragile, line " in note
    assert said == "0 set()"
