"""What the machine lacks is said once, before the first job of a sweep."""

import os

import pytest
from imported import IMPORTED, python

QUICK = ("model=average", "figures=false")
NILE = "data=nile needs the package statsmodels: pip install 'attnexp[nile]'"

NEEDY = """
from attnexp.data.sine import Sine

class Needy(Sine):
    packages = {"a_package_nobody_has": "nobodys-package"}
"""

SLURM = "hydra_plugins.hydra_submitit_launcher"


@pytest.fixture
def without(tmp_path):
    """Runs a command line in a process in which, as in its workers, a package is not installed."""
    (tmp_path / "hidden").mkdir()
    path = os.pathsep.join([IMPORTED, str(tmp_path / "hidden")])

    def command(package, *words):
        hide = f"import sys\nsys.modules[{package!r}] = None\n"
        (tmp_path / "hidden" / "sitecustomize.py").write_text(hide)
        return python("-m", "attnexp", *words, *QUICK, cwd=tmp_path, PYTHONPATH=path)

    return command


def runs(folder):
    return list((folder / "outputs").glob("[!.]*"))


@pytest.mark.parametrize("words", [(), ("--dry-run",), ("hydra/launcher=parallel",)])
def test_a_package_that_one_of_the_data_sets_needs_is_said_once(without, tmp_path, words):
    refused = without("statsmodels", "-m", "data=sine,nile", "seed=0,1,2", *words)
    assert refused.returncode == 2
    assert (refused.stdout + refused.stderr).count(NILE) == 1
    assert runs(tmp_path) == []


def test_a_package_that_the_tracker_needs_is_said_once(without, tmp_path):
    refused = without("tensorboard", "-m", "tracker=tensorboard", "seed=0,1")
    assert refused.returncode == 2
    assert refused.stderr == (
        "attnexp: tracker=tensorboard needs the package tensorboard: "
        "pip install 'attnexp[tensorboard]'\n"
    )
    assert runs(tmp_path) == []


def test_finished_jobs_need_no_package(attnexp, without):
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    words = ("-m", "data=nile", "seed=0")
    assert attnexp(*words, *QUICK).returncode == 0
    again = without("statsmodels", *words)
    assert again.returncode == 0, again.stderr
    assert NILE not in again.stdout + again.stderr


@pytest.mark.parametrize("launcher", ["parallel", "joblib"])
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (NEEDY, "data=mine needs the package a_package_nobody_has: pip install 'nobodys-package'"),
        ("import a_package_nobody_has", "'needy.Needy' cannot be imported: No module named 'a_pa"),
    ],
)
def test_data_of_ones_own_name_their_package_or_import_it(
    refused, own_choice, tmp_path, launcher, code, told
):
    if launcher == "joblib":
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    words = own_choice("data", "needy.Needy", code)
    said = refused("-m", *words, "seed=0,1", *QUICK, f"hydra/launcher={launcher}")
    assert said.count(told) == 1
    assert runs(tmp_path) == []


def test_a_module_that_ends_its_process_is_left_to_the_jobs(in_process, own_choice, tmp_path):
    words = own_choice("data", "ends.Ends", "import os\nos._exit(3)\n")
    answer = in_process("-m", *words, "seed=0", *QUICK)
    assert answer.returncode == 1
    assert "its process ended with exit code 3" in answer.stdout
    assert len(runs(tmp_path)) == 1


@pytest.mark.parametrize(("there", "lacking"), [((), "sbatch"), (("sbatch",), "srun")])
def test_a_program_of_the_launchers_is_said_before_the_first_job(
    refused, monkeypatch, tmp_path, there, lacking
):
    pytest.importorskip(SLURM, reason="submitit's launcher is not installed")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in there:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    said = refused("-m", "hydra/launcher=slurm", "seed=0,1", *QUICK)
    assert said.count(f"hydra/launcher=slurm needs the program {lacking}, which is not on") == 1
    assert runs(tmp_path) == []
