"""A run from its first file to its last: train, evaluate, record."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attnexp.core import console
from attnexp.runs.summary import Summary
from attnexp.training.base import Epoch, NotReplicableError, TrainingDivergedError
from attnexp.training.loop import Training
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record.measures import headline
from attnexp.training.record.recording import Recording
from attnexp.training.second_start import SecondStart
from attnexp.training.state import State
from attnexp.training.stop import Stop
from attnexp.training.width_check import check_width, keep_better, started_again

Way = Callable[[Recording, PreparedRun, State | None], Iterator[Epoch]]
"""A way to train: returns the epochs of a run, from a state of its training or from the start."""

ALONE = "batched=true, but this run was trained by itself"
"""The beginning of the note of a run that cannot train as a replica."""


def execute(run: PreparedRun, folder: Path, draws: bool = False) -> Summary:
    """Train, evaluate and record a run in its folder, and return its summary.

    With `draws` the pictures of the run are drawn too. A failure of drawing adds a note and does
    not end the run.

    An error that ends the run early is written into the summary and the log, and raised again.
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
    """Train the model of a run, record each epoch and show the progress."""
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
    """Train the model of a run and yield its epochs, of a second start too.

    A run with `batched` trains as a replica. If that is not possible, the run trains by itself, and
    a note has the reason. `pulse` is called after each update of a run by itself.
    """
    way = partial(_alone, pulse=pulse)
    if record.run.config["batched"]:
        try:
            rows = record.resume(partial(_either_time, record, as_replica))
        except NotReplicableError as reason:
            record.notes.append(f"{ALONE}, because {reason}")
            console.warn(record.notes[-1])
        else:
            yield from rows
            yield from trained_again(record, as_replica)
            return
    yield from record.resume(partial(_either_time, record, way))
    yield from trained_again(record, way)


def trained_again(record: Recording, way: Way) -> Iterator[Epoch]:
    """Check the learned width of a run that has trained, and train again from a better one.

    Yields the epochs of the second training. The model keeps the state at the second start or at
    its end, whichever has the lower error.
    """
    run, last = record.run, record.last_row
    second = None if record.checkpoint is None else record.checkpoint.second
    if second is None:
        check = None if last is None else check_width(run, last)
        if not isinstance(check, SecondStart):
            record.width_check = check
            return
        second = check
        try:
            yield from way(record, started_again(run, second), None)
        except TrainingDivergedError:
            run.model.load_state_dict(second.model)
    record.width_check = keep_better(run, second)


def _either_time(record: Recording, way: Way, state: State | None) -> Iterator[Epoch]:
    """Return the epochs of a training that begins, or goes on before or after a second start."""
    second = None if state is None else SecondStart.of(state)
    run = record.run if second is None else started_again(record.run, second)
    return way(record, run, state)


def as_replica(record: Recording, run: PreparedRun, state: State | None) -> Iterator[Epoch]:
    """Yield the epochs of a run as the only replica of a group."""
    from attnexp.training.replicas.group import Replicas

    group = Replicas([run], [] if state is None else [state])

    def rows() -> Iterator[Epoch]:
        for row in group.fit_one():
            yield row
            record.after_update(partial(group.state, 0))

    return rows()


def _alone(
    record: Recording, run: PreparedRun, state: State | None, pulse: Callable[[], None]
) -> Iterator[Epoch]:
    training = Training(run, state)

    def after_update() -> None:
        record.after_update(training.state)
        pulse()

    return training.epochs(after_update)
