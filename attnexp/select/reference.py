"""The words for a run on the command line: a path, `last`, a number, or the beginning of a name."""

import os
from collections.abc import Sequence

from attnexp.core.errors import RequestError, choices_text, nearest_text, with_choices
from attnexp.runs.folder import Run
from attnexp.select.collect import OUTPUTS, collect_asked

LAST = "last"

NAMING = "give a folder, the beginning of its name, a number from `attnexp results --runs`, or last"


def path_of(word: str) -> str:
    """Return the path of the run that a word names.

    The word is a path, or names a run below `outputs`: `last`, a number that `attnexp results
    --runs` shows, or the beginning of the folder's name or of the run's key. Without that folder,
    the word is a path. Runs of other results versions have no number.

    Raises RequestError if no run or several begin with the word.
    """
    if os.path.lexists(word) or not word or os.sep in word or not os.path.isdir(OUTPUTS):
        return word
    collected = collect_asked(())
    runs = numbered(collected.runs)
    if word == LAST and runs:
        return runs[-1].path
    if word.isdecimal() and 1 <= int(word) <= len(runs):
        return runs[int(word) - 1].path
    found = [run for run in (*runs, *collected.others) if _begins(run, word)]
    if len(found) == 1:
        return found[0].path
    if found:
        names = choices_text(run.folder.name for run in found)
        raise RequestError(f"'{word}' is the beginning of {len(found)} runs: {names}")
    sentence = f"'{word}' is neither a folder nor a run below {OUTPUTS}"
    if apart := sorted(collected.of_studies):
        sentence += f"; those below {' and '.join(apart)} are left out, and named as {apart[0]}/RUN"
    nearest = nearest_text(word, [run.folder.name for run in runs])
    raise RequestError(with_choices(sentence, nearest, NAMING).removesuffix("."))


def numbered(runs: Sequence[Run]) -> list[Run]:
    """Return runs in order of their start: the number of a run is its place."""
    return sorted(runs, key=lambda run: (run.summary.started or "", run.path))


def _begins(run: Run, word: str) -> bool:
    return run.folder.name.startswith(word) or (run.summary.key or "").startswith(word)
