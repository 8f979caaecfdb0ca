"""`attnexp.add_run`: a training loop of one's own writes runs that tables compare."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from imported import python

from attnexp import add_run, load_results, load_run
from attnexp.core.errors import RequestError
from attnexp.runs.summary import Summary

SETTINGS = {"model": "dot", "lr": 0.1}
METRICS = {"acc": 0.5}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fitted(width, seed):
    """The losses of a plain loop of PyTorch: a line with or without features to fit a wave."""
    torch.manual_seed(seed)
    x = torch.linspace(-3, 3, 64).unsqueeze(1)
    y = torch.sin(2 * x) + 0.1 * torch.randn(64, 1)
    net = torch.nn.Sequential(torch.nn.Linear(1, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_loop_in_pytorch_has_verdicts_pictures_and_a_page(succeeds, home):
    means = {}
    for model, width in (("narrow", 1), ("wide", 32)):
        for seed in range(6):
            losses = fitted(width, seed)
            curve = {"epoch": range(60), "loss": losses}
            folder = add_run({"model": model}, {"loss": losses[-1]}, seed=seed, curve=curve)
            assert folder == Path("imported") / folder.name
            assert load_run(folder).history["loss"].tolist() == losses
            means.setdefault(model, []).append(losses[-1])
    succeeds("results", "imported", "--output", "rows.json")
    rows = json.loads((home / "rows.json").read_text())["rows"]
    assert {row["model"]: (row["mean"], row["n"]) for row in rows} == {
        model: (pytest.approx(np.mean(each)), 6) for model, each in means.items()
    }
    assert {row["model"]: row["standing"] for row in rows} == {"wide": "best", "narrow": "worse"}
    assert "wide" in succeeds("results", "imported").stdout
    succeeds("plot", "imported", "--kind", "loss", "--output", "pictures")
    succeeds("report", "imported", "--static", "--output", "p.html")
    assert "wide" in (home / "p.html").read_text()


def test_settings_metrics_and_name_are_what_they_were():
    settings = {"model": 3, "width": np.int64(8), "lr": np.float32(0.5), "bias": True, "note": None}
    metrics: dict[str, Any] = {"val/acc": np.float32(0.25), "loss": 2, "zeal": -1}
    seed: Any = np.int64(4)
    folder = add_run(settings, metrics, seed=seed, better={"zeal": "lower"}, name="first")
    run = load_run(folder)
    assert dict(run.choices) == {"model": "3"}
    assert run.config == {"width": 8, "lr": 0.5, "bias": True, "seed": 4}
    assert run.metrics == {"val/acc": 0.25, "loss": 2, "zeal": -1}
    assert run.status == "finished"
    frame = load_results("imported")
    assert frame.attrs["better"] == {"val/acc": "higher", "loss": "lower", "zeal": "lower"}
    (row,) = frame.to_dict("records")
    assert (row["name"], row["primary"], row["seed"]) == ("first", "val/acc", 4)


def test_names_in_chinese(succeeds):
    curve = {"step": [1, 2], "准确率": [0.25, 0.5]}
    for seed, value in enumerate((0.5, 0.75)):
        folder = add_run(
            {"model": "加性", "学习率": 0.1},
            {"准确率": value},
            seed=seed,
            curve=curve,
            better={"准确率": "higher"},
            name=f"实验{seed}",
            output_dir="结果",
        )
        assert load_run(folder).history["准确率"].tolist() == [0.25, 0.5]
    assert "加性" in succeeds("results", "结果").stdout
    assert sorted(load_results("结果")["准确率"]) == [0.5, 0.75]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_number_that_is_none_diverged(value):
    add_run(SETTINGS, {"loss": value})
    (row,) = load_results("imported").to_dict("records")
    assert (row["status"], row["diverged"]) == ("failed", True)


def test_a_curve_is_the_same_as_a_dataframe_and_as_lists():
    lists: Any = {"step": [0, 10, 20], "loss": [3, None, 1.5], "acc": [float("nan"), 0.5, 0.25]}
    frame = pd.DataFrame(lists)
    arrays = {name: np.array(values, dtype=float) for name, values in lists.items()}
    texts = [
        (add_run(SETTINGS, METRICS, curve=curve, output_dir=str(i)) / "metrics.csv").read_text()
        for i, curve in enumerate([lists, frame, arrays])
    ]
    assert texts == ["epoch,loss,acc\n0,3.0,\n10,,0.5\n20,1.5,0.25\n"] * 3
    both = {"step": [5, 6], "epoch": [0.5, 1], "loss": [1, 2]}
    folder = add_run(SETTINGS, METRICS, curve=both)
    assert (folder / "metrics.csv").read_text() == "epoch,step,loss\n0.5,5.0,1.0\n1,6.0,2.0\n"


def test_the_same_settings_seed_and_name_replace_a_run(home):
    first = add_run({"lr": 1, "model": "dot"}, {"acc": 0.25}, curve={"step": [1, 2], "acc": [0, 1]})
    (first / "notes.txt").write_text("mine")
    again = add_run({"model": "dot", "lr": 1.0, "x": None}, {"acc": 0.5})
    assert again == first
    assert {path.name for path in first.iterdir()} == {"notes.txt", "summary.json"}
    assert list(load_results("imported")["acc"]) == [0.5]
    others = [
        add_run({"model": "dot", "lr": 1}, METRICS, name="other"),
        add_run({"model": "dot", "lr": 1}, METRICS, seed=1),
        add_run({"model": "dot", "lr": True}, METRICS),
        add_run({"model": "dot", "lr": "1"}, METRICS),
    ]
    assert len({first, *others}) == 5
    assert len(list((home / "imported").iterdir())) == 5


def test_a_run_that_another_source_wrote_is_refused(succeeds, home):
    (home / "r.csv").write_text("model,lr,seed,acc\ndot,0.1,0,0.25\n")
    succeeds("import", "csv", "r.csv", "--settings", "model,lr", "--metrics", "acc")
    (folder,) = (home / "imported").iterdir()
    before = (folder / "summary.json").read_bytes()
    with pytest.raises(RequestError) as error:
        add_run(SETTINGS, METRICS)
    assert f"imported/{folder.name} holds the run of these settings, seed 0" in str(error.value)
    assert "came from line 2 of r.csv" in str(error.value)
    assert [path.name for path in (home / "imported").iterdir()] == [folder.name]
    assert (folder / "summary.json").read_bytes() == before
    add_run(SETTINGS, METRICS, seed=1)
    assert sorted(load_results("imported")["acc"]) == [0.25, 0.5]


CURVE: dict[Any, Any] = {"step": [1, 2], "loss": [2, 1]}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"settings": ["dot"]}, "settings are values by name"),
        ({"settings": {"layers": [1, 2]}}, "settings: 'layers' is [1, 2], and a setting is text"),
        ({"settings": {"optim": {"lr": 1}}}, "settings: 'optim' is {'lr': 1}"),
        ({"settings": {"lr": float("nan")}}, "settings: 'lr' is nan"),
        ({"settings": {"lr": float("inf")}}, "settings: 'lr' is inf"),
        ({"settings": {"n": 2**63}}, "settings: 'n' is 9223372036854775808"),
        ({"settings": {"w": torch.ones(1)}}, "settings: 'w' is tensor([1.])"),
        ({"settings": {3: 1}}, "settings: a name is text that can be printed, got 3"),
        ({"settings": {"": 1}}, "settings: a name is text that can be printed, got ''"),
        ({"settings": {"a\nb": 1}}, r"got 'a\nb'"),
        ({"settings": {"\ud800": 1}}, r"got '\ud800'"),
        ({"settings": {"seed": 3}}, "'seed' is an argument of its own: add_run(..., seed=3)"),
        ({"settings": {"api_key": "x"}}, "'api_key' has the name of a secret"),
        ({"metrics": 0.5}, "metrics are values by name"),
        ({"metrics": {}}, "a run has one metric or more"),
        ({"metrics": {"acc": "0.5"}}, "metrics: 'acc' is '0.5', and not a number"),
        ({"metrics": {"acc": None}}, "metrics: 'acc' is None, and not a number"),
        ({"metrics": {"acc": True}}, "metrics: 'acc' is True, and not a number"),
        ({"metrics": {"acc": 10**400}}, "and not a number"),
        ({"metrics": {"acc": torch.tensor(1.0)}}, "and not a number; .item() of a tensor is one"),
        ({"metrics": {"model": 1}}, "metrics: 'model' is a setting or the seed already"),
        ({"metrics": {"zeal": 1}}, "does not say which values are better: add better={'zeal': 'hi"),
        ({"better": {"acc": "up"}}, "better: 'acc' is 'up': choose 'lower' or 'higher'"),
        ({"better": {"loss": "lower"}}, "better: 'loss' is no metric: choose acc"),
        ({"better": "higher"}, "better are values by name"),
        ({"seed": -1}, "seed is a whole number from 0 to 2^63 - 1, got -1"),
        ({"seed": 1.0}, "got 1.0"),
        ({"seed": "1"}, "got '1'"),
        ({"seed": True}, "got True"),
        ({"seed": 2**63}, "got 9223372036854775808"),
        ({"name": 3}, "name: a name is text that can be printed, got 3"),
        ({"name": "a\x07"}, r"got 'a\x07'"),
        ({"curve": [CURVE]}, "curve is a DataFrame, or columns by name"),
        ({"curve": {}}, "curve has a column 'epoch' or 'step'"),
        ({"curve": {"loss": [1]}}, "one column or more beside it, got 'loss'"),
        ({"curve": {"step": [1, 2]}}, "one column or more beside it, got 'step'"),
        ({"curve": {**CURVE, "step": [2, 1]}}, "curve: 'step' does not ascend: 1 comes after 2"),
        ({"curve": {**CURVE, "step": [1, 1]}}, "curve: 'step' does not ascend: 1 comes after 1"),
        ({"curve": {**CURVE, "step": [1, float("nan")]}}, "'step' does not ascend: nan comes"),
        ({"curve": {**CURVE, "step": [1, 2**53]}}, "curve: 'step' does not ascend"),
        ({"curve": {**CURVE, "step": [1, None]}}, "curve: 'step' is None, and not a number"),
        ({"curve": {**CURVE, "loss": [1, "low"]}}, "curve: 'loss' is 'low', and not a number"),
        ({"curve": {**CURVE, "loss": [1]}}, "one length, got 2 in 'step', 1 in 'loss'"),
        ({"curve": {**CURVE, "loss": 1}}, "curve: 'loss' is a list of numbers, got 1"),
        ({"curve": {**CURVE, "loss": "12"}}, "curve: 'loss' is a list of numbers, got '12'"),
        ({"curve": {**CURVE, 3: [1, 2]}}, "curve: a name is text that can be printed, got 3"),
        ({"curve": pd.DataFrame([[1, 2, 3]], columns=["step", "a", "a"])}, "2 columns are named"),
        ({"output_dir": 3}, "output_dir is the path of a folder, got 3"),
        ({"output_dir": "a\0b"}, r"output_dir: a name is text that can be printed, got 'a\x00b'"),
        ({"output_dir": "\ud800"}, "output_dir: a name is text"),
        ({"output_dir": "file"}, "output_dir: file cannot be written"),
        ({"output_dir": "file/below"}, "output_dir: file/below cannot be written"),
        ({"output_dir": "x" * 300}, "cannot be written"),
    ],
)
def test_a_wrong_argument_costs_a_sentence_and_writes_nothing(changed, sentence, home):
    (home / "file").write_text("mine")
    with pytest.raises(RequestError) as error:
        add_run(**{"settings": SETTINGS, "metrics": METRICS, **changed})
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert [path.name for path in home.iterdir()] == ["file"]
    assert (home / "file").read_text() == "mine"


def test_a_run_inside_another_is_refused():
    folder = add_run(SETTINGS, METRICS)
    with pytest.raises(RequestError, match="would lie inside the run"):
        add_run(SETTINGS, METRICS, output_dir=folder / "more")


def test_a_folder_that_may_not_be_written_costs_a_sentence(home, monkeypatch):
    def denied(self, *words, **named):
        raise PermissionError(13, os.strerror(13), str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(RequestError, match="output_dir: imported cannot be written: Permission"):
        add_run(SETTINGS, METRICS)
    assert list(home.iterdir()) == []


def test_a_disk_that_is_full_leaves_a_run_as_it_was(home, monkeypatch):
    folder = add_run(SETTINGS, METRICS, curve={"step": [1, 2], "acc": [0, 1]})
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(self, folder):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Summary, "write", full)
    for curve in ({"step": [1, 2], "acc": [1, 2]}, None):
        with pytest.raises(RequestError, match="the disk is full"):
            add_run(SETTINGS, {"acc": 1}, curve=curve)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


KILLED = """
import os
import attnexp
from attnexp.runs.summary import Summary

def dies(self, folder):
    os._exit(9)

Summary.write = dies
attnexp.add_run({"model": "dot"}, {"acc": 1}, curve={"step": [1, 2], "acc": [0, 1]})
"""


def test_a_process_that_is_killed_leaves_no_half_of_a_run(succeeds, home):
    done = python("-c", KILLED, cwd=home)
    assert done.returncode == 9, done.stderr
    assert len(load_results("imported")) == 0
    assert not list(home.glob("imported/[!.]*"))
    add_run({"model": "dot"}, {"acc": 1})
    assert len(load_results("imported")) == 1


def test_it_needs_no_pytorch(home):
    code = (
        "import sys, attnexp; assert not {'torch', 'pandas', 'numpy'} & {*sys.modules}\n"
        "attnexp.add_run({'model': 'dot'}, {'acc': 1}, curve={'step': [1, 2], 'acc': [0, 1]})\n"
        "assert not {'torch', 'pandas'} & {*sys.modules}"
    )
    done = python("-c", code, cwd=home)
    assert done.returncode == 0, done.stderr


def test_a_further_metric_without_a_direction_does_not_rank(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = add_run({"model": "a"}, {"loss": 1.0, "zeal": 2.0})
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["metrics"] == {"loss": 1.0, "zeal": 2.0}
    assert summary["better"] == {"loss": "lower"}


def test_an_address_with_a_password_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match="'url' is an address with a password"):
        add_run({"url": "postgres://me:sesame@host"}, {"loss": 1.0})
    assert not (tmp_path / "imported").exists()
