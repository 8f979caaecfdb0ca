"""The folder of a run, its key, and the state of the run in it: has it finished before?"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attnexp.core.errors import RequestError, shortened_value
from attnexp.runs import files, lock
from attnexp.runs.files import FIGURES, SUMMARY, WRITTEN, UnreadableRunError, finite
from attnexp.runs.key import RESULTS_VERSION, identity
from attnexp.runs.run_status import Status
from attnexp.runs.settings import leaves
from attnexp.runs.summary import Summary, read_summary
from attnexp.runs.user_code import changed_modules

Stamp = tuple[int, ...] | None
"""Numbers that change whenever a summary is written, empty if there is no summary yet."""

SHOWN = 80
"""The most characters of the command of a run that a message shows."""


@dataclass(frozen=True)
class Found:
    """The state of a run in a folder. `summary` is set if it could be read."""

    status: Status = Status.NEW
    error: str | None = None
    summary: Summary | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the run has finished, or has diverged, which counts as the worst value."""
        return self.status.counts_in_means or (self.summary is not None and self.summary.diverged)


class OccupiedError(RequestError):
    """The folder holds something that a run must not overwrite, such as another run."""


@dataclass(frozen=True)
class Place:
    """The folder of a run, the run's key, and the state of the folder at the last look.

    A place is made once, when the job is composed, and read once more under the lock. `code` is the
    user's code that the key covers.
    """

    folder: Path
    key: str
    code: Mapping[str, str] = field(default_factory=dict)
    found: Found = Found()

    def first_found(self, settings: Mapping[str, Any]) -> "Place":
        """Return the place with the state of the folder, when the job is composed.

        Raises OccupiedError as `refreshed` does, and for a folder inside that of a run.
        """
        require_no_run_around(self.folder)
        return self.refreshed(settings)

    def refreshed(self, settings: Mapping[str, Any]) -> "Place":
        """Return the place with the present state of its folder.

        `settings` are the run's settings, resolved.

        Raises OccupiedError if the run would overwrite one of these:

        - files of a run without a summary, or a summary that cannot be read;
        - another run, or a run of another results version, unless `rerun` is set.

        A folder whose name holds the key is certain to be the run's own: unreadable content and
        other results versions raise no error there.
        """
        return replace(self, found=self._find(settings))

    def _find(self, settings: Mapping[str, Any]) -> Found:
        folder = self.folder
        named_by_key = self.key in folder.name
        if not stamp(folder):
            if not named_by_key and os.path.isdir(folder):
                _require_free(folder)
            return Found()
        try:
            summary = read_summary(folder)
        except UnreadableRunError as error:
            if named_by_key:
                return Found(Status.UNREADABLE, str(error))
            raise OccupiedError(f"{error}: move the file away, or choose another folder") from error
        version = summary.results_version
        if summary.key == self.key and version == RESULTS_VERSION:
            return Found(status_of(folder, summary.status), summary.error, summary)
        if settings.get("rerun") or (named_by_key and version != RESULTS_VERSION):
            return Found()
        if version != RESULTS_VERSION:
            raise OccupiedError(
                f"{folder} holds a run with version {version or 'none'} of the results, and this "
                f"attnexp has version {RESULTS_VERSION}: move it away, or overwrite it with "
                "rerun=true"
            )
        raise OccupiedError(
            f"{folder} holds a run with another {self._difference(summary, settings)}: move it "
            "away, or overwrite it with rerun=true"
        )

    def _difference(self, stored: Summary, asked: Mapping[str, Any]) -> str:
        """Return, as a noun phrase, what differs between a stored run and a configuration.

        Their keys differ. The difference is the first setting that is not the same, else the
        modules of the user's code that are not. A setting that is recorded by the name of an
        environment variable is not compared; if nothing else differs, such a variable must.
        """
        old, new = (dict(leaves(finite(identity(each)))) for each in (stored.config, asked))
        for name in dict.fromkeys([*new, *old]):
            if old.get(name, old) != new.get(name, new) and "${oc.env:" not in str(old.get(name)):
                there = repr(old[name]) if name in old else "not set"
                here = repr(new[name]) if name in new else "not set"
                return f"configuration ({name} is {there} there, and {here} here)"
        if modules := changed_modules(stored.code, self.code):
            return f"version of your code (in {', '.join(modules)})"
        return "value of an environment variable"


def status_of(folder: Path | str, recorded: Status) -> Status:
    """Return the status of the run in a folder, given the status that its summary records.

    A run that is recorded as running, and whose folder no process holds, has died.
    """
    if recorded is not Status.RUNNING or lock.is_held(Path(folder)):
        return recorded
    return Status.DIED


def require_no_run_around(folder: Path) -> None:
    """Raise OccupiedError for a folder inside that of a run, where no command would find runs."""
    for parent in folder.absolute().parents:
        if stamp(parent):
            with suppress(UnreadableRunError):
                command = read_summary(parent).command
                made = f", made by `{shortened_value(command, SHOWN)}`" if command else ""
                raise OccupiedError(
                    f"{folder} would lie inside the run {parent}{made}: {_way_out(parent)}"
                )


def _way_out(run: Path) -> str:
    if Path.cwd().is_relative_to(run):
        return "work in another folder, or move the files of this run to one of their own"
    return "choose another output_dir"


def _require_free(folder: Path) -> None:
    """Raise OccupiedError if a folder without a summary holds files that a run would overwrite.

    Such files are those of a run, files in the place of its lock, and the folders of other runs.
    """
    for name in (*WRITTEN, FIGURES):
        if os.path.lexists(folder / name):
            raise OccupiedError(
                f"{folder} holds {name}, but no {SUMMARY} of a run: a run would overwrite it; "
                "choose another folder"
            )
    if foreign := lock.foreign(folder):
        raise OccupiedError(
            f"{folder} holds a file {foreign} that attnexp has not written, and a run would "
            "overwrite it; choose another folder"
        )
    if inside := next(folder.glob(f"*/{SUMMARY}"), None):
        raise OccupiedError(
            f"{folder} holds the run {inside.parent.name}: a run cannot contain others; choose "
            "another folder"
        )


def stamp(folder: Path) -> Stamp:
    """Return the stamp of the summary in a folder."""
    return files.stamp(folder / SUMMARY)
