"""The jobs of a group in a worker process: they train as replicas, each in a folder of its own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from attnexp.config.job import Job, Surroundings, at_work, finished_before, record_composition
from attnexp.runs import lock
from attnexp.sweeps.job_at_work import Report, build, outcome_of, output_to_log
from attnexp.sweeps.outcome import Outcome
from attnexp.training.base import Epoch
from attnexp.training.prepared import PreparedRun
from attnexp.training.replicas import NotReplicableError, Replicas, likeness
from attnexp.training.run import ALONE, Recording, execute


def run_group(jobs: Mapping[int, Job], report: Report) -> None:
    """Run jobs in their folders, and report the outcome of each by its number.

    Those that are alike train together. One that ends, early or not, does not affect the others.
    """
    with ExitStack() as locks:
        members = [Member(number, job, report, locks) for number, job in jobs.items()]
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

    def __init__(self, number: int, job: Job, report: Report, locks: ExitStack) -> None:
        self.job = job
        self.ended = False
        self.run: PreparedRun | None = None
        self._number = number
        self._report = report
        self._lock = locks.enter_context(ExitStack())
        self._record: Recording | None = None
        self._place = Surroundings(job)

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
        except Exception as error:
            self._close(outcome_of(error))

    def begin(self) -> None:
        """Write that the run has begun."""
        assert self.run is not None
        with self._surroundings():
            self._record = Recording(self.run, self.job.folder)
            self._record.begin()

    def see(self, event: Epoch | Exception | None) -> None:
        """Record an epoch, or the end of training."""
        assert self._record is not None
        if isinstance(event, Exception):
            raise event
        if event is not None and not self._record.is_due(event):
            self._record.see(event)
            return
        with self._surroundings():
            if event is not None:
                self._record.see(event)
                return
            self._record.finish()
            self._record.close()
        self._close(Outcome("done"))

    def end(self, error: BaseException) -> None:
        """Record what ended the run early."""
        try:
            if self._record is not None:
                with self._surroundings():
                    self._record.end_early(error)
        finally:
            self._close(outcome_of(error))

    def run_alone(self) -> None:
        """Run the job by itself, as the only one of a group."""
        began, run, self._record = self._record is not None, self.run, None
        assert run is not None
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
        self.run = self._record = None
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
            kind: object = member if member.job.config.hydra.callbacks else likeness(member.run)
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
    replicas = Replicas([member.run for member in members if member.run is not None])
    for number, member in enumerate(members):
        with _ending(replicas, number, member):
            member.begin()
    for number, event in replicas.fit():
        with _ending(replicas, number, members[number]):
            members[number].see(event)


@contextmanager
def _ending(replicas: Replicas, number: int, member: Member) -> Iterator[None]:
    """Let an error within the block end the member alone."""
    try:
        yield
    except Exception as error:
        replicas.leave(number)
        member.end(error)
