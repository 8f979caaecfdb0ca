"""A run from its first file to its last: train, evaluate, files."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from attnexp import console
from attnexp.runs.stop import Stop
from attnexp.runs.summary import Summary
from attnexp.training.base import Epoch
from attnexp.training.loop import Training
from attnexp.training.prepared import PreparedRun
from attnexp.training.recording import Recording, headline
from attnexp.training.state import State

ALONE = "batched=true, but this run was trained by itself"
"""The beginning of the note of a run that cannot train as a replica."""


def execute(run: PreparedRun, folder: Path) -> Summary:
    """Train, evaluate and record a run in its folder, and return its summary.

    Whatever ends the run early is written into the summary and into the log, and raised again. A
    picture that cannot be drawn does not end a run: the summary says so in a note.
    """
    stop = Stop()
    with stop.heard():
        record = Recording(run, folder, stop)
        try:
            record.look()
            record.begin()
            if not record.idle:
                train(record)
            record.finish()
        except BaseException as error:
            record.end_early(error)
            raise
        return record.close()


def train(record: Recording) -> None:
    """Fit the model of a run, and record each epoch."""
    run = record.run
    label = f"seed {run.config['seed']}: epoch"
    with record.stop.awaited(), console.progress(label, run.settings.max_epochs) as show:
        for row in epochs(record):
            record.see(row)
            show(row.epoch, headline(row, run.task))


def epochs(record: Recording) -> Iterator[Epoch]:
    """Fit the model of a run and yield its epochs: as a replica where that is asked for and can be.

    Where it cannot be, a note says why.
    """
    run = record.run
    if run.config["batched"]:
        from attnexp.training.replicas import NotReplicableError, Replicas

        def replicas(left: State | None) -> Replicas:
            return Replicas([run], [left] if left else [])

        try:
            group = record.taken_up(replicas)
        except NotReplicableError as reason:
            record.notes.append(f"{ALONE}, because {reason}")
            console.warn(record.notes[-1])
        else:
            for row in group.fit_one():
                yield row
                record.after_update(partial(group.state, 0))
            return

    def training(left: State | None) -> Training:
        return Training(
            run.model,
            run.dataset,
            run.task,
            run.optimizer,
            run.schedule,
            run.settings,
            run.order,
            run.precision.autocast,
            left,
        )

    alone = record.taken_up(training)
    yield from alone.epochs(partial(record.after_update, alone.state))
