"""A run that is killed and issued again ends with the bits of one that was never disturbed."""

import csv
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from attnexp.config import build
from attnexp.config.groups import conf_dir
from attnexp.config.job import chosen_of, register_resolvers
from attnexp.runs import files
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.stop import Stopped
from attnexp.runs.summary import Summary, read_summary
from attnexp.training import recording, run
from attnexp.training.base import TrainingDivergedError
from attnexp.training.checkpoint import read_checkpoint, write_checkpoint
from attnexp.training.prepared import PreparedRun

SMALL = (
    *("figures=false", "checkpoint_every=0"),
    *("data.num_train=48", "data.num_validation=8", "data.num_test=8", "train.batch_size=16"),
)
"""Little data, a checkpoint after each update."""

REVERSE = (
    *("data=reverse", "model=additive", "arch.hidden_dim=8", "arch.embed_dim=8", *SMALL),
    "data.max_length=4",
)

CASES = {
    "full batch, rprop": ("model=gaussian_learned", "figures=false", "checkpoint_every=0"),
    "adam, dropout": (
        *REVERSE,
        *("arch.dropout=0.2", "arch.attention_dropout=0.1", "train.max_epochs=4"),
    ),
    "snapshots, a target": (
        *REVERSE,
        *("train.attention_every=1", "train.max_epochs=4"),
        *("train.stop_metric=loss", "train.stop_at=9", "train.stop_epochs=3"),
    ),
    "transformer, patience": (
        *("data=copy", "arch=transformer", "model=scaled_dot", "arch.dim=8", "arch.heads=2"),
        *("arch.ff_dim=8", "train.max_epochs=3", "train.patience=2", *SMALL),
    ),
    "several optimizers' kinds of state": (
        *REVERSE,
        *("optim._target_=torch.optim.NAdam", "~optim.fused", "train.max_epochs=3"),
    ),
    "replicas": (*REVERSE, "batched=true", "train.max_epochs=4"),
}


@pytest.fixture(autouse=True)
def _a_checkpoint_after_each_update(monkeypatch):
    monkeypatch.setattr(recording, "SHARE", 0.0)


def prepared(words: tuple[str, ...]) -> PreparedRun:
    register_resolvers()
    GlobalHydra.instance().clear()  # a test beside this one may have left its own
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("config", [*words, "device=cpu"], return_hydra_config=True)
    return build.prepare(config, chosen_of(config.hydra.runtime.choices))


def executed(words: tuple[str, ...], folder: Path) -> Summary:
    folder.mkdir(parents=True, exist_ok=True)
    return run.execute(prepared(words), folder)


def numbers(folder: Path) -> dict[str, object]:
    """Return all that a run has computed, without its times."""
    with (folder / files.METRICS).open() as file:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    binary = (files.MODEL, files.ATTENTION, files.SNAPSHOTS)
    return {
        "rows": rows,
        "metrics": read_summary(folder).metrics,
        "predictions": (folder / files.PREDICTIONS).read_bytes(),
        **{name: (folder / name).read_bytes() for name in binary if (folder / name).exists()},
    }


def in_child(fresh: PreparedRun, folder: Path, seconds: float | None) -> bool:
    """Run in a forked process that is killed after some seconds; return whether it finished.

    `fresh` is a built run that this process never trains.
    """
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        code = 1
        try:
            run.execute(fresh, folder)
            code = 0
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, how = os.waitpid(child, 0)
    assert os.WIFSIGNALED(how) or os.WEXITSTATUS(how) == 0, read_summary(folder).error
    return read_status(folder) == "finished"


def read_status(folder: Path) -> str | None:
    try:
        return read_summary(folder).status
    except UnreadableRunError:
        return None


def killed_until_it_ends(
    fresh: PreparedRun, folder: Path, whole: float, most: int, chance: random.Random
) -> int:
    """Run and kill at random moments until the run has finished; return the number of kills."""
    folder.mkdir()
    kills = 0
    while not in_child(fresh, folder, chance.uniform(0, 0.7 * whole) if kills < most else None):
        kills += 1
    return kills


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Callable[[str], tuple[dict[str, object], float]]:
    """Return the numbers and the seconds of a case that is not disturbed, run once."""

    @cache
    def of_case(case: str) -> tuple[dict[str, object], float]:
        ready, folder = prepared(CASES[case]), tmp_path_factory.mktemp("whole")
        began = time.perf_counter()
        run.execute(ready, folder)
        return numbers(folder), time.perf_counter() - began

    return of_case


@pytest.mark.parametrize("case", CASES)
def test_a_killed_run_ends_with_the_same_bits(case, undisturbed, tmp_path):
    (expected, seconds), words = undisturbed(case), CASES[case]
    chance = random.Random(len(words))
    kills = killed_until_it_ends(prepared(words), tmp_path / "cut", seconds, 2, chance)
    assert numbers(tmp_path / "cut") == expected
    assert kills >= 1
    assert not (tmp_path / "cut" / files.CHECKPOINT).exists()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_run_killed_a_hundred_and_seventy_times(case, undisturbed, tmp_path):
    (expected, seconds), words = undisturbed(case), CASES[case]
    chance, kills, attempt, fresh = random.Random(7), 0, 0, prepared(words)
    while kills < 170:
        attempt += 1
        kills += killed_until_it_ends(fresh, tmp_path / str(attempt), seconds, 40, chance)
        assert numbers(tmp_path / str(attempt)) == expected


@pytest.fixture
def heard() -> Iterator[None]:
    """Lets this process hear signals that it ignores where the tests run in the background."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, default) for number, default in defaults.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Interrupting:
    """Sends this process a signal after some updates."""

    def __init__(self, monkeypatch, updates: int, number: int) -> None:
        self.left, self.number = updates, number
        keep = recording.Recording.keep_if_due

        def keep_if_due(record, state):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.number)
            keep(record, state)

        monkeypatch.setattr(recording.Recording, "keep_if_due", keep_if_due)


def stopped_after(updates: int, words: tuple[str, ...], folder: Path, monkeypatch) -> None:
    """Run until a signal stops it after some updates."""
    with monkeypatch.context() as patch:
        Interrupting(patch, updates, signal.SIGTERM)
        with pytest.raises(Stopped):
            executed(words, folder)


@pytest.mark.parametrize(
    ("case", "number"),
    [
        ("adam, dropout", signal.SIGINT),
        ("adam, dropout", signal.SIGTERM),
        ("adam, dropout", signal.SIGHUP),
        ("replicas", signal.SIGTERM),
    ],
)
def test_a_signal_leaves_a_checkpoint_and_an_interrupted_run(
    heard, case, number, undisturbed, tmp_path, monkeypatch
):
    words = (*CASES[case], "checkpoint_every=null")
    with monkeypatch.context() as patch:
        Interrupting(patch, 2, number)
        with pytest.raises(Stopped) as stopped:
            executed(words, tmp_path / "cut")
    assert stopped.value.number == number
    assert read_status(tmp_path / "cut") == "interrupted"
    assert read_checkpoint(tmp_path / "cut")["training"]["step"] in (2, 6)
    executed(words, tmp_path / "cut")
    assert numbers(tmp_path / "cut") == undisturbed(case)[0]
    (attempt,) = read_summary(tmp_path / "cut").attempts
    assert attempt.updates in (2, 6)


def test_rerun_starts_anew(tmp_path, monkeypatch):
    words = CASES["adam, dropout"]
    stopped_after(2, words, tmp_path, monkeypatch)
    executed((*words, "rerun=true"), tmp_path)
    assert read_summary(tmp_path).attempts == []


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.write_bytes(b"no checkpoint"), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "cannot be read"),
        (lambda path: write_checkpoint(path.parent, {"key": "another"}), "of another run"),
        (lambda path: change(path, "rows", [{"epoch": 1}]), "TypeError"),
        (lambda path: change(path, "training", {"model": {}}), "RuntimeError"),
    ],
    ids=["other content", "cut short", "another run", "rows", "tensors"],
)
def test_a_damaged_checkpoint_is_said_and_not_used(damage, why, undisturbed, tmp_path, monkeypatch):
    words = CASES["adam, dropout"]
    stopped_after(4, words, tmp_path / "cut", monkeypatch)
    damage(tmp_path / "cut" / files.CHECKPOINT)
    summary = executed(words, tmp_path / "cut")
    (note,) = (note for note in summary.notes if "anew" in note)
    assert why in note
    assert numbers(tmp_path / "cut") == undisturbed("adam, dropout")[0]


def change(path: Path, name: str, value: object) -> None:
    state = read_checkpoint(path.parent)
    assert state is not None
    write_checkpoint(path.parent, state | {name: value})


def test_a_run_that_goes_on_with_another_version_says_so(tmp_path, monkeypatch):
    words = CASES["adam, dropout"]
    stopped_after(2, words, tmp_path, monkeypatch)
    state = read_checkpoint(tmp_path)
    state["attempts"][0]["versions"]["torch"] = "1.0"
    write_checkpoint(tmp_path, state)
    summary = executed(words, tmp_path)
    (note,) = (note for note in summary.notes if "went on with" in note)
    assert f"torch {torch.__version__.partition('+')[0]}" in note
    assert "in place of 1.0" in note


def test_a_checkpoint_holds_nested_values_and_refuses_others(tmp_path):
    state = {"a": [1, 2.5, None, True, "x"], "b": {3: torch.arange(3)}, "c": torch.tensor(0.5)}
    write_checkpoint(tmp_path, state)
    again = read_checkpoint(tmp_path)
    assert again["a"] == state["a"]
    assert again["b"][3].tolist() == [0, 1, 2]
    assert again["c"].dim() == 0
    with pytest.raises(TypeError, match="cannot hold"):
        write_checkpoint(tmp_path, {"a": object()})


def test_parameters_that_are_nan_after_the_last_update_fail_the_run(tmp_path, monkeypatch):
    words = (*CASES["adam, dropout"], "train.max_epochs=2")
    update = torch.optim.Adam.step
    count = 0

    def spoil(optimizer, closure):
        nonlocal count
        count += 1
        loss = update(optimizer, closure)
        if count == 6:
            optimizer.param_groups[0]["params"][0].data.fill_(torch.nan)
        return loss

    monkeypatch.setattr(torch.optim.Adam, "step", spoil)
    with pytest.raises(TrainingDivergedError, match="no longer finite after update 6, in epoch 2"):
        executed(words, tmp_path)
    assert read_status(tmp_path) == "failed"
    assert read_checkpoint(tmp_path)["training"]["step"] == 5
    rows = files.read_rows(tmp_path / files.METRICS)
    assert rows[-1]["val_loss"] == ""
    assert json.loads((tmp_path / files.SUMMARY).read_text())["metrics"] == {}
