"""Run folders written by hand, for whoever reads or draws them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

WriteRun = Callable[..., Path]


def summary_of(**changes):
    summary = {
        "schema": 1,
        "status": "finished",
        "key": "0123456789",
        "choices": {"model": "gaussian", "data": "sine", "arch": "kernel_regression"},
        "config": {"seed": 0, "model": {"width": 1.0}, "data": {"num_train": 5}},
        "metrics": {"test_mse": 0.25},
        "primary": "test_mse",
        "better": {"test_mse": "lower"},
        "notes": [],
        "parameters": 0,
        "seconds": 1.0,
        "peak_memory_mb": 100.0,
        "device": "cpu",
        "versions": {"attnexp": "0.1.0", "torch": "2.13.0", "python": "3.11.7"},
        "git": None,
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:00:01+00:00",
        "error": None,
    }
    return summary | changes


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
        name="run", heads=1, losses=(1.0, 0.5, 0.25), seed=0, snapshots=(), **changes
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
        changes.setdefault("config", {"seed": seed, "model": {"width": 1.0}})
        files.write_json(folder / files.SUMMARY, summary_of(**changes))
        return folder

    return write


@pytest.fixture
def sequence_run(tmp_path) -> WriteRun:
    """Writes a run that reverses words of 3 to 5 letters: two attentions, symbols in the metadata.

    The source ends with `<eos>` and so does the target, whose end symbol looks nowhere.
    """

    def write(name="run", layers=1, heads=1, examples=4, vocab="abcde", seed=0, **changes) -> Path:
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
        files.write_json(
            folder / files.SUMMARY,
            summary_of(
                choices={"model": "additive", "data": "reverse", "arch": "rnn"},
                config={"seed": seed, "model": {"hidden_dim": 8}},
                primary="exact",
                metrics={"exact": 0.98},
                better={"exact": "higher"},
            )
            | changes,
        )
        return folder

    return write
