"""A run from its first file to its last: train, evaluate, files."""

import logging
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import torch

from attnexp import console
from attnexp.architectures.base import Architecture
from attnexp.data.base import Dataset
from attnexp.runs import files
from attnexp.runs.provenance import now
from attnexp.runs.summary import Summary, error_text, first_summary
from attnexp.tasks.base import Attended, Task
from attnexp.trackers.base import Tracker
from attnexp.training.base import Epoch, OptimizerFactory, Schedule, TrainSettings
from attnexp.training.device import device_name
from attnexp.training.loop import fit
from attnexp.training.precision import Precision
from attnexp.training.tensors import write_attention, write_parameters, write_snapshots

log = logging.getLogger(__name__)

Measured = TypeVar("Measured")

TRAINING_HEADLINES = ("train_loss", "steps", "converged_step")
"""Metrics of the training itself that are shown first."""


@dataclass(frozen=True)
class PreparedRun:
    """A run that is built and has not begun.

    `untrained` makes models of the same shape with other first parameters, one at a time.
    """

    config: Mapping[str, Any]
    chosen: Mapping[str, str]
    device: torch.device
    why_device: str
    precision: Precision
    dataset: Dataset
    model: Architecture
    task: Task
    optimizer: OptimizerFactory
    schedule: Schedule
    settings: TrainSettings
    tracker: Tracker
    order: torch.Generator
    untrained: Iterable[Architecture]


@dataclass(frozen=True)
class Training:
    """What training itself measured, and remarks on it."""

    metrics: dict[str, float]
    notes: list[str]


def execute(run: PreparedRun, folder: Path) -> Summary:
    """Train, evaluate and record a run in its folder, and return its summary.

    Whatever ends the run early is written into the summary and into the log, and raised again. A
    picture that cannot be drawn does not end a run: the summary says so in a note.
    """
    start = time.perf_counter()
    files.clear(folder)
    summary = opening_summary(run)
    summary.write(folder)
    opening = (
        f"{run.chosen['model']} on {run.chosen['data']}, seed {run.config['seed']}, "
        f"device {run.device} ({run.why_device})"
    )
    console.say(opening)
    log.info(opening)
    try:
        run.tracker.begin(folder, summary)
        trained = train(run, folder)
        evaluation = measure(run, partial(run.task.evaluate, untrained=run.untrained))
        files.write_rows(folder / files.PREDICTIONS, evaluation.rows)
        write_attention(measure(run, run.task.attend), run.dataset.spec, folder)
        write_parameters(run.model, folder)
        summary = msgspec.structs.replace(
            summary,
            status="finished",
            metrics={**evaluation.metrics, **trained.metrics, **learned_scalars(run.model)},
            details=evaluation.details,
            notes=[*trained.notes, *evaluation.notes],
            seconds=time.perf_counter() - start,
            peak_memory_mb=peak_memory_mb(run.device),
            ended=now(),
        )
        summary.write(folder)
    except BaseException as error:
        ending = record_end(folder, summary, error, time.perf_counter() - start)
        run.tracker.end(folder, ending)
        raise
    if run.config["figures"]:
        summary = draw(summary, folder)
    run.tracker.end(folder, summary)
    for note in summary.notes:
        log.info("note: %s", note)
    log.info("metrics %s", summary.metrics)
    return summary


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
        summary.write(folder)
    return summary


def record_end(
    folder: Path, summary: Summary, error: BaseException, seconds: float | None = None
) -> Summary:
    """Record what ended a run early: the traceback in its log, the error in its summary."""
    log.info("the run ended early", exc_info=error)
    status: Literal["failed", "interrupted"] = (
        "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    )
    ending = summary.ended_early(status, error_text(error), seconds)
    ending.write(folder)
    return ending


def opening_summary(run: PreparedRun) -> Summary:
    """Return what is known of a run before it begins."""
    return msgspec.structs.replace(
        first_summary(run.config, run.chosen),
        primary=run.task.primary,
        selection=run.task.selection,
        better=dict(run.task.better),
        headline=[
            *(metric.name for metric in run.task.metrics if metric.headline),
            *TRAINING_HEADLINES,
            *learned_scalars(run.model),
        ],
        units={metric.name: metric.unit for metric in run.task.metrics if metric.unit},
        beside={metric.name: dict(metric.beside) for metric in run.task.metrics if metric.beside},
        parameters=sum(parameter.numel() for parameter in run.model.parameters()),
        device=device_name(run.device),
    )


def train(run: PreparedRun, folder: Path) -> Training:
    """Fit the model while writing metrics.csv."""
    metrics = files.MetricsFile(folder)
    rows: list[Epoch] = []
    snapshots: dict[int, Attended] = {}
    every = run.settings.attention_every
    logged = 0.0
    try:
        idle = nothing_to_train(run)
        if idle:
            console.say(f"nothing to train: {idle}")
            return Training({}, [f"nothing was trained: {idle}"])
        if every is not None:
            snapshots[0] = measure(run, run.task.attend)
        with console.progress(f"seed {run.config['seed']}: epoch", run.settings.max_epochs) as show:
            for row in fit(
                run.model,
                run.dataset,
                run.task,
                run.optimizer,
                run.schedule,
                run.settings,
                run.order,
                run.precision.autocast,
            ):
                rows.append(row)
                metrics.append(columns(row))
                run.tracker.epoch(columns(row))
                if row.seconds - logged >= console.LINE_EVERY:
                    log.info("epoch %d %s", row.epoch, headline(row, run.task))
                    logged = row.seconds
                show(row.epoch, headline(row, run.task))
                if every is not None and row.epoch % every == 0:
                    snapshots[row.epoch] = measure(run, run.task.attend)
    finally:
        metrics.close()
        if snapshots:
            write_snapshots(snapshots, run.dataset.spec, folder)
    last = rows[-1]
    if last.converged:
        console.say(f"converged in epoch {last.epoch}: no parameter moves any more")
    return Training(
        {"train_loss": last.loss, "steps": last.step, **milestones(rows, run.task)},
        [f"training ended early: {last.ended}"] if last.ended else [],
    )


def nothing_to_train(run: PreparedRun) -> str:
    """Why training would change nothing, or an empty text where it would."""
    if not trainable(run.model):
        return f"model={run.chosen['model']} has no parameters here"
    example = run.dataset.train.select(slice(1))
    with run.precision.autocast():
        loss = run.task.loss(run.model(example), example)
    if not loss.requires_grad:
        return f"with model={run.chosen['model']} the loss depends on no parameter"
    return ""


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


def milestones(rows: Sequence[Epoch], task: Task) -> dict[str, float]:
    """Return the steps at which training converged, and validated metrics passed their milestones.

    Only of those that did.
    """
    passed: dict[str, float] = {}
    for row in rows:
        for name, metric in task.validated.items():
            if metric.milestone is not None and row.validation.get(name, 0.0) > metric.milestone:
                passed.setdefault(f"{name}_{100 * metric.milestone:.0f}_step", row.step)
        if row.converged:
            passed["converged_step"] = row.step
    return passed


def measure(run: PreparedRun, how: Callable[[Architecture, Dataset], Measured]) -> Measured:
    """Measure the model as it is, without gradients, and leave it in the mode it was in."""
    training = run.model.training
    run.model.eval()
    try:
        with torch.no_grad(), run.precision.autocast():
            return how(run.model, run.dataset)
    finally:
        run.model.train(training)


def learned_scalars(model: Architecture) -> dict[str, float]:
    """The parameters that are one number, such as a kernel's width, by their path in the model."""
    return {name: p.item() for name, p in model.named_parameters() if p.dim() == 0}


def peak_memory_mb(device: torch.device) -> float:
    """Most memory in use so far, in units of 2^20 bytes: of the GPU, else of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


def trainable(model: Architecture) -> bool:
    """Whether there is a parameter to train."""
    return any(parameter.requires_grad for parameter in model.parameters())
