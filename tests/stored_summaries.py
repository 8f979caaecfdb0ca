"""Run folders made by hand."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SUMMARY: dict[str, Any] = {
    "schema": 1,
    "status": "finished",
    "key": "0123456789",
    "choices": {"model": "gaussian", "data": "sine", "arch": "kernel_regression"},
    "config": {
        "model": {"_target_": "scores.Gaussian", "width": 1.0},
        "data": {"_target_": "data.Sine", "num_train": 50},
        "arch": {"_target_": "arch.KernelRegression", "heads": 1},
        "device": "auto",
        "seed": 0,
        "figures": False,
        "rerun": False,
        "output_dir": "outputs",
    },
    "metrics": {"test_mse": 0.5, "neighbours": 7.25},
    "primary": "test_mse",
    "better": {"test_mse": "lower"},
    "notes": [],
    "parameters": 3,
    "seconds": 1.5,
    "peak_memory_mb": 250.0,
    "device": "cpu",
    "versions": {"attnexp": "0.1.0", "torch": "2.13.0", "python": "3.11.7"},
    "git": {"commit": "a" * 40, "dirty": False},
    "started": "2026-01-01T00:00:00+00:00",
    "ended": "2026-01-01T00:00:01+00:00",
    "error": None,
}


@pytest.fixture
def summary() -> Callable[..., dict[str, Any]]:
    """Makes the content of a summary: settings by dotted path, other fields by name."""

    def make(settings: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        content = copy.deepcopy(SUMMARY)
        for path, value in (settings or {}).items():
            *groups, name = path.split(".")
            node = content["config"]
            for group in groups:
                node = node.setdefault(group, {})
            node[name] = value
        for name, value in fields.items():
            if isinstance(value, dict) and isinstance(content.get(name), dict):
                content[name] |= value
            else:
                content[name] = value
        return content

    return make


@pytest.fixture
def write_run(tmp_path: Path, summary: Callable[..., dict[str, Any]]) -> Callable[..., Path]:
    """Writes a run folder below outputs/ and returns it."""

    def write(name: str, settings: dict[str, Any] | None = None, **fields: Any) -> Path:
        folder = tmp_path / "outputs" / name
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text(json.dumps(summary(settings, **fields)))
        return folder

    return write


@pytest.fixture
def frame(summary: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """Makes a frame of runs, each given as (settings, fields), without any files."""

    def make(*runs: tuple[dict[str, Any], dict[str, Any]]) -> Any:
        from attnexp.runs.collection import parse
        from attnexp.runs.frame import make_frame

        return make_frame(
            [
                parse(f"outputs/{i}", summary(settings, **fields))
                for i, (settings, fields) in enumerate(runs)
            ]
        )

    return make


@pytest.fixture
def sweep_of(frame: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a frame of models x seeds from a list of values for each model."""

    def make(values: dict[str, list[float | None]], **fields: Any) -> Any:
        return frame(
            *(
                (
                    {"seed": seed, "model._target_": model},
                    {"choices": {"model": model}, "metrics": {"test_mse": value}, **fields},
                )
                for model, several in values.items()
                for seed, value in enumerate(several)
            )
        )

    return make
