"""What a run writes into its folder while it goes: rows, checkpoints, attention, how it ended."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from torch import Tensor

from attnexp import console
from attnexp.errors import refusal
from attnexp.runs import files, lease
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.provenance import differences, now
from attnexp.runs.stop import Stop
from attnexp.runs.summary import Attempt, Summary, error_text, first_summary
from attnexp.tasks.base import Attended, Task
from attnexp.training.base import Epoch
from attnexp.training.checkpoint import read_checkpoint, write_checkpoint
from attnexp.training.device import device_name
from attnexp.training.loop import is_finite
from attnexp.training.measures import (
    learned_numbers,
    measure,
    milestones,
    peak_memory_mb,
    require_finite,
)
from attnexp.training.prepared import PreparedRun, nothing_to_train
from attnexp.training.state import State, WrongStateError, whole_or_not_at_all
from attnexp.training.tensors import write_attention, write_parameters, write_snapshots

log = logging.getLogger(__name__)

Work = TypeVar("Work")

TRAINING_HEADLINES = ("train_loss", "steps", "converged_step")
"""Metrics of the training itself that are shown first."""

SHARE = 20.0
"""The pause between two checkpoints is at least so many times as long as writing one."""


class Earlier:
    """What a checkpoint holds of the attempts at a run. The last of them was left.

    Raises KeyError, TypeError, ValueError or AttributeError for what no run has written.
    """

    def __init__(self, checkpoint: State) -> None:
        self.attempts = [msgspec.convert(each, Attempt) for each in checkpoint["attempts"]]
        self.rows = [Epoch(**values) for values in checkpoint["rows"]]
        self.snapshots = {int(epoch): dict(own) for epoch, own in checkpoint["snapshots"].items()}
        self.seconds = float(checkpoint["seconds"])
        self.training: State = dict(checkpoint["training"])
        if not self.attempts:
            raise ValueError("it names no attempt")


class Recording:
    """What a run writes into its folder, from its first file to its last.

    `look` and `begin` come first, then `see` with each epoch, `finish` and `close`; `end_early`
    with whatever ended the run before `finish` returned. With `idle` there is nothing to train.
    """

    def __init__(self, run: PreparedRun, folder: Path, stop: Stop) -> None:
        self.run = run
        self.folder = folder
        self.stop = stop
        self.idle = False
        self._earlier: Earlier | None = None
        self.notes = list(run.dataset.notes)
        self.summary = opening_summary(run)
        self._start = time.perf_counter()
        self._rows: list[Epoch] = []
        self._snapshots: dict[int, Attended] = {}
        self._metrics: files.MetricsFile | None = None
        self._logged = 0.0
        self._kept = time.perf_counter()
        self._pause = 0.0

    def begin(self) -> None:
        """Clear the folder, and write that the run has begun, or goes on from its checkpoint."""
        run = self.run
        lease.confirm(self.folder)
        files.clear(self.folder, keep={files.CHECKPOINT} if self._earlier else ())
        self.summary.write(self.folder)
        if text := differences():
            files.write_bytes(self.folder / files.DIFF, text.encode())
        opening = (
            f"{run.chosen['model']} on {run.chosen['data']}, seed {run.config['seed']}, "
            f"device {run.device} ({run.why_device})"
        )
        console.say(opening)
        log.info(opening)
        run.tracker.begin(self.folder, self.summary)
        self._metrics = files.MetricsFile(self.folder)
        idle = nothing_to_train(run)
        if idle:
            self.idle = True
            console.say(f"nothing to train: {idle}")
            self.notes.append(f"nothing was trained: {idle}")
        elif self._earlier is not None:
            self._go_on(self._earlier)
        elif run.settings.attention_every is not None:
            self._snapshots[0] = measure(run, run.task.attend)

    def look(self) -> None:
        """Read the checkpoint of an earlier attempt at this run, where there is one."""
        if self.run.config["rerun"]:
            return
        try:
            checkpoint = read_checkpoint(self.folder)
        except (UnreadableRunError, OSError) as error:
            self._begin_anew(str(error))
            return
        if checkpoint is None:
            return
        if checkpoint.get("key") != self.summary.key:
            self._begin_anew("it is of another run")
            return
        try:
            self._earlier = Earlier(checkpoint)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._begin_anew(error_text(error))

    @property
    def left(self) -> State | None:
        """The state in which an earlier attempt left the training, where one did."""
        return None if self._earlier is None else self._earlier.training

    def _go_on(self, earlier: Earlier) -> None:
        """Record again what the checkpoint holds."""
        last = earlier.attempts[-1]
        console.say(f"This run goes on after update {last.updates}, where it was left.")
        log.info("the run goes on after update %d", last.updates)
        if changed := last.differences(self._attempt(0)):
            self.notes.append(
                f"the run was left after update {last.updates} and went on with {changed}: its "
                "last digits may differ"
            )
        self._start -= earlier.seconds
        self.summary = msgspec.structs.replace(self.summary, attempts=earlier.attempts)
        self._snapshots = self._attended_again(earlier.snapshots)
        for row in earlier.rows:
            self._record(row)

    def _attended_again(self, weights: Mapping[int, Mapping[str, Tensor]]) -> dict[int, Attended]:
        """Return the attention of several epochs, of which the checkpoint keeps the weights."""
        if not weights:
            return {}
        now = measure(self.run, self.run.task.attend)
        return {epoch: replace(now, weights=own) for epoch, own in weights.items()}

    def _forget(self) -> None:
        """Remove what was recorded again of an earlier attempt."""
        assert self._metrics is not None
        self._metrics.close()
        self._metrics = files.MetricsFile(self.folder)
        self.run.tracker.begin(self.folder, self.summary)
        self._rows.clear()
        self._snapshots.clear()
        self._start = time.perf_counter()
        self.summary = msgspec.structs.replace(self.summary, attempts=[])

    def _begin_anew(self, why: str) -> None:
        """Say that there is a checkpoint that cannot be used, and that training begins anew."""
        self._earlier = None
        self.notes.append(f"training began anew, because its checkpoint cannot be used: {why}")
        console.warn(self.notes[-1])

    def _attempt(self, updates: int) -> Attempt:
        """Return what is to be known of this attempt, were it left after so many updates."""
        summary = self.summary
        return Attempt(
            updates=updates,
            started=summary.started,
            ended=now(),
            device=summary.device,
            versions=summary.versions,
        )

    def after_update(self, state: Callable[[], State]) -> None:
        """Keep a checkpoint where one is due; end the run where a signal has asked for it."""
        self.keep_if_due(state)
        self.stop.obey()

    def keep_if_due(self, state: Callable[[], State]) -> None:
        """Keep a checkpoint if it is time for one, or a signal has asked the run to end.

        `state` returns that of the training. It is called between two updates. Raises
        TakenOverError where another process has the folder by now.
        """
        lease.check(self.folder)
        every = self.run.config["checkpoint_every"]
        pause = time.perf_counter() - self._kept
        if self.stop.wished or (every is not None and pause >= max(every, self._pause)):
            self._keep(state())

    def _keep(self, state: State) -> None:
        """Write a checkpoint, unless the parameters are not finite: the last good one stays."""
        began = time.perf_counter()
        lease.confirm(self.folder)
        if is_finite(self.run.model):
            attempts = [*self.summary.attempts, self._attempt(state["step"])]
            weights = {epoch: dict(each.weights) for epoch, each in self._snapshots.items()}
            try:
                write_checkpoint(
                    self.folder,
                    {
                        "key": self.summary.key,
                        "attempts": msgspec.to_builtins(attempts),
                        "rows": [vars(row) for row in self._rows],
                        "snapshots": weights,
                        "seconds": began - self._start,
                        "training": state,
                    },
                )
            except OSError as error:
                console.warn(f"no checkpoint could be written: {refusal(error)}")
        self._kept = time.perf_counter()
        self._pause = SHARE * (self._kept - began)

    def taken_up(self, training: Callable[[State | None], Work]) -> Work:
        """Return a training that goes on from the state that was left, or begins anew."""
        if (left := self.left) is not None:
            try:
                with whole_or_not_at_all(self.run.model, self.run.order):
                    return training(left)
            except WrongStateError as error:
                self._begin_anew(str(error))
                self._forget()
        return training(None)

    def is_due(self, row: Epoch) -> bool:
        """Return whether an epoch is to be logged."""
        return row.seconds - self._logged >= console.LINE_EVERY

    def see(self, row: Epoch) -> None:
        """Record an epoch."""
        self._record(row)
        if self.is_due(row):
            log.info("epoch %d %s", row.epoch, headline(row, self.run.task))
            self._logged = row.seconds
        every = self.run.settings.attention_every
        if every is not None and row.epoch % every == 0:
            self._snapshots[row.epoch] = measure(self.run, self.run.task.attend)

    def _record(self, row: Epoch) -> None:
        assert self._metrics is not None
        self._rows.append(row)
        self._metrics.append(columns(row))
        self.run.tracker.epoch(columns(row))

    def finish(self) -> None:
        """Evaluate the trained model, and write its numbers."""
        self._close_training()
        run, trained = self.run, {}
        if self._rows:
            last = self._rows[-1]
            trained = {"train_loss": last.loss, "steps": last.step}
            trained |= milestones(self._rows, run.task)
            if last.converged:
                console.say(f"converged in epoch {last.epoch}: no parameter moves any more")
            if last.ended:
                self.notes.append(f"training ended early: {last.ended}")
        evaluation = measure(run, partial(run.task.evaluate, untrained=run.untrained))
        require_finite(evaluation.metrics, run.task)
        attended = measure(run, run.task.attend)
        lease.confirm(self.folder)
        files.write_rows(self.folder / files.PREDICTIONS, evaluation.rows)
        if evaluation.response:
            files.write_rows(self.folder / files.RESPONSE, evaluation.response)
        write_attention(attended, run.dataset.spec, self.folder)
        write_parameters(run.model, self.folder)
        finished = msgspec.structs.replace(
            self.summary,
            status="finished",
            metrics={
                **evaluation.metrics,
                **trained,
                **learned_numbers(run.model, run.dataset.spec),
            },
            details=evaluation.details,
            notes=[*self.notes, *evaluation.notes],
            seconds=time.perf_counter() - self._start,
            peak_memory_mb=peak_memory_mb(run.device),
            ended=now(),
        )
        finished.write(self.folder)
        (self.folder / files.CHECKPOINT).unlink(missing_ok=True)
        self.summary = finished

    def close(self) -> Summary:
        """Draw the pictures of a finished run and return its summary."""
        if self.run.config["figures"]:
            self.summary = draw(self.summary, self.folder)
        self.run.tracker.end(self.folder, self.summary)
        for note in self.summary.notes:
            log.info("note: %s", note)
        log.info("metrics %s", self.summary.metrics)
        return self.summary

    def end_early(self, error: BaseException) -> None:
        """Record what ended the run, as far as it can be written.

        Nothing is recorded where another process has the folder by now.
        """
        try:
            self._close_training()
        except lease.TakenOverError as taken:
            log.info("%s", taken)
            return
        except OSError as lost:
            console.warn(f"what the run had recorded is incomplete: {error_text(lost)}")
        if isinstance(error, KeyboardInterrupt) and (self.folder / files.CHECKPOINT).exists():
            console.say("A checkpoint is kept: the same command goes on from there.")
        ending = record_end(self.folder, self.summary, error, time.perf_counter() - self._start)
        self.run.tracker.end(self.folder, ending)

    def _close_training(self) -> None:
        metrics, self._metrics = self._metrics, None
        if metrics is not None:
            metrics.close()
        lease.confirm(self.folder)
        snapshots, self._snapshots = self._snapshots, {}
        if snapshots:
            write_snapshots(snapshots, self.run.dataset.spec, self.folder)


def opening_summary(run: PreparedRun) -> Summary:
    """Return what is known of a run before it begins."""
    return msgspec.structs.replace(
        first_summary(run.config, run.chosen, run.command),
        primary=run.task.primary,
        selection=run.task.selection,
        better=dict(run.task.better),
        headline=[
            *(metric.name for metric in run.task.metrics if metric.headline),
            *TRAINING_HEADLINES,
            *learned_numbers(run.model, run.dataset.spec),
        ],
        units={metric.name: metric.unit for metric in run.task.metrics if metric.unit},
        beside={metric.name: dict(metric.beside) for metric in run.task.metrics if metric.beside},
        parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        device=device_name(run.device),
    )


def draw(summary: Summary, folder: Path) -> Summary:
    """Draw the pictures of a finished run; return its summary, with a note where that failed."""
    try:
        from attnexp.plots import catalogue

        catalogue.draw_run(folder, summary)
    except Exception as error:  # the numbers are there, whatever became of the pictures
        log.info("the pictures could not be drawn", exc_info=error)
        note = (
            f"the pictures could not be drawn ({error_text(error)}); attnexp plot draws them again"
        )
        summary = msgspec.structs.replace(summary, notes=[*summary.notes, note])
        try:
            summary.write(folder)
        except OSError as lost:
            console.warn(f"the summary lacks the last of its notes: {error_text(lost)}")
    return summary


def record_end(
    folder: Path, summary: Summary, error: BaseException, seconds: float | None = None
) -> Summary:
    """Record what ended a run early: the traceback in its log, the error in its summary.

    Where neither can be written, a warning says so.
    """
    log.info("the run ended early", exc_info=error)
    status: Literal["failed", "interrupted"] = (
        "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    )
    ending = summary.ended_early(status, error_text(error), seconds)
    try:
        ending.write(folder)
    except OSError as lost:
        console.warn(f"how the run ended could not be recorded: {error_text(lost)}")
    return ending


def columns(row: Epoch) -> dict[str, object]:
    """A row of metrics.csv: validation metrics stand behind the others as `val_...`."""
    apart = ("validation", "converged", "ended")
    own = {name: value for name, value in vars(row).items() if name not in apart}
    return own | {f"val_{name}": value for name, value in row.validation.items()}


def headline(row: Epoch, task: Task) -> str:
    """Return the part of a row that a person watches."""
    watched = [name for name, m in task.validated.items() if m.headline and name in row.validation]
    shown = [f"val {name} {row.validation[name]:.3g}" for name in watched]
    return ", ".join([f"loss {row.loss:.4g}", *shown])
