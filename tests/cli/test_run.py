"""One run, from the command line to the files it leaves."""

import csv
import json
import re
import sys

import pytest
import torch

from attnexp.runs import files
from attnexp.runs.summary import SCHEMA, read_summary


def only_folder(tmp_path):
    (folder,) = (tmp_path / "outputs").iterdir()
    return folder


def test_a_run_leaves_what_it_promises(in_process, tmp_path):
    answer = in_process("seed=1")
    assert answer.returncode == 0, answer.stderr
    folder = only_folder(tmp_path)
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert left - {files.DIFF} == {  # that file is there where the checkout has been changed
        ".hydra/config.yaml",
        ".hydra/hydra.yaml",
        ".hydra/overrides.yaml",
        ".lock",
        "attention.safetensors",
        "attnexp.log",
        "figures/attention.png",
        "figures/fit.png",
        "figures/loss.png",
        "metrics.csv",
        "model.safetensors",
        "predictions.csv",
        "summary.json",
    }
    assert re.fullmatch(r"gaussian_learned-sine-kernel_regression-seed1-[0-9a-f]{10}", folder.name)
    assert folder.name in answer.stdout


def test_the_summary_says_what_was_run_and_where(in_process, tmp_path):
    in_process("model=additive", "figures=false", "train.max_epochs=2", "device=cpu")
    summary = json.loads((only_folder(tmp_path) / "summary.json").read_text())
    assert summary["schema"] == SCHEMA
    assert summary["status"] == "finished"
    assert summary["key"] == only_folder(tmp_path).name.rpartition("-")[2]
    assert summary["config"]["model"]["hidden_dim"] == 64
    assert summary["config"]["train"]["max_epochs"] == 2
    assert summary["parameters"] == 3 * 64
    assert summary["device"] == "cpu"
    assert summary["versions"]["torch"] == torch.__version__
    assert summary["seconds"] > 0
    assert summary["peak_memory_mb"] > 10
    assert summary["primary"] == "test_mse"
    assert summary["selection"] == "loo_mse"
    assert summary["better"]["test_mse"] == "lower"
    assert summary["error"] is None


def test_metrics_have_a_row_an_epoch(in_process, tmp_path):
    in_process("figures=false", "train.max_epochs=7")
    rows = files.read_metrics(only_folder(tmp_path))
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert set(rows[0]) == {"epoch", "step", "loss", "lr", "seconds"}


def test_predictions_are_those_of_the_stored_attention(in_process, tmp_path):
    """weights @ y, from the files alone."""
    in_process("figures=false", "device=cpu")
    folder = only_folder(tmp_path)
    tensors, _ = files.read_tensors(folder / files.ATTENTION)
    answers = tensors["weights.pooling"][0, 0, 0] @ tensors["values"][0, :, 0]
    with (folder / files.PREDICTIONS).open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["prediction"]) for row in rows] == pytest.approx(answers.tolist(), abs=1e-5)
    assert [float(row["x"]) for row in rows] == pytest.approx(tensors["queries"][0, :, 0].tolist())


def test_the_stored_model_is_the_trained_one(in_process, tmp_path):
    in_process("figures=false")
    folder = only_folder(tmp_path)
    parameters, _ = files.read_tensors(folder / files.MODEL)
    width = read_summary(folder).metrics["pooling.score.width"]
    assert parameters["pooling.score.width"].item() == pytest.approx(width)


def test_same_seed_same_bits(in_process, tmp_path):
    contents = []
    for _ in range(2):
        assert in_process("model=additive", "figures=false", "rerun=true").returncode == 0
        folder = only_folder(tmp_path)
        contents.append([(folder / name).read_bytes() for name in (files.MODEL, files.ATTENTION)])
    assert contents[0] == contents[1]


def test_the_global_generator_is_left_as_it_was(in_process):
    before = torch.default_generator.get_state()
    in_process("model=additive", "figures=false")
    assert torch.default_generator.get_state().equal(before)


def test_a_finished_run_is_not_repeated(in_process, tmp_path):
    in_process("figures=false")
    stamp = (only_folder(tmp_path) / "summary.json").stat().st_mtime_ns
    again = in_process("figures=false", "device=cpu")
    assert again.returncode == 0
    assert "has finished before; rerun=true runs it again" in again.stdout
    assert "test_mse" in again.stdout
    assert (only_folder(tmp_path) / "summary.json").stat().st_mtime_ns == stamp
    in_process("figures=false", "rerun=true")
    assert (only_folder(tmp_path) / "summary.json").stat().st_mtime_ns > stamp


def test_without_parameters_nothing_is_trained_and_that_is_said(in_process, tmp_path):
    answer = in_process("model=gaussian", "model.width=4", "figures=true")
    assert "nothing to train: model=gaussian has no parameters here" in answer.stdout
    summary = read_summary(only_folder(tmp_path))
    assert summary.notes == ["nothing was trained: model=gaussian has no parameters here"]
    assert "train_loss" not in summary.metrics
    assert not (only_folder(tmp_path) / "figures" / "loss.png").exists()


def test_parameters_that_do_not_reach_the_loss_are_not_trained(in_process, tmp_path):
    """A boxcar of learned features has no gradient: its score is a constant."""
    answer = in_process("model=boxcar", "arch.features=4", "figures=false")
    assert answer.returncode == 0, answer.stderr
    assert "with model=boxcar the loss depends on no parameter" in answer.stdout


def test_a_collapsed_run_says_so(in_process, tmp_path):
    answer = in_process(
        "experiment=textbook_nw", "model.initial_width=0.0", "figures=false", "seed=0"
    )
    assert answer.returncode == 0, answer.stderr
    assert "collapsed to average pooling" in answer.stdout
    assert "collapsed" in read_summary(only_folder(tmp_path)).notes[0]


def test_the_textbooks_experiment_is_its_recipe(in_process, tmp_path):
    in_process("experiment=textbook_nw", "figures=false")
    config = read_summary(only_folder(tmp_path)).config
    assert config["optim"]["_target_"] == "torch.optim.SGD"
    assert config["optim"]["lr"] == 0.5
    assert config["task"]["reduction"] == "sum"
    assert len(files.read_metrics(only_folder(tmp_path))) == 5


def test_a_sweep_runs_every_combination(in_process, tmp_path):
    answer = in_process("-m", "model=average,gaussian", "seed=0,1", "figures=false")
    assert answer.returncode == 0, answer.stderr
    names = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "outputs").glob("*-*"))
    assert names == [
        f"{model}-sine-kernel_regression-seed{seed}"
        for model in ("average", "gaussian")
        for seed in (0, 1)
    ]


def test_flags_may_stand_anywhere(in_process):
    answer = in_process("seed=3", "--cfg", "job", "model=additive")
    assert answer.returncode == 0
    assert "seed: 3" in answer.stdout
    assert "hidden_dim: 64" in answer.stdout


def test_a_score_of_the_users_from_another_folder(in_process, tmp_path, monkeypatch):
    """One class beside the user's work, one YAML: nothing of attnexp is edited."""
    monkeypatch.delitem(sys.modules, "my_scores", raising=False)  # that of another test
    (tmp_path / "my_scores.py").write_text(
        "from attnexp.scores.base import Score\n"
        "class Laplace(Score):\n"
        "    '''a(q, k) = -w |q - k|'''\n"
        "    def __init__(self, query_dim: int, key_dim: int, width: float = 1.0):\n"
        "        super().__init__(query_dim, key_dim)\n"
        "        self.width = width\n"
        "    def compare(self, queries, keys):\n"
        "        gaps = queries.unsqueeze(-2) - keys.unsqueeze(-3)\n"
        "        return -self.width * gaps.abs().sum(dim=-1)\n"
    )
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    (tmp_path / "my_conf" / "model" / "laplace.yaml").write_text(
        "# Laplace's kernel.\n_target_: my_scores.Laplace\nwidth: 2.0\n"
    )
    answer = in_process("--config-dir", "my_conf", "model=laplace", "figures=false")
    assert answer.returncode == 0, answer.stderr
    assert read_summary(only_folder(tmp_path)).choices["model"] == "laplace"
    helped = in_process("--help", "--config-dir", "my_conf")
    assert "Laplace's kernel." in helped.stdout


def test_help_lists_every_choice_with_its_line(in_process):
    from attnexp.config.groups import choices
    from attnexp.runs.settings import GROUPS

    text = in_process("--help").stdout
    for group in GROUPS:
        assert f"{group}=" in text
        for choice in choices(group):
            assert choice.line in text
    assert text.count("\n  attnexp") >= 5


def test_version_is_the_packages(in_process):
    from attnexp import __version__

    assert in_process("--version").stdout == f"attnexp {__version__}\n"


def test_completion_offers_the_choices(in_process, monkeypatch):
    monkeypatch.setenv("COMP_LINE", "attnexp model=ga")
    monkeypatch.setenv("COMP_POINT", "16")
    answer = in_process("-sc", "query=bash")
    assert answer.stdout.split() == ["model=gaussian", "model=gaussian_learned"]


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
