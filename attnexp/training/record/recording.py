"""The files of a run that is training: its rows, checkpoints, attention and end."""

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from torch import Tensor

from attnexp.architectures.recurrence.native.library import use
from attnexp.core import console
from attnexp.core.errors import refusal
from attnexp.core.language import said
from attnexp.runs import files, lock
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.origin.provenance import differences, now
from attnexp.runs.run_status import Status
from attnexp.runs.summary import (
    ENDED,
    NATIVE,
    Attempt,
    Summary,
    WidthCheck,
    error_text,
    read_summary,
    written_files,
)
from attnexp.runs.user_code import write_texts
from attnexp.tasks.base import Attended
from attnexp.training.base import Epoch
from attnexp.training.device import device_name
from attnexp.training.loop import is_finite
from attnexp.training.native_steps import choose_native_steps
from attnexp.training.prepared_run import PreparedRun, nothing_to_train
from attnexp.training.record.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from attnexp.training.record.measures import (
    columns,
    forget_peak_memory,
    learned_numbers,
    learned_units,
    measure,
    milestones,
    peak_memory_mb,
    require_finite,
)
from attnexp.training.record.pictures import draw
from attnexp.training.record.stored_tensors import (
    write_attention,
    write_parameters,
    write_snapshots,
)
from attnexp.training.state import State, WrongStateError, restored_on_error
from attnexp.training.stop import Stop
from attnexp.training.width_check import sentences

log = logging.getLogger(__name__)

Work = TypeVar("Work")

TRAINING_HEADLINES = ("train_loss", "steps", "converged_step")
"""Metrics of the training itself that are shown first."""

PAUSE = 20.0
"""The least pause between two checkpoints, in units of the time that writing one takes."""


class Recording:
    """Writes the files of a run, from the first to the last.

    Call, in this order, `load_checkpoint`, `begin`, `resume` or `begin_training`, `record` with
    each epoch, and `finish`. Call `end_early` with an error that ends the run before. If `idle` is
    true after `begin`, there is nothing to train: call `finish` next. `checkpoint` is the one of an
    earlier attempt at the run.
    """

    def __init__(self, run: PreparedRun, folder: Path, stop: Stop) -> None:
        self.run = run
        self.folder = folder
        self.stop = stop
        self.idle = False
        self.checkpoint: Checkpoint | None = None
        self.width_check: WidthCheck | None = None
        self.notes = [*run.dataset.notes, *run.native.notes]
        self.summary = opening_summary(run)
        self._start = time.perf_counter()
        forget_peak_memory(run.device)
        self._rows: list[Epoch] = []
        self._snapshots: dict[int, Attended] = {}
        self._metrics: files.MetricsFile | None = None
        self._saved = time.perf_counter()
        self._pause = 0.0

    def load_checkpoint(self) -> None:
        """Read the checkpoint of an earlier attempt at this run, if there is one."""
        if self.run.config["rerun"]:
            return
        try:
            content = read_checkpoint(self.folder)
            if content is None:
                return
            if content.get("key") != self.summary.key:
                raise UnreadableRunError("it is of another run")
            self.checkpoint = Checkpoint(content, self.run.settings.max_epochs)
            self._go_on_by_the_steps_of(self.checkpoint.attempts[-1])
        except (UnreadableRunError, LookupError, TypeError, ValueError, AttributeError) as error:
            self._begin_anew(error_text(error))

    def _go_on_by_the_steps_of(self, begun: Attempt) -> None:
        """Let compiled steps or PyTorch compute the recurrences, as in an earlier attempt."""
        native = self.summary.versions.get(NATIVE)
        if NATIVE not in begun.versions:
            use(self.run.model, None)
            native = None
        elif native is None:
            steps = choose_native_steps(self.run.model, {**self.run.config, "native": "auto"})
            native = steps.compiler
            self.notes += [note for note in steps.notes if note not in self.notes]
        own = {name: text for name, text in self.summary.versions.items() if name != NATIVE}
        own |= {NATIVE: native} if native else {}
        self.summary = msgspec.structs.replace(self.summary, versions=own)

    def begin(self) -> None:
        """Write the summary of a run that has begun, and remove files of earlier attempts.

        A checkpoint that was loaded stays.
        """
        run = self.run
        lock.confirm(self.folder)
        self.summary.write(self.folder)
        earlier = {files.CHECKPOINT} if self.checkpoint else set()
        files.clear(self.folder, keep={files.SUMMARY, *earlier})
        if text := differences():
            files.write_bytes(self.folder / files.DIFF, text.encode())
        write_texts(self.summary.code, self.folder)
        opening = (
            f"{run.chosen['model']} on {run.chosen['data']}, seed {run.config['seed']}, "
            f"device {run.device} ({run.why_device})"
        )
        console.print_line(opening)
        log.info(opening)
        run.tracker.begin(self.folder, self.summary)
        self._metrics = files.MetricsFile(self.folder)
        if why := nothing_to_train(run):
            self.idle = True
            console.print_line(f"nothing to train: {why}")
            self.notes.append(said("nothing was trained: {why}", why=why).en)

    def resume(self, make: Callable[[State | None], Work]) -> Work:
        """Return the result of `make` for the checkpoint's state, or for None to begin anew."""
        work = None
        if self.checkpoint is not None:
            try:
                with restored_on_error(self.run.model, self.run.order):
                    work = make(self.checkpoint.training)
            except WrongStateError as error:
                self._begin_anew(str(error))
        self.begin_training()
        return make(None) if work is None else work

    def begin_training(self) -> None:
        """Record what the checkpoint holds again, or the attention before the first update."""
        if self.checkpoint is None:
            if self.run.settings.attention_every is not None:
                self._snapshots[0] = measure(self.run, self.run.task.attend)
            return
        last = self.checkpoint.attempts[-1]
        console.print_line(f"This run continues after update {last.updates}, from its checkpoint.")
        log.info("the run continues after update %d", last.updates)
        if changed := last.differences(self._attempt(0)):
            self.notes.append(
                f"the run was interrupted after update {last.updates} and went on with {changed}: "
                "its last digits may differ"
            )
        self._start -= self.checkpoint.seconds
        self.summary = msgspec.structs.replace(self.summary, attempts=self.checkpoint.attempts)
        self._snapshots = self._with_weights(self.checkpoint.snapshots)
        for row in self.checkpoint.rows:
            self._write(row)

    def after_update(self, state: Callable[[], State]) -> None:
        """Write a checkpoint if it is time for one; end the run if a signal has asked for it."""
        self.save_if_due(state)
        self.stop.raise_if_requested()

    def save_if_due(self, state: Callable[[], State]) -> None:
        """Write a checkpoint if it is time for one, or if a signal has asked the run to end.

        `state` returns the state of the training. Call this between two updates.

        Raises TakenOverError if another process has taken over the folder.
        """
        every = self.run.config["checkpoint_every"]
        pause = time.perf_counter() - self._saved
        if self.stop.requested or (every is not None and pause >= max(every, self._pause)):
            self._save(state())

    def record(self, row: Epoch) -> None:
        """Record an epoch: its row, and the attention after it if that is to be kept."""
        self._write(row)
        every = self.run.settings.attention_every
        if every is not None and row.epoch % every == 0:
            self._snapshots[row.epoch] = measure(self.run, self.run.task.attend)

    def finish(self, draws: bool) -> Summary:
        """Evaluate the trained model and write the results. With `draws`, draw the pictures too.

        Returns the summary of the finished run.
        """
        self._close_training()
        run, trained = self.run, {}
        if self._rows:
            last = self._rows[-1]
            trained = {"train_loss": last.loss, "steps": last.step}
            trained |= milestones(self._rows, run.task)
            if last.converged:
                console.print_line(f"converged in epoch {last.epoch}: no parameter moves any more")
            if last.ended:
                self.notes.append(f"{ENDED}{last.ended}")
        checked = [] if self.width_check is None else sentences(self.width_check)
        evaluation = measure(run, partial(run.task.evaluate, untrained=run.untrained))
        require_finite(evaluation.metrics, run.task)
        attended = measure(run, run.task.attend)
        lock.confirm(self.folder)
        files.write_rows(self.folder / files.PREDICTIONS, evaluation.rows)
        if evaluation.response:
            files.write_rows(self.folder / files.RESPONSE, evaluation.response)
        write_attention(attended, run.dataset.spec, self.folder)
        write_parameters(run.model, self.folder)
        learned = learned_numbers(run.model, run.dataset.spec)
        finished = msgspec.structs.replace(
            self.summary,
            status=Status.FINISHED,
            metrics={**evaluation.metrics, **trained, **learned},
            details=evaluation.details,
            floors=dict(evaluation.floors),
            width_check=self.width_check,
            notes=[*self.notes, *checked, *evaluation.notes],
            seconds=time.perf_counter() - self._start,
            peak_memory_mb=peak_memory_mb(run.device),
            files=written_files(self.folder),
            ended=now(),
        )
        finished.write(self.folder)
        self.summary = finished
        if draws:
            self.summary = draw(finished, self.folder)
        (self.folder / files.CHECKPOINT).unlink(missing_ok=True)
        run.tracker.end(self.folder, self.summary)
        for note in self.summary.notes:
            log.info("note: %s", note)
        log.info("metrics %s", finished.metrics)
        return self.summary

    def end_early(self, error: BaseException) -> None:
        """Record the error that ended the run, if it can be written.

        Nothing is recorded for a finished run, or if the folder is lost. Raises TakenOverError if
        another process runs or has ended the run there, unless `error` is an interrupt: the files
        that this process misses may be those that the other one cleared away.
        """
        if self.summary.status == "finished":
            return
        try:
            self._close_training()
        except lock.TakenOverError as taken:
            log.info("%s", taken, exc_info=error)
            if not isinstance(error, KeyboardInterrupt) and self._has_another_owner():
                raise taken from error
            return
        except OSError as lost:
            console.warn(f"the record of the run is incomplete: {error_text(lost)}")
        if isinstance(error, KeyboardInterrupt) and os.path.exists(self.folder / files.CHECKPOINT):
            console.print_line("A checkpoint is kept: the same command continues from there.")
        ending = record_end(self.folder, self.summary, error, time.perf_counter() - self._start)
        self.run.tracker.end(self.folder, ending)

    def _has_another_owner(self) -> bool:
        """Return whether another process runs the run in this folder, or has ended it there."""
        try:
            return lock.is_held(self.folder) or read_summary(self.folder).status.counts_in_means
        except UnreadableRunError:
            return False

    @property
    def last_row(self) -> Epoch | None:
        """The row of the last epoch, None before the first."""
        return self._rows[-1] if self._rows else None

    def _begin_anew(self, why: str) -> None:
        self.checkpoint = None
        self.notes.append(f"training began anew, because its checkpoint cannot be used: {why}")
        console.warn(self.notes[-1])

    def _with_weights(self, weights: Mapping[int, Mapping[str, Tensor]]) -> dict[int, Attended]:
        """Return the attention of several epochs, given their weights in the checkpoint."""
        if not weights:
            return {}
        current = measure(self.run, self.run.task.attend)
        return {epoch: replace(current, weights=own) for epoch, own in weights.items()}

    def _attempt(self, updates: int) -> Attempt:
        return Attempt(updates, self.summary.device, self.summary.versions)

    def _save(self, state: State) -> None:
        """Write a checkpoint. With parameters that are not finite, the last one stays instead."""
        began = time.perf_counter()
        lock.confirm(self.folder)
        if is_finite(self.run.model):
            attempts = [*self.summary.attempts, self._attempt(state["step"])]
            content = {
                "key": self.summary.key,
                "attempts": msgspec.to_builtins(attempts),
                "rows": [vars(row) for row in self._rows],
                "snapshots": {epoch: dict(each.weights) for epoch, each in self._snapshots.items()},
                "seconds": began - self._start,
                "training": state,
            }
            try:
                write_checkpoint(self.folder, content)
            except OSError as error:
                console.warn(f"no checkpoint could be written: {refusal(error)}")
        self._saved = time.perf_counter()
        self._pause = PAUSE * (self._saved - began)

    def _write(self, row: Epoch) -> None:
        assert self._metrics is not None
        self._rows.append(row)
        self._metrics.append(columns(row))
        self.run.tracker.epoch(columns(row))

    def _close_training(self) -> None:
        metrics, self._metrics = self._metrics, None
        if metrics is not None:
            metrics.close()
        lock.confirm(self.folder)
        snapshots, self._snapshots = self._snapshots, {}
        if snapshots:
            write_snapshots(snapshots, self.run.dataset.spec, self.folder)


def opening_summary(run: PreparedRun) -> Summary:
    """Return the summary of a run before it begins."""
    learned = learned_numbers(run.model, run.dataset.spec)
    return msgspec.structs.replace(
        run.opening,
        primary=run.task.primary,
        selection=run.task.selection,
        better=dict(run.task.better),
        headline=[
            *(metric.name for metric in run.task.metrics if metric.headline),
            *TRAINING_HEADLINES,
            *learned,
        ],
        units={metric.name: metric.unit for metric in run.task.metrics if metric.unit}
        | learned_units(run.model, learned),
        companions=_companions(run),
        overlap=run.dataset.overlap,
        fixed_by=run.dataset.fixed_by(run.config["data"]),
        parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        device=device_name(run.device),
        versions=run.opening.versions | _compiler(run),
    )


def _compiler(run: PreparedRun) -> dict[str, str]:
    return {NATIVE: run.native.compiler} if run.native.compiler else {}


def _companions(run: PreparedRun) -> dict[str, dict[str, str]]:
    """Return the metrics that tables show next to each: its companions, and chance if known."""
    found = {m.name: dict(m.companions) for m in run.task.metrics if m.companions}
    for name in (*run.dataset.chance, *run.dataset.floors):
        found[name] = {**found.get(name, {}), "chance": f"{name}_chance"}
    return found


def record_end(
    folder: Path, summary: Summary, error: BaseException, seconds: float | None = None
) -> Summary:
    """Record the error that ended a run: its traceback in the log, its text in the summary.

    A summary that cannot be written brings a warning. Returns the summary.
    """
    log.info("the run ended early", exc_info=error)
    interrupted = isinstance(error, KeyboardInterrupt)
    status = Status.INTERRUPTED if interrupted else Status.FAILED
    ending = summary.ended_early(status, error_text(error), seconds)
    try:
        ending.write(folder)
    except OSError as lost:
        console.warn(f"the end of the run could not be recorded: {error_text(lost)}")
    return ending
