"""Whole commands with `device=cuda`, on pretended GPUs."""

import os
from pathlib import Path

import pytest
from imported import IMPORTED, python
from pretended import devices

from attnexp.runs.summary import read_summary

ON_PATH = Path(__file__).parent / "on_path"
SMALL = (
    *("data.num_train=60", "data.num_validation=5", "data.num_test=5", "train.batch_size=20"),
    *("train.max_epochs=2", "figures=false", "device=cuda"),
)
RNN = ("data=reverse", "data.max_length=4", "arch.hidden_dim=8", "arch.embed_dim=8", *SMALL)
CURVE = ("train.max_epochs=4", "figures=false", "device=cuda")
HEADS = ("arch.dim=8", "arch.heads=2", "arch.ff_dim=8", *SMALL)

ARCHITECTURES = {
    "kernel_regression": (("model=additive", *CURVE), "the training step"),
    "features": (
        ("model=scaled_dot", "arch.features=4", "optim=adam", *CURVE),
        "the training step",
    ),
    "rnn": (("model=additive", *RNN), "the training step"),
    "rnn, dropout": (("arch.dropout=0.1", *RNN), "the training step"),
    "transformer": (("data=copy", "arch=transformer", "data.max_length=4", *HEADS), None),
    "decoder_only": (("data=copy", "arch=decoder_only", "data.max_length=4", *HEADS), None),
    "bottleneck": (("data=copy", "arch=bottleneck", "data.max_length=4", *HEADS), None),
    "pooling": (("data=max", "arch=pooling", *HEADS[:2], *SMALL), None),
}


def on_gpus(folder, *words, count=1):
    """Run attnexp in a process of its own, on pretended GPUs."""
    path = os.pathsep.join([str(ON_PATH), IMPORTED])
    variables = {"PYTHONPATH": path, "PRETENDED_GPUS": f"cuda:{count}"}
    variables |= {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(count)))}
    return python("-m", "attnexp", *words, cwd=folder, timeout=300, **variables)


def succeeded(answer):
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout + answer.stderr


@pytest.mark.first(2)
@pytest.mark.parametrize(("words", "captured"), ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_an_architecture_trains_with_its_step_as_a_graph(succeeds, tmp_path, words, captured):
    with devices() as gpu:
        succeeds(*words)
    (folder,) = (tmp_path / "outputs").iterdir()
    log = (folder / "attnexp.log").read_text()
    assert f"{captured or 'the training step'} is a CUDA graph" in log
    assert "runs without a CUDA graph" not in log
    summary = read_summary(folder)
    assert summary.device == "pretended GPU 0"
    assert summary.peak_memory_mb > 0
    assert gpu.graphs


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "launcher",
    [*(pytest.param(each, marks=pytest.mark.slow) for each in ("basic", "parallel")), "batched"],
)
def test_a_sweep_trains_in_workers(tmp_path, launcher):
    words = ("-m", f"hydra/launcher={launcher}", "seed=1,2", "model=additive", *CURVE)
    succeeded(on_gpus(tmp_path, *words, count=2))
    summaries = [read_summary(folder) for folder in (tmp_path / "outputs").glob("*-seed*")]
    assert [summary.device for summary in summaries] == ["pretended GPU 0"] * 2


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "words", [("model=additive", *CURVE[:2]), (*RNN[:-1],)], ids=["curve", "rnn"]
)
def test_an_apple_gpu_trains_kernel_by_kernel(succeeds, tmp_path, words):
    with devices(1, "mps") as gpu:
        succeeds(*words, "device=mps")
    (folder,) = (tmp_path / "outputs").iterdir()
    assert read_summary(folder).device == "mps"
    assert not gpu.graphs


@pytest.fixture(scope="module")
def run_on_gpu(tmp_path_factory):
    """The folder in which a run of reverse was trained on a GPU."""
    folder = tmp_path_factory.mktemp("reverse")
    succeeded(on_gpus(folder, "model=additive", *RNN))
    return folder


VERBS = {
    "decode": ("decode", "last", "1 2 3"),
    "probe": ("probe", "outputs", "uniform", "hard"),
    "report": ("report", "outputs"),
    "verify": ("verify", "outputs"),
    "plot": ("plot", "outputs", "--kind", "attention"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS)
def test_a_verb_takes_a_run_of_a_gpu(run_on_gpu, succeeds, monkeypatch, words):
    monkeypatch.chdir(run_on_gpu)
    with devices():
        succeeds(*words)


@pytest.mark.slow
def test_a_card_runs_on_a_gpu(tmp_path):
    words = ("model=additive", "--baseline", "model=average", "--quick", "--seeds", "1")
    succeeded(on_gpus(tmp_path, "card", *words, "--trials", "sine", "--device", "cuda"))
    (summary, *_) = [read_summary(path.parent) for path in tmp_path.rglob("summary.json")]
    assert summary.device == "pretended GPU 0"


@pytest.mark.parametrize(
    ("points", "says"),
    [
        (50, "device cpu (auto: too few points for a GPU, which device=cuda takes)"),
        (600, "device cuda:0 (auto: the first CUDA device)"),
    ],
)
def test_small_regressions_stay_on_the_cpu_by_themselves(succeeds, points, says):
    words = ("device=auto", f"data.num_train={points}", "train.max_epochs=1", "figures=false")
    with devices():
        assert says in succeeds(*words).stdout
