"""One run, from the command line to the files it leaves."""

import csv
import json
import re
import socket
import sys
from importlib.metadata import version

import pytest
import torch
from command_outcome import run_here

from attnexp.cli.verbs import VERBS
from attnexp.config import build
from attnexp.runs import files
from attnexp.runs.key import RESULTS_VERSION
from attnexp.runs.settings import GROUPS
from attnexp.runs.summary import read_summary


def only_folder(tmp_path):
    (folder,) = (tmp_path / "outputs").iterdir()
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of one run, which no test changes."""
    outputs = tmp_path_factory.mktemp("finished")
    words = ("seed=1", "device=cpu", "train.max_epochs=7", f"output_dir={outputs}")
    assert run_here(words, 120).faults() == []
    (folder,) = outputs.iterdir()
    return folder


def test_a_run_leaves_what_it_promises(finished):
    left = {path.relative_to(finished).as_posix() for path in finished.rglob("*") if path.is_file()}
    pictures = {name for name in left if name.startswith("figures/")}
    assert {"figures/attention.png", "figures/fit.png", "figures/loss.png"} <= pictures
    # the file with the changes is there where the checkout has been changed
    assert left - pictures - {files.DIFF} == {
        ".lock",
        "attention.safetensors",
        "attnexp.log",
        "metrics.csv",
        "model.safetensors",
        "predictions.csv",
        "summary.json",
    }
    name = r"gaussian_learned-sine-kernel_regression-seed1-[0-9a-f]{10}"
    assert re.fullmatch(name, finished.name)


def test_the_summary_says_what_was_run_and_where(finished):
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["schema"] == 1
    assert summary["status"] == "finished"
    assert summary["key"] == finished.name.rpartition("-")[2]
    assert summary["config"]["train"]["max_epochs"] == 7
    assert summary["parameters"] == 1
    assert summary["device"] == "cpu"
    assert summary["versions"]["torch"] == version("torch")
    assert summary["seconds"] > 0
    assert summary["peak_memory_mb"] > 10
    assert (summary["primary"], summary["selection"]) == ("test_mse", "loo_mse")
    assert summary["better"]["test_mse"] == "lower"
    assert summary["error"] is None


def test_the_files_of_a_run_agree(finished):
    """A row per epoch; predictions are weights @ y; the model has the width that is reported."""
    rows = files.read_metrics(finished)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert set(rows[0]) == {"epoch", "step", "loss", "lr", "seconds"}
    tensors, _ = files.read_tensors(finished / files.ATTENTION)
    answers = tensors["weights.pooling"][0, 0, 0] @ tensors["values"][0, :, 0]
    with (finished / files.PREDICTIONS).open() as file:
        predictions = list(csv.DictReader(file))
    found = [float(row["prediction"]) for row in predictions]
    assert found == pytest.approx(answers.tolist(), abs=1e-5)
    queries = tensors["queries"][0, :, 0].tolist()
    assert [float(row["x"]) for row in predictions] == pytest.approx(queries)
    parameters, _ = files.read_tensors(finished / files.MODEL)
    width = read_summary(finished).metrics["pooling.score.width"]
    assert parameters["pooling.score.width"].item() == pytest.approx(width)


def test_a_finished_run_is_not_repeated(in_process, succeeds, tmp_path):
    in_process("figures=false")
    stamp = (only_folder(tmp_path) / "summary.json").stat().st_mtime_ns
    again = succeeds("figures=false", "device=cpu")
    assert "has finished before on cpu; rerun=true runs it again" in again.stdout
    assert "test_mse" in again.stdout
    assert (only_folder(tmp_path) / "summary.json").stat().st_mtime_ns == stamp
    in_process("figures=false", "rerun=true")
    assert (only_folder(tmp_path) / "summary.json").stat().st_mtime_ns > stamp


@pytest.mark.parametrize(
    "more", [(), ("rerun=true",), ("-m", "hydra.sweep.dir=.", "hydra.sweep.subdir=.")]
)
def test_files_of_the_users_are_never_cleared(in_process, refused, tmp_path, more):
    (tmp_path / "figures").mkdir()
    names = ("metrics.csv", "predictions.csv", "model.safetensors", "figures/mine.png")
    for name in names:
        (tmp_path / name).write_text("mine")
    assert "metrics.csv, but no summary.json of a run" in refused("hydra.run.dir=.", *more)
    assert all((tmp_path / name).read_text() == "mine" for name in names)
    assert "output_dir is empty" in in_process("output_dir=", *more[:1]).stderr
    assert not (tmp_path / "outputs").exists()


def test_hidden_files_of_the_users_stay(succeeds, refused, tmp_path):
    words = ("train.max_epochs=1", "figures=false", "hydra.run.dir=.")
    for name in (".notes.tmp", ".lock"):
        (tmp_path / name).write_text("mine")
    assert "a file .lock that attnexp has not written" in refused(*words)
    assert (tmp_path / ".lock").read_text() == "mine"
    (tmp_path / ".lock").unlink()
    succeeds(*words)
    succeeds(*words, "rerun=true")
    assert (tmp_path / ".notes.tmp").read_text() == "mine"


@pytest.mark.parametrize("version", [1, 1000])
def test_a_run_of_another_results_version_is_not_overwritten(succeeds, refused, tmp_path, version):
    words = ("train.max_epochs=1", "figures=false", "hydra.run.dir=mine")
    succeeds(*words)
    path = tmp_path / "mine" / "summary.json"
    summary = json.loads(path.read_text()) | {"results_version": version}
    path.write_text(json.dumps(summary))
    for more in ((), ("--dry-run",), ("-m", "hydra.sweep.dir=mine", "hydra.sweep.subdir=.")):
        assert f"mine holds a run with version {version} of the results" in refused(*words, *more)
        assert json.loads(path.read_text()) == summary
    succeeds(*words, "rerun=true")
    assert json.loads(path.read_text())["results_version"] == RESULTS_VERSION


def test_a_rerun_keeps_files_that_attnexp_did_not_draw(succeeds, refused, tmp_path):
    words = ("train.max_epochs=1", "hydra.run.dir=mine")
    succeeds(*words)
    figures = tmp_path / "mine" / "figures"
    for name in ("notes.txt", "own.png"):
        (figures / name).write_text("mine")
    drawn = {path.name for path in figures.glob("*.png")} - {"own.png"}
    succeeds(*words, "figures=false", "rerun=true")
    assert drawn
    assert {path.name for path in figures.iterdir()} == {"notes.txt", "own.png"}
    assert "would lie inside the run" in refused("output_dir=mine/deeper")


def test_a_finished_run_checks_and_names_what_has_no_effect(in_process, succeeds, refused):
    words = ("train.max_epochs=1", "figures=false")
    succeeds(*words)
    for more, sentence in {
        "device=gpu": "device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'",
        "train.attention_every=0": "attention_every must be greater than 0",
    }.items():
        for mode in ((), ("-m",)):
            assert sentence in refused(*words, more, *mode)
    answer = succeeds(*words, "device=cpu", "checkpoint_every=9", "hydra/launcher=parallel")
    assert "no effect without -m: hydra/launcher=parallel" in answer.stdout
    assert "no effect on finished runs: device=cpu, checkpoint_every=9" in answer.stdout
    assert "no effect on finished runs: device=cpu" in in_process(*words, "device=cpu", "-m").stdout


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("model=gaussian", "model.width=4"), "model=gaussian has no parameters here"),
        # its score of learned features is a constant, without a gradient
        (
            ("model=boxcar", "arch.features=4"),
            "with model=boxcar the loss depends on no parameter",
        ),
    ],
)
def test_where_there_is_nothing_to_train_that_is_said(in_process, tmp_path, words, note):
    assert f"nothing to train: {note}" in in_process(*words, "figures=false").stdout
    summary = read_summary(only_folder(tmp_path))
    assert summary.notes[0] == f"nothing was trained: {note}"
    assert "train_loss" not in summary.metrics


def test_a_collapsed_run_says_so(succeeds, tmp_path):
    answer = succeeds(
        "experiment=textbook_nw", "model.initial_width=0.0", "figures=false", "seed=0"
    )
    assert "collapsed to average pooling" in answer.stdout
    assert "collapsed" in read_summary(only_folder(tmp_path)).notes[0]


def test_the_textbooks_experiment_is_its_recipe(in_process, tmp_path):
    in_process("experiment=textbook_nw", "figures=false")
    config = read_summary(only_folder(tmp_path)).config
    assert config["optim"]["_target_"] == "torch.optim.SGD"
    assert config["optim"]["lr"] == 0.5
    assert config["task"]["reduction"] == "sum"
    assert len(files.read_metrics(only_folder(tmp_path))) == 5


def test_flags_may_stand_anywhere(succeeds):
    answer = succeeds("seed=3", "--cfg", "job", "model=additive")
    assert "seed: 3" in answer.stdout
    assert "hidden_dim: 64" in answer.stdout


def test_a_score_that_was_edited_is_another_run(
    in_process, succeeds, own_choice, tmp_path, monkeypatch
):
    """The same command shows no numbers of other code; a comment changes nothing."""
    text = "from attnexp.scores.dot import Dot\nclass Mine(Dot):\n    pass\n"
    mine = own_choice("model", "edited.Mine", text)

    def run(*more):
        """Each command as in a process of its own, which has no class of the last one."""
        monkeypatch.delitem(sys.modules, "edited", raising=False)
        build._callable.cache_clear()
        return succeeds(*mine, "figures=false", "train.max_epochs=1", *more).stdout

    assert "has finished before" not in run()
    (tmp_path / "edited.py").write_text(f"# mine\n{text}")
    assert "has finished before" in run()
    folder = only_folder(tmp_path)
    assert list(read_summary(folder).code) == ["edited"]
    # a new setting: the class and its YAML, and nothing else
    argument = "def __init__(self, query_dim: int, key_dim: int, scale: float = 2.0):"
    body = f"{argument}\n        super().__init__(query_dim, key_dim)"
    (tmp_path / "edited.py").write_text(text.replace("pass", body))
    with (tmp_path / "my_conf" / "model" / "mine.yaml").open("a") as file:
        file.write("scale: 2.0\n")
    assert "to do" in run("--dry-run")
    assert re.search(r"done +1", run("-m"))
    runs = [read_summary(path) for path in (tmp_path / "outputs").glob("mine-*")]
    assert sorted(run.config["model"].get("scale", 0) for run in runs) == [0, 2.0]
    verified = in_process("verify", str(folder), "--trust", "edited")
    assert "edited: the code has changed since" in verified.stdout + verified.stderr


def test_help_lists_every_choice_with_its_line(in_process):
    from attnexp.config.groups import choices

    text = in_process("--help", "all").stdout
    for group in GROUPS:
        assert f"{group}=" in text
        alone = in_process("--help", group).stdout
        for choice in choices(group):
            assert choice.line in text
            assert choice.line in alone
            assert choice.line.endswith((".", "?")), choice.path
    assert [verb for verb in VERBS if f"attnexp {verb} --help" not in text] == []


def test_the_first_page_of_the_help_is_a_screen(in_process, refused):
    text = in_process("--help").stdout
    assert len(text.splitlines()) <= 36
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"  {group}=" in text for group in GROUPS)
    assert [verb for verb in VERBS if verb not in text] == []
    assert "--help: 'modle' is not a choice. Did you mean 'model'?" in refused("--help", "modle")


def test_help_lists_choices_of_ones_own(in_process, own_choice):
    own_choice("model", "mine.Mine")
    text = in_process("--help", "model", "--config-dir", "my_conf").stdout
    assert re.search(r"\bmine +My own\.", text)


def test_a_run_connects_to_nothing(succeeds, monkeypatch):
    def refuse(*arguments):
        raise AssertionError(f"a connection to {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    succeeds("train.max_epochs=2", "figures=false")


def test_hydra_says_what_a_run_is_composed_of(succeeds, tmp_path):
    assert "arch/rnn" in succeeds("data=reverse", "--info", "defaults").stdout
    assert list(tmp_path.iterdir()) == []


def test_completion_offers_the_choices(in_process, monkeypatch):
    monkeypatch.setenv("COMP_LINE", "attnexp model=ga")
    monkeypatch.setenv("COMP_POINT", "16")
    answer = in_process("-sc", "query=bash")
    assert answer.stdout.split() == ["model=gaussian", "model=gaussian_learned"]


@pytest.mark.slow
def test_as_a_module_in_a_process_of_its_own_without_warnings(attnexp, tmp_path):
    answer = attnexp("model=additive", "train.max_epochs=3")
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert "\x1b" not in answer.stdout
    assert only_folder(tmp_path).name in answer.stdout


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device")
def test_cuda_gives_the_same_answer_as_the_cpu(in_process, tmp_path):
    metrics = []
    for device in ("cpu", "cuda"):
        in_process("model=additive", f"device={device}", "figures=false", "rerun=true")
        metrics.append(read_summary(only_folder(tmp_path)).metrics["loo_mse"])
    assert metrics[0] == pytest.approx(metrics[1], rel=1e-2)
