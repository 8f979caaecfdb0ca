"""A run that is killed and issued again ends with the bits of one that was never disturbed."""

import csv
import json
import logging
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from composed import composed, job_of, prepared

from attnexp.architectures.compiled import remember
from attnexp.architectures.recurrence.native.library import load
from attnexp.runs import files
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.summary import Summary, read_summary
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.replicas import run_group
from attnexp.training import execute
from attnexp.training.base import TrainingDivergedError
from attnexp.training.optimizers import Adam
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record import recording
from attnexp.training.record.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from attnexp.training.stop import Stopped

SMALL = (
    *("figures=false", "checkpoint_every=0"),
    *("data.num_train=48", "data.num_validation=8", "data.num_test=8", "train.batch_size=16"),
)
"""Little data, a checkpoint after each update."""

REVERSE = (
    *("data=reverse", "model=additive", "arch.hidden_dim=8", "arch.embed_dim=8", *SMALL),
    "data.max_length=4",
)

AGAIN = (
    *("model=gaussian_learned", "figures=false", "checkpoint_every=0", "train.max_epochs=12"),
    *("model.initial_width=0.01", "optim.scalar_lr=0.001"),
)
"""A width that does not come far in twelve epochs: a better one is found after training."""

CASES = {
    "full batch, rprop": ("model=gaussian_learned", "figures=false", "checkpoint_every=0"),
    "adam, dropout": (
        *REVERSE,
        *("arch.dropout=0.2", "arch.attention_dropout=0.1", "train.max_epochs=4"),
    ),
    "adam, dropout, without native steps": (
        *REVERSE,
        *("arch.dropout=0.2", "arch.attention_dropout=0.1", "train.max_epochs=4", "native=false"),
    ),
    "snapshots, dropout, a target": (
        *REVERSE,
        *("arch.dropout=0.2", "train.attention_every=1", "train.max_epochs=4"),
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
    "a second start": AGAIN,
    "replicas, a second start": (*AGAIN, "batched=true"),
}


@pytest.fixture(autouse=True)
def _a_checkpoint_after_each_update(monkeypatch):
    monkeypatch.setattr(recording, "PAUSE", 0.0)


def executed(words: tuple[str, ...], folder: Path) -> Summary:
    folder.mkdir(parents=True, exist_ok=True)
    return execute.execute(prepared(*words), folder)


def numbers(folder: Path) -> dict[str, object]:
    """Return all that a run has computed, without its times."""
    with (folder / files.METRICS).open() as file:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    binary = (files.MODEL, files.ATTENTION, files.SNAPSHOTS)
    return {
        "rows": rows,
        "metrics": read_summary(folder).metrics,
        "width check": read_summary(folder).width_check,
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
            execute.execute(fresh, folder)
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
        ready, folder = prepared(*CASES[case]), tmp_path_factory.mktemp("whole")
        began = time.perf_counter()
        execute.execute(ready, folder)
        return numbers(folder), time.perf_counter() - began

    return of_case


TIERS = {"full batch, rprop": [], "adam, dropout": [], "replicas": [pytest.mark.check]}
"""The marks of cases; the others are slow."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=TIERS.get(case, [pytest.mark.slow])) for case in CASES]
)
def test_a_killed_run_ends_with_the_same_bits(case, undisturbed, tmp_path):
    (expected, seconds), words = undisturbed(case), CASES[case]
    chance = random.Random(len(words))
    kills = killed_until_it_ends(prepared(*words), tmp_path / "cut", seconds, 2, chance)
    assert numbers(tmp_path / "cut") == expected
    assert kills >= 1
    assert not (tmp_path / "cut" / files.CHECKPOINT).exists()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_run_killed_a_hundred_and_seventy_times(case, undisturbed, tmp_path):
    (expected, seconds), words = undisturbed(case), CASES[case]
    chance, kills, attempt, fresh = random.Random(7), 0, 0, prepared(*words)
    while kills < 170:
        attempt += 1
        kills += killed_until_it_ends(fresh, tmp_path / str(attempt), seconds, 40, chance)
        assert numbers(tmp_path / str(attempt)) == expected


@pytest.fixture
def default_handlers() -> Iterator[None]:
    """Give this process the handlers that it lacks where the tests run in the background."""
    defaults: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, default) for number, default in defaults.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    for log in logging.root.handlers:
        log.close()


class Interrupting:
    """Sends this process a signal after some updates."""

    def __init__(self, monkeypatch, updates: int, number: int) -> None:
        self.updates, self.number = updates, number
        keep = recording.Recording.save_if_due

        def save_if_due(record, state):
            self.updates -= 1
            if self.updates == 0:
                os.kill(os.getpid(), self.number)
            keep(record, state)

        monkeypatch.setattr(recording.Recording, "save_if_due", save_if_due)


def stopped_after(updates: int, words: tuple[str, ...], folder: Path, monkeypatch) -> None:
    """Run until a signal stops it after some updates."""
    with monkeypatch.context() as patch:
        Interrupting(patch, updates, signal.SIGTERM)
        with pytest.raises(Stopped):
            executed(words, folder)


@pytest.mark.first(2)
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
    default_handlers, case, number, undisturbed, tmp_path, monkeypatch
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


@pytest.mark.parametrize("case", ["a second start", "replicas, a second start"])
@pytest.mark.parametrize("updates", [12, 13, 24])
def test_a_run_goes_on_from_its_first_and_second_time(
    case, updates, default_handlers, undisturbed, tmp_path, monkeypatch
):
    stopped_after(updates, CASES[case], tmp_path, monkeypatch)
    assert ("second" in state_in(tmp_path)["training"]) == (updates > 12)
    executed(CASES[case], tmp_path)
    assert numbers(tmp_path) == undisturbed(case)[0]
    with (tmp_path / files.METRICS).open() as file:
        assert [int(row["epoch"]) for row in csv.DictReader(file)] == [*range(1, 25)]


def test_rerun_starts_anew(tmp_path, monkeypatch):
    words = CASES["adam, dropout"]
    stopped_after(2, words, tmp_path, monkeypatch)
    executed((*words, "rerun=true"), tmp_path)
    assert read_summary(tmp_path).attempts == []


def state_in(folder: Path) -> dict[str, Any]:
    state = read_checkpoint(folder)
    assert state is not None
    return state


def change(path: Path, **values: object) -> None:
    """Change what a checkpoint holds, and leave its checksum right."""
    write_checkpoint(path.parent, state_in(path.parent) | values)


def training_with(path: Path, **values: object) -> None:
    change(path, training=state_in(path.parent)["training"] | values)


@pytest.mark.first(2)
@pytest.mark.check
@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.write_bytes(b"no checkpoint"), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "cannot be read"),
        (lambda path: write_checkpoint(path.parent, {"key": "another"}), "of another run"),
        (lambda path: change(path, rows=[{"epoch": 1}]), "TypeError"),
        (lambda path: training_with(path, model={}), "RuntimeError"),
        (lambda path: training_with(path, order=torch.zeros(3)), "TypeError"),
    ],
    ids=["other content", "cut short", "another run", "rows", "tensors", "generator"],
)
def test_a_damaged_checkpoint_is_said_and_not_used(damage, why, undisturbed, tmp_path, monkeypatch):
    """The new beginning draws the same numbers, and has the attention before the first update."""
    words = CASES["snapshots, dropout, a target"]
    stopped_after(4, words, tmp_path / "cut", monkeypatch)
    damage(tmp_path / "cut" / files.CHECKPOINT)
    summary = executed(words, tmp_path / "cut")
    (note,) = (note for note in summary.notes if "anew" in note)
    assert why in note
    assert numbers(tmp_path / "cut") == undisturbed("snapshots, dropout, a target")[0]


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.parametrize(
    "damage",
    [
        {"step": "many"},
        pytest.param({"model": {}}, marks=pytest.mark.slow),
        pytest.param({"optimizer": []}, marks=pytest.mark.slow),
    ],
)
def test_in_a_group_a_bad_checkpoint_costs_its_own_run_a_new_beginning(
    damage, default_handlers, tmp_path, monkeypatch
):
    words = (*CASES["replicas"], "train.attention_every=1")
    jobs = {seed: job_of(composed(*words, f"seed={seed}"), tmp_path / str(seed)) for seed in (0, 1)}
    outcomes: dict[int, JobOutcome] = {}
    with monkeypatch.context() as patch:
        Interrupting(patch, 4, signal.SIGTERM)
        run_group(jobs, outcomes.__setitem__)
    assert {outcome.status for outcome in outcomes.values()} == {"interrupted"}
    training_with(tmp_path / "0" / files.CHECKPOINT, **damage)
    run_group(jobs, outcomes.__setitem__)
    assert {outcome.status for outcome in outcomes.values()} == {"finished"}
    assert [len(read_summary(tmp_path / seed).attempts) for seed in "01"] == [0, 1]
    anew = [any("anew" in note for note in read_summary(tmp_path / seed).notes) for seed in "01"]
    assert anew == [True, False]
    for seed in "01":
        executed((*words, f"seed={seed}"), tmp_path / f"alone{seed}")
        assert numbers(tmp_path / seed) == numbers(tmp_path / f"alone{seed}")


@pytest.mark.check
@pytest.mark.parametrize("updates", [None, 27])
def test_a_group_starts_again_with_the_bits_of_each_run_alone(
    updates, default_handlers, tmp_path, monkeypatch
):
    """Both runs have trained 12 epochs when the first of them starts again."""
    words = CASES["replicas, a second start"]
    jobs = {seed: job_of(composed(*words, f"seed={seed}"), tmp_path / str(seed)) for seed in (0, 1)}
    outcomes: dict[int, JobOutcome] = {}
    if updates is not None:
        with monkeypatch.context() as patch:
            Interrupting(patch, updates, signal.SIGTERM)
            run_group(jobs, outcomes.__setitem__)
        assert "second" in state_in(tmp_path / "0")["training"]
    run_group(jobs, outcomes.__setitem__)
    assert {outcome.status for outcome in outcomes.values()} == {"finished"}
    for seed in "01":
        executed((*words, f"seed={seed}"), tmp_path / f"alone{seed}")
        assert numbers(tmp_path / seed) == numbers(tmp_path / f"alone{seed}")
        assert len(read_summary(tmp_path / seed).attempts) == (updates is not None)


@pytest.mark.check
@pytest.mark.parametrize(
    ("name", "value"), [("step", 5), ("epoch", 0), ("over", True), ("losses", torch.zeros(3))]
)
def test_counts_that_do_not_agree_are_not_used(name, value, tmp_path, monkeypatch):
    stopped_after(4, CASES["adam, dropout"], tmp_path, monkeypatch)
    Checkpoint(state_in(tmp_path), max_epochs=4)
    training_with(tmp_path / files.CHECKPOINT, **{name: value})
    with pytest.raises(ValueError, match="do not agree"):
        Checkpoint(state_in(tmp_path), max_epochs=4)


@pytest.mark.slow
@pytest.mark.check
def test_no_flipped_bit_goes_unseen(tmp_path, monkeypatch):
    """A bit decides nothing, as a space in the header, or the checkpoint is not used."""
    stopped_after(4, CASES["adam, dropout"], tmp_path, monkeypatch)
    path, chance, unseen = tmp_path / files.CHECKPOINT, random.Random(0), 0
    sound, expected = path.read_bytes(), repr(read_checkpoint(tmp_path))
    for _ in range(400):
        changed = bytearray(sound)
        changed[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            assert repr(read_checkpoint(tmp_path)) == expected
            unseen += 1
        except UnreadableRunError:
            continue
    assert unseen < 10


@pytest.mark.check
def test_a_run_killed_before_its_last_files_is_completed(
    in_process, succeeds, tmp_path, monkeypatch
):
    words = ("model=gaussian_learned", "checkpoint_every=0", "train.max_epochs=2")
    with monkeypatch.context() as patch:
        patch.setattr(recording, "draw", lambda *_: sys.exit("killed"))
        assert in_process(*words).returncode != 0
    (folder,) = (tmp_path / "outputs").iterdir()
    assert read_status(folder) == "finished"
    assert (folder / files.CHECKPOINT).exists()
    assert "has finished before" in succeeds(*words).stdout
    assert list((folder / files.FIGURES).glob("*.png"))
    assert not (folder / files.CHECKPOINT).exists()


@pytest.mark.check
def test_a_run_that_is_no_replica_resumes_all_the_same(undisturbed, tmp_path, monkeypatch):
    """Its checkpoint is of a run by itself, although batched=true was asked for."""
    words = (*CASES["adam, dropout"], "batched=true")
    stopped_after(4, words, tmp_path, monkeypatch)
    summary = executed(words, tmp_path)
    assert [attempt.updates for attempt in summary.attempts] == [4]
    assert numbers(tmp_path) == undisturbed("adam, dropout, without native steps")[0]


@pytest.mark.first(1)
@pytest.mark.check
@pytest.mark.parametrize("begun", ["auto", "false"])
def test_a_run_goes_on_by_the_steps_that_it_began_with(
    begun, unasked, undisturbed, tmp_path, monkeypatch
):
    """Or says that it cannot."""
    plain = "adam, dropout, without native steps"
    stopped_after(4, (*CASES["adam, dropout"], f"native={begun}"), tmp_path, monkeypatch)
    if begun == "auto":
        monkeypatch.setenv("PATH", "")
        load.cache_clear()
        remember(None)
    summary = executed(CASES["adam, dropout"], tmp_path)
    notes = [note for note in summary.notes if "native by PyTorch in place of cc" in note]
    assert len(notes) == (begun == "auto")
    reasons = [note for note in summary.notes if note.startswith("native: no C compiler")]
    assert len(reasons) == (begun == "auto")
    assert "native" not in summary.versions
    assert (numbers(tmp_path) == undisturbed(plain)[0]) == (begun == "false")


@pytest.mark.slow
@pytest.mark.check
def test_a_run_that_goes_on_with_another_version_says_so(tmp_path, monkeypatch):
    words = CASES["adam, dropout"]
    stopped_after(2, words, tmp_path, monkeypatch)
    state = state_in(tmp_path)
    state["attempts"][0]["versions"]["torch"] = "1.0"
    write_checkpoint(tmp_path, state)
    summary = executed(words, tmp_path)
    (note,) = (note for note in summary.notes if "went on with" in note)
    assert f"torch {torch.__version__.partition('+')[0]}" in note
    assert "in place of 1.0" in note


def test_parameters_that_are_nan_after_the_last_update_fail_the_run(tmp_path, monkeypatch):
    words = (*CASES["adam, dropout"], "train.max_epochs=2")
    update = Adam.step
    count = 0

    def spoil(optimizer, closure):
        nonlocal count
        count += 1
        loss = update(optimizer, closure)
        if count == 6:
            optimizer.param_groups[0]["params"][0].data.fill_(torch.nan)
        return loss

    monkeypatch.setattr(Adam, "step", spoil)
    with pytest.raises(TrainingDivergedError, match="no longer finite after update 6, in epoch 2"):
        executed(words, tmp_path)
    assert read_status(tmp_path) == "failed"
    assert read_checkpoint(tmp_path)["training"]["step"] == 5
    rows = files.read_rows(tmp_path / files.METRICS)
    assert rows[-1]["val_loss"] == ""
    assert json.loads((tmp_path / files.SUMMARY).read_text())["metrics"] == {}
