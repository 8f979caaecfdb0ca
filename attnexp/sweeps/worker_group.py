"""The jobs of a group in a worker process: they train as replicas, each in a folder of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from attnexp.config.job import Job, Surroundings, at_work, finished_before, record_composition
from attnexp.runs import lock
from attnexp.runs.stop import Stop
from attnexp.sweeps.job_at_work import Report, build, outcome_of, output_to_log
from attnexp.sweeps.outcome import Outcome
from attnexp.training.base import Epoch
from attnexp.training.prepared import PreparedRun
from attnexp.training.recording import Recording
from attnexp.training.replicas import NotReplicableError, Replicas, likeness
from attnexp.training.run import ALONE, execute
from attnexp.training.state import State, whole_or_not_at_all


def run_group(jobs: Mapping[int, Job], report: Report) -> None:
    """Run jobs in their folders, and report the outcome of each by its number.

    Those that are alike train together. One that ends, early or not, does not affect the others.
    """
    stop = Stop()
    with ExitStack() as locks, stop.heard():
        members = [Member(number, job, report, locks, stop) for number, job in jobs.items()]
        try:
            for member in members:
                member.open()
            for group in alike([member for member in members if not member.ended]):
                run_alike(group)
        except BaseException as error:
            for member in members:
                if not member.ended:
                    member.end(error)


class Member:
    """A job of a group: its run, its lock, and what it writes."""

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
        self._place = Surroundings(job)

    @property
    def updates(self) -> int:
        """The updates after which an earlier attempt left the training."""
        left = None if self.record is None else self.record.left
        return 0 if left is None else left["step"]

    def open(self) -> None:
        """Lock the folder and build the run, unless it has finished or another process runs it."""
        try:
            self._lock.enter_context(lock.hold(self.job.folder))
            if finished_before(self.job) is not None:
                self._close(Outcome("skipped"))
                return
            record_composition(self.job)
            with self._surroundings():
                self.run = build(self.job)
                self.record = Recording(self.run, self.job.folder, self.stop)
                self.record.look()
        except Exception as error:
            self._close(outcome_of(error))

    def begin(self) -> None:
        """Write that the run has begun."""
        assert self.record is not None
        self._began = True
        with self._surroundings():
            self.record.begin()

    def see(self, event: Epoch | Exception | None, state: Callable[[], State]) -> None:
        """Record an epoch, or the end of training, whose state `state` returns."""
        assert self.record is not None
        if isinstance(event, Exception):
            raise event
        if event is not None and not self.record.is_due(event):
            self.record.see(event)
            self.record.keep_if_due(state)
            return
        with self._surroundings():
            if event is not None:
                self.record.see(event)
                self.record.keep_if_due(state)
                return
            self.record.finish()
            self.record.close()
        self._close(Outcome("done"))

    def end(self, error: BaseException) -> None:
        """Record what ended the run early."""
        try:
            if self.record is not None and self._began:
                with self._surroundings():
                    self.record.end_early(error)
        finally:
            self._close(outcome_of(error))

    def run_alone(self) -> None:
        """Run the job by itself, as the only one of a group."""
        began, run = self._began, self.run
        assert run is not None
        self.record, self._began = None, False
        try:
            with output_to_log(self.job):
                summary = at_work(
                    self.job,
                    lambda: execute(build(self.job) if began else run, self.job.folder),
                )
        except (Exception, SystemExit) as error:
            self._close(outcome_of(error))
        else:
            remark = next((note for note in summary.notes if note.startswith(ALONE)), None)
            self._close(Outcome("done", remark=remark))

    def _close(self, outcome: Outcome) -> None:
        self.ended = True
        self.run = self.record = None
        self._lock.close()
        self._report(self._number, outcome)

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        with output_to_log(self.job), self._place.entered():
            yield


def alike(members: Sequence[Member]) -> list[list[Member]]:
    """Return the members in groups that can train together; one that cannot is a group of one.

    Hydra's callbacks surround one job, so a job that has some is one, too.
    """
    groups: dict[object, list[Member]] = {}
    for member in members:
        assert member.run is not None
        try:
            kind: object = (
                member
                if member.job.config.hydra.callbacks
                else (likeness(member.run), member.updates)
            )
        except NotReplicableError:
            kind = member
        groups.setdefault(kind, []).append(member)
    return list(groups.values())


def run_alike(members: Sequence[Member]) -> None:
    """Train members together; where that fails, run each of them alone.

    The bits of a replica do not depend on its group, so nothing changes for those that can train.
    """
    if len(members) > 1:
        with suppress(Exception, SystemExit):  # whoever is at fault shows when alone
            train_together(members)
    for member in members:
        if not member.ended:
            member.run_alone()


def train_together(members: Sequence[Member]) -> None:
    """Train members as replicas. Raises what ends the group, such as NotReplicableError."""
    runs = [member.run for member in members if member.run is not None]
    left = [member.record.left for member in members if member.record is not None]
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(whole_or_not_at_all(run.model, run.order))
        replicas = Replicas(runs, [state for state in left if state is not None])
    for number, member in enumerate(members):
        with _ending(replicas, number, member):
            member.begin()
    stop = members[0].stop
    with stop.awaited():
        for number, event in replicas.fit(before_epoch=stop.obey):
            with _ending(replicas, number, members[number]):
                members[number].see(event, partial(replicas.state, number))


@contextmanager
def _ending(replicas: Replicas, number: int, member: Member) -> Iterator[None]:
    """Let an error within the block end the member alone."""
    try:
        yield
    except Exception as error:
        replicas.leave(number)
        member.end(error)
