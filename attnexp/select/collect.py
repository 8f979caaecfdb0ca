"""Finds run folders and reads their summaries.

A folder that cannot be read is skipped with the reason. Needs neither pandas nor torch.
"""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from attnexp.core.console import count_text, relative
from attnexp.core.errors import RequestError
from attnexp.runs import files
from attnexp.runs.folder import Run
from attnexp.runs.key import RESULTS_VERSION
from attnexp.runs.lock import is_held
from attnexp.runs.settings import clean
from attnexp.runs.summary import NoSummaryError, read_summary

OUTPUTS = "outputs"
"""The default folder of runs."""

CARDS, CLAIMS = (os.path.join(OUTPUTS, name) for name in ("cards", "claims"))
"""The folders of the runs of cards and of claims."""

CHAPTERS = Path(__file__).resolve().parents[1] / "course" / "chapters"
"""The folder of the chapters of the course. The runs of a chapter are in OUTPUTS, by its name."""

BEGUN = "attnexp.log"
"""The file that marks a run folder before its summary is written."""


@dataclass
class Collected:
    """The runs below some folders, in order of path, and why other folders were skipped.

    `begun` are folders of running processes that have no summary yet. `others` are runs of other
    results versions, which are not compared with `runs`. `of_studies` counts the runs of cards,
    claims and chapters that were left out, by folder.
    """

    runs: list[Run] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    others: list[Run] = field(default_factory=list)
    of_studies: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_out(self) -> list[str]:
        """Why folders were skipped, and sentences on runs that were left out."""
        return [*self.skipped, *self.of_other_versions, *self.apart("results")]

    def apart(self, verb: str) -> list[str]:
        """Return sentences on the runs of each card, claim and chapter that a verb leaves out."""
        return [
            f"{count_text(number, 'run')} below {folder} {'is' if number == 1 else 'are'} left "
            f"out: attnexp {verb} {folder}"
            for folder, number in self.of_studies.items()
        ]

    @property
    def of_other_versions(self) -> list[str]:
        """A sentence on the runs of each other results version."""
        made_by: dict[int | None, list[Run]] = {}
        for run in self.others:
            made_by.setdefault(run.summary.results_version, []).append(run)
        return [
            f"{count_text(len(runs), 'run')} of {runs[0].summary.made_by}: not compared; "
            f"`attnexp results{folder_words(runs)} --results-version {version or 0}` shows "
            f"{'them' if len(runs) > 1 else 'it'}"
            for version, runs in made_by.items()
        ]


def folder_words(runs: Iterable[Run]) -> str:
    """Return the folders of runs as arguments of a command, empty for the default, `outputs`."""
    found = sorted({relative(Path(run.path).parent) for run in runs})
    return "" if found == ["outputs"] else "".join(f" {shlex.quote(each)}" for each in found)


def collect_asked(paths: Sequence[str | Path], version: int = RESULTS_VERSION) -> Collected:
    """Read every run at or below the paths as `collect` does, by default those below `outputs`.

    By default the runs of cards, claims and chapters are left out, as they belong to other
    comparisons than the user's.
    """
    if paths:
        return collect(paths, version)
    found = collect([OUTPUTS], version)
    chapters = (os.path.join(OUTPUTS, path.stem) for path in CHAPTERS.glob("*.yaml"))
    studies = {CARDS, CLAIMS, *chapters}
    places = [os.path.join(*Path(run.path).parts[:2]) for run in found.runs]
    return replace(
        found,
        runs=[run for run, at in zip(found.runs, places, strict=True) if at not in studies],
        of_studies=Counter(at for at in places if at in studies),
    )


def collect(roots: Iterable[str | Path], version: int = RESULTS_VERSION) -> Collected:
    """Read every run at or below the folders; a run that is found twice counts once.

    Runs of other results versions are `others`; runs without a version have 0. Imported runs are
    compared with runs of every version.

    Raises RequestError for a path that is not a folder.
    """
    runs: dict[str, Run] = {}
    skipped: dict[str, None] = {}
    begun: dict[str, None] = {}
    for root in map(os.fspath, map(Path, roots)):
        if not os.path.isdir(root):
            there = "is not a folder" if os.path.exists(root) else "is not there"
            around, wanted = (
                os.path.dirname(root) or os.curdir,
                "the folder of a run, or one of runs",
            )
            if os.path.isfile(os.path.join(around, files.SUMMARY)):
                wanted = f"{around}, which is itself a run, or another folder"
            raise RequestError(f"{root} {there}: give {wanted}")
        real = os.path.realpath(root)
        for run in _below(root, skipped, begun):
            runs.setdefault(real + run.path.removeprefix(root), run)
    found: dict[bool, list[Run]] = {True: [], False: []}
    for run in runs.values():
        found[run.summary.is_of(version)].append(run)
    return Collected(found[True], [*skipped], [*begun], found[False])


def _below(root: str, skipped: dict[str, None], begun: dict[str, None]) -> Iterator[Run]:
    """Yield the runs at or below `root`, in order of path.

    Hidden folders, links and folders inside a run are not searched. Folders that cannot be opened
    add a sentence to `skipped`, and so do runs without a summary; if a process still holds the run,
    the path is added to `begun` instead.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            yield Run(folder, read_summary(folder))
            continue
        except NoSummaryError:
            pass
        except files.UnreadableRunError as error:
            skipped[clean(str(error))] = None
            continue
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            skipped[clean(f"{folder} cannot be opened: {error.strerror}")] = None
            continue
        if any(entry.name == BEGUN for entry in inside):
            if is_held(Path(folder)):
                begun[os.path.realpath(folder)] = None
                continue
            skipped[clean(f"{folder} holds no {files.SUMMARY} yet, or never will")] = None
            continue
        waiting += [
            entry.path
            for entry in inside
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]
