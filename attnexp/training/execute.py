"""A run from its first file to its last: train, evaluate, record."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attnexp.core import console
from attnexp.runs.summary import Summary
from attnexp.training.base import Epoch, NotReplicableError
from attnexp.training.loop import Training
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record.measures import headline
from attnexp.training.record.recording import Recording
from attnexp.training.stop import Stop

ALONE = "batched=true, but this run was trained by itself"
"""The start of the note of a run that cannot train as a replica."""


def execute(run: PreparedRun, folder: Path, draws: bool = False) -> Summary:
    """Train, evaluate and record a run in its folder, and return its summary.

    With `draws` its pictures are drawn; if this fails, the run does not fail, and the summary has a
    note. An error that ends the run early is written into the summary and into the log, and raised
    again.
    """
    stop = Stop()
    with stop.handling_signals():
        record = Recording(run, folder, stop)
        try:
            record.load_checkpoint()
            record.begin()
            if not record.idle:
                train(record)
            return record.finish(draws)
        except BaseException as error:
            record.end_early(error)
            raise


def train(record: Recording) -> None:
    """Fit the model of a run, and record each epoch."""
    run = record.run
    label = f"seed {run.config['seed']}: epoch"
    size = len(run.dataset.train)
    updates = math.ceil(size / (run.settings.batch_size or size))
    epoch, details, done = 0, "", 0
    with record.stop.deferred(), console.progress(label, run.settings.max_epochs) as show:

        def pulse() -> None:
            nonlocal done
            done += 1
            if done < updates:
                show(epoch + done / updates, details)

        for row in epochs(record, pulse):
            record.record(row)
            epoch, details, done = row.epoch, headline(row, run.task), 0
            show(epoch, details)


def epochs(record: Recording, pulse: Callable[[], None] = lambda: None) -> Iterator[Epoch]:
    """Fit the model of a run and yield its epochs, as a replica with `batched`.

    If it cannot train as one, a note has the reason. `pulse` is called after each update.
    """
    run = record.run
    if run.config["batched"]:
        from attnexp.training.replicas.group import Replicas

        try:
            group = record.resume(lambda state: Replicas([run], [state] if state else []))
        except NotReplicableError as reason:
            record.notes.append(f"{ALONE}, because {reason}")
            console.warn(record.notes[-1])
        else:
            for row in group.fit_one():
                yield row
                record.after_update(partial(group.state, 0))
            return

    def after_update() -> None:
        record.after_update(alone.state)
        pulse()

    alone = record.resume(partial(Training, run))
    yield from alone.epochs(after_update)
