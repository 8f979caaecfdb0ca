"""The jobs of a group in a worker process, which train as replicas, each in its own folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from attnexp.config.job import Job, JobContext, finished_before, run_in_context, set_folder
from attnexp.runs import lock
from attnexp.runs.run_status import Status
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.run_job import Report, build, build_and_train, outcome_of, output_to_log
from attnexp.training.base import Epoch, NotReplicableError
from attnexp.training.execute import ALONE, as_replica, trained_again
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record.recording import Recording
from attnexp.training.replicas.group import Replicas
from attnexp.training.replicas.structure import structure
from attnexp.training.state import State, restored_on_error
from attnexp.training.stop import Stop


def run_group(jobs: Mapping[int, Job], report: Report) -> None:
    """Run jobs in their folders, and report the outcome of each by its number.

    Jobs with the same structure train together. A job that ends, early or not, does not affect the
    others.
    """
    stop = Stop()
    with ExitStack() as locks, stop.handling_signals():
        members = [Member(number, job, report, locks, stop) for number, job in jobs.items()]
        try:
            for member in members:
                member.open()
            for group in groups_of([member for member in members if not member.ended]):
                run_together(group)
        except BaseException as error:
            for member in members:
                if not member.ended:
                    member.end(error)


class Member:
    """A job of a group: its run, its lock, and its record."""

    def __init__(self, number: int, job: Job, report: Report, locks: ExitStack, stop: Stop) -> None:
        self.job = job
        self.stop = stop
        self.ended = False
        self.run: PreparedRun | None = None
        self._number = number
        self._report = report
        self._lock = locks.enter_context(ExitStack())
        self.record: Recording | None = None
        self._began = False
        self._context = JobContext(job)

    @property
    def updates(self) -> int:
        """The updates in the checkpoint of an earlier attempt."""
        checkpoint = None if self.record is None else self.record.checkpoint
        return 0 if checkpoint is None else checkpoint.step

    @property
    def trains_again(self) -> bool:
        """Whether the checkpoint of an earlier attempt is of the training of `trained_again`."""
        checkpoint = None if self.record is None else self.record.checkpoint
        return checkpoint is not None and checkpoint.second is not None

    def open(self) -> None:
        """Lock the folder and build the run, unless it has finished or another process runs it."""
        try:
            self._lock.enter_context(lock.hold(self.job.folder))
            if finished_before(self.job.refreshed()) is not None:
                self._close(JobOutcome(Status.SKIPPED))
                return
            set_folder(self.job)
            with self._surroundings():
                self.run = build(self.job)
                self.record = Recording(self.run, self.job.folder, self.stop)
                self.record.load_checkpoint()
        except (Exception, SystemExit) as error:
            self._close(outcome_of(error))

    def begin(self) -> None:
        """Write that the run has begun."""
        assert self.record is not None
        self._began = True
        with self._surroundings():
            self.record.begin()
            self.record.begin_training()

    def record_event(self, event: Epoch | Exception | None, state: Callable[[], State]) -> None:
        """Record an epoch, or for None the end of training. Raises `event` if it is an error.

        `state` returns the state of training for a checkpoint.
        """
        assert self.record is not None
        if isinstance(event, Exception):
            raise event
        if event is None:
            with self._surroundings():
                for row in trained_again(self.record, as_replica):
                    self.record.record(row)
                self.record.finish(draws=self.job.settings["figures"] is True)
            self._close(JobOutcome(Status.FINISHED))
            return
        self.record.record(event)
        self.record.save_if_due(state)

    def end(self, error: BaseException) -> None:
        """Record the error that ended the run early."""
        try:
            if self.record is not None and self._began:
                with self._surroundings():
                    self.record.end_early(error)
        except lock.TakenOverError as taken:
            error = taken
        finally:
            self._close(outcome_of(error))

    def run_alone(self) -> None:
        """Run the job by itself, as the only one of a group."""
        run = None if self._began else self.run
        self.record, self._began = None, False
        try:
            with output_to_log(self.job):
                summary = run_in_context(self.job, partial(build_and_train, self.job, run))
        except (Exception, SystemExit) as error:
            self._close(outcome_of(error))
            return
        warning = next((note for note in summary.notes if note.startswith(ALONE)), None)
        self._close(JobOutcome(Status.FINISHED, warning=warning))

    def _close(self, outcome: JobOutcome) -> None:
        self.ended = True
        self.run = self.record = None
        self._context.close()
        self._lock.close()
        self._report(self._number, outcome)

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        with output_to_log(self.job), self._context.entered():
            yield


def groups_of(members: Sequence[Member]) -> list[list[Member]]:
    """Return groups of members that can train together; other members are groups of one."""
    groups: dict[object, list[Member]] = {}
    for member in members:
        assert member.run is not None
        kind: object = member
        with suppress(NotReplicableError):
            if not member.trains_again:
                kind = (structure(member.run), member.updates)
        groups.setdefault(kind, []).append(member)
    return list(groups.values())


def run_together(members: Sequence[Member]) -> None:
    """Train members together; if that fails, run each of them alone.

    Results of a replica do not depend on its group, bit for bit.
    """
    if len(members) > 1:
        with suppress(Exception, SystemExit):  # the run that is at fault fails alone
            train_together(members)
    for member in members:
        if not member.ended:
            member.run_alone()


def train_together(members: Sequence[Member]) -> None:
    """Train members as replicas. Raises errors of the group, such as NotReplicableError."""
    runs = [member.run for member in members if member.run is not None]
    checkpoints = [member.record.checkpoint for member in members if member.record is not None]
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(restored_on_error(run.model, run.order))
        replicas = Replicas(runs, [each.training for each in checkpoints if each is not None])
    for number, member in enumerate(members):
        with _ending(replicas, number, member):
            member.begin()
    stop = members[0].stop
    with stop.deferred():
        for number, event in replicas.fit(before_epoch=stop.raise_if_requested):
            with _ending(replicas, number, members[number]):
                members[number].record_event(event, partial(replicas.state, number))


@contextmanager
def _ending(replicas: Replicas, number: int, member: Member) -> Iterator[None]:
    """Let an error in the block end this member only."""
    try:
        yield
    except (Exception, SystemExit) as error:
        replicas.drop(number)
        member.end(error)
