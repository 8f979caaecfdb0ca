"""The status of a run."""

from enum import StrEnum


class Status(StrEnum):
    """The status of a run, in the order in which tables list it.

    A run records that it is running, finished, failed or interrupted. SKIPPED is a job of a sweep
    that had finished before, NEW one that is to be run. DIED is a run that recorded no end and
    whose folder no process holds, UNREADABLE one whose summary cannot be read. `word` names the
    status in tables, `final` says that no process is to change it, `counts_in_means` that the
    metrics of the run are results.
    """

    word: str
    final: bool
    counts_in_means: bool

    FINISHED = "finished", "done", True, True
    SKIPPED = "skipped", "skipped", True, True
    RUNNING = "running", "running", False, False
    FAILED = "failed", "failed", True, False
    INTERRUPTED = "interrupted", "interrupted", True, False
    DIED = "died", "died", True, False
    UNREADABLE = "unreadable", "unreadable", True, False
    NEW = "new", "to do", False, False

    def __new__(cls, value: str, word: str, final: bool, counts_in_means: bool) -> "Status":
        status = str.__new__(cls, value)
        status._value_ = value
        status.word, status.final, status.counts_in_means = word, final, counts_in_means
        return status

    @property
    def is_repeated(self) -> bool:
        """Whether a run with this status is computed again if its command is given again."""
        return self.final and not self.counts_in_means

    @property
    def in_plan(self) -> str:
        """The word for a job that is planned."""
        return f"{self.word}, to do again" if self.is_repeated else self.word
