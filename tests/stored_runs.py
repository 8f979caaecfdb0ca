"""Summaries and run folders, made through the types of `attnexp.runs`, for tests that read them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WriteRun = Callable[..., Path]


def make_summary(settings=None, **fields):
    """Makes a summary through its type: settings by dotted path, other fields by name.

    What is given for `choices` and `metrics` is added to what stands there.
    """
    import msgspec

    from attnexp.runs.key import RESULTS_VERSION
    from attnexp.runs.origin.provenance import GitState
    from attnexp.runs.run_status import Status
    from attnexp.runs.summary import Summary

    config: dict[str, Any] = {
        "model": {"_target_": "scores.Gaussian", "width": 1.0},
        "data": {"_target_": "data.Sine", "num_train": 50},
        "arch": {"_target_": "arch.KernelRegression", "heads": 1},
        "device": "auto",
        "seed": 0,
        "figures": False,
        "rerun": False,
        "output_dir": "outputs",
    }
    for path, value in (settings or {}).items():
        *groups, name = path.split(".")
        node = config
        for group in groups:
            node = node.setdefault(group, {})
        node[name] = value
    summary = Summary(
        schema=1,
        status=Status.FINISHED,
        key="0123456789",
        results_version=RESULTS_VERSION,
        choices={"model": "gaussian", "data": "sine", "arch": "kernel_regression"},
        config=config,
        metrics={"test_mse": 0.5, "neighbours": 7.25},
        primary="test_mse",
        better={"test_mse": "lower"},
        parameters=3,
        seconds=1.5,
        peak_memory_mb=250.0,
        device="cpu",
        versions={"attnexp": "0.1.0", "torch": "2.13.0", "python": "3.11.7"},
        git=GitState("a" * 40, dirty=False),
        started="2026-01-01T00:00:00+00:00",
        ended="2026-01-01T00:00:01+00:00",
    )
    fields["status"] = msgspec.convert(fields.get("status", summary.status), Status)
    for name in ("choices", "metrics"):
        if name in fields:
            fields[name] = {**getattr(summary, name), **fields[name]}
    return msgspec.structs.replace(summary, **fields)


@pytest.fixture
def summary():
    return make_summary


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes a run folder that holds a summary alone below outputs/, and returns it."""

    def write(name, settings=None, **fields) -> Path:
        folder = tmp_path / "outputs" / name
        folder.mkdir(parents=True)
        make_summary(settings, **fields).write(folder)
        return folder

    return write


def change_summary(folder: Path, change: Callable[..., object]) -> None:
    """Changes a summary that lies on disk, also to what its type forbids."""
    path = folder / "summary.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.fixture
def frame() -> Callable[..., Any]:
    """Makes a frame of runs, each given as (settings, fields), without any files."""

    def make(*runs: tuple[dict[str, Any], dict[str, Any]]) -> Any:
        from attnexp.runs.folder import Run
        from attnexp.select.frame import make_frame

        return make_frame(
            [
                Run(f"outputs/{i}", make_summary(settings, **fields))
                for i, (settings, fields) in enumerate(runs)
            ]
        )

    return make


@pytest.fixture
def sweep_of(frame: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a frame of models x seeds from a list of values for each model."""

    def make(values: dict[str, list[float | None]], **fields: Any) -> Any:
        more = fields.pop("metrics", {})
        return frame(
            *(
                (
                    {"seed": seed, "model._target_": model},
                    {"choices": {"model": model}, **fields, "metrics": {"test_mse": value} | more},
                )
                for model, several in values.items()
                for seed, value in enumerate(several)
            )
        )

    return make


@pytest.fixture
def width_check():
    """The check of a width after which training started a second time."""
    from attnexp.runs.summary import WidthCheck

    return WidthCheck(
        row=[(0.1, 3.0), (1.0, 0.5), (10.0, 2.0), (100.0, None)],
        trained=(0.2, 2.5),
        found=(1.0, 0.5),
        learned=(1.1, 0.4),
        points=5,
        whole=5,
        epoch=2,
    )


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def write_epochs(folder, losses):
    from attnexp.runs import files

    file = files.MetricsFile(folder)
    for epoch, loss in enumerate(losses, start=1):
        file.append({"epoch": epoch, "step": epoch, "loss": loss, "lr": 0.1, "seconds": 0.01})
    file.close()


@pytest.fixture
def regression_run(tmp_path) -> WriteRun:
    """Writes a regression run: 7 test points, 5 training points that are not in order."""

    def write(
        name="run", heads=1, losses=(1.0, 0.5, 0.25), seed=0, snapshots=(), settings=None, **changes
    ) -> Path:
        from attnexp.runs import files

        folder = tmp_path / name
        folder.mkdir(parents=True)
        generator = np.random.default_rng(seed)
        x = generator.uniform(0, 5, (1, 5, 1))
        test_x = np.linspace(0, 4.9, 7)[None, :, None]
        scores = -((test_x - x.transpose(0, 2, 1)) ** 2)[:, None, None]
        weights = softmax(scores * np.arange(1, heads + 1)[:, None, None])
        arrays = {
            "queries": test_x,
            "keys": x,
            "values": np.sin(x),
            "targets": np.sin(test_x),
            "mask": np.ones((1, 7, 5), bool),
            "target_mask": np.ones((1, 7), bool),
            "weights.pooling": weights,
        }
        files.write_tensors(folder / files.ATTENTION, arrays, {})
        if snapshots:
            growing = [softmax(scores * epoch) for epoch in snapshots]
            kept = {"weights.pooling": np.stack(growing), "epochs": np.array(snapshots)}
            files.write_tensors(folder / files.SNAPSHOTS, arrays | kept, {})
        outputs = (weights[:, 0, 0] @ np.sin(x)).ravel()
        files.write_rows(
            folder / files.PREDICTIONS,
            [
                {"x": a, "truth": b, "prediction": c}
                for a, b, c in zip(test_x.ravel(), np.sin(test_x).ravel(), outputs, strict=True)
            ],
        )
        write_epochs(folder, losses)
        settings = {"seed": seed, "data.num_train": 5, **(settings or {})}
        changes.setdefault("metrics", {"test_mse": 0.25})
        make_summary(settings, **changes).write(folder)
        return folder

    return write


@pytest.fixture
def sequence_run(tmp_path) -> WriteRun:
    """Writes a run that reverses words of 3 to 5 letters: two attentions, symbols in the metadata.

    The source ends with `<eos>` and so does the target, whose end symbol looks nowhere.
    """

    def write(
        name="run", layers=1, heads=1, examples=4, vocab="abcde", seed=0, settings=None, **changes
    ) -> Path:
        from attnexp.runs import files

        folder = tmp_path / name
        folder.mkdir(parents=True)
        generator = np.random.default_rng(seed)
        longest = 6
        keys = np.zeros((examples, longest), np.int64)
        targets = np.zeros((examples, longest), np.int64)
        alignment = np.full((examples, longest), -1, np.int64)
        for i in range(examples):
            length = 3 + i % 3
            word = generator.integers(3, 3 + len(vocab), length)
            keys[i, :length], keys[i, length] = word, 2
            targets[i, :length], targets[i, length] = word[::-1], 2
            alignment[i, :length] = np.arange(length)[::-1]
        mask = keys != 0
        scores = generator.normal(0, 1, (examples, layers, heads, longest, longest))
        looked = np.maximum(alignment, 0)[:, None, None, :, None]
        scores += 4 * (np.arange(longest) == looked)
        scores = np.where(mask[:, None, None, None, :], scores, -np.inf)
        arrays = {
            "queries": np.concatenate([np.ones((examples, 1), np.int64), targets[:, :-1]], axis=1),
            "keys": keys,
            "values": keys,
            "targets": targets,
            "mask": mask[:, None],
            "target_mask": targets != 0,
            "alignment": alignment,
            "weights.cross": softmax(scores),
        }
        symbols = ["<pad>", "<bos>", "<eos>", *vocab]
        files.write_tensors(
            folder / files.ATTENTION, arrays, {"source_vocab": symbols, "target_vocab": symbols}
        )
        write_epochs(folder, (2.0, 1.0, 0.1))
        changes = {
            "choices": {"model": "additive", "data": "reverse", "arch": "rnn"},
            "primary": "exact",
            "metrics": {"exact": 0.98},
            "better": {"exact": "higher"},
            **changes,
        }
        own = {"seed": seed, "model": {"hidden_dim": 8}, **(settings or {})}
        make_summary(own, **changes).write(folder)
        return folder

    return write
