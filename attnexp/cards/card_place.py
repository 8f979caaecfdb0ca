"""Where a card is written. An existing card keeps its trials."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from attnexp.cards.card_file import Card, read_card, write_card
from attnexp.cards.lines import FOLDER
from attnexp.core.errors import RequestError, RunFailedError, refusal
from attnexp.runs.files import require_output, write_bytes
from attnexp.runs.key import RESULTS_VERSION

INTO, OUTPUT, RUNS = "--into", "--output", FOLDER.parts[0]


@dataclass(frozen=True)
class CardPlace:
    """The files of a card: JSON at `path`, and an HTML page next to it.

    `option` is the option of the command line that gave the path, empty for the default path.
    """

    path: Path
    option: str = ""

    @property
    def page(self) -> Path:
        """The file of the page."""
        return self.path.with_suffix(".html")

    def stored(self) -> Card | None:
        """Return the stored card, None if there is none.

        Raises RequestError for a file that is not a card, and for a page without its card.
        """
        if os.path.exists(self.path):
            return read_card(self.path)
        if os.path.exists(self.page):
            raise RequestError(
                f"{self.page} is there without {self.path.name}, and a new page would replace it: "
                f"name another with {OUTPUT}, or move it away"
            )
        return None

    def require_writable(self) -> None:
        """Raise RequestError if the card or the runs could not be written; change nothing."""
        named = self.option or RUNS
        for option, path in ((named, self.page), (named, self.path), (RUNS, FOLDER / ".runs")):
            folder = next(parent for parent in path.parents if os.path.lexists(parent))
            require_output(option, folder / path.name)

    def require_addable(
        self,
        there: Card,
        level: str,
        seeds: int,
        rows: Sequence[tuple[str, tuple[str, ...]]],
        trials: Collection[str],
    ) -> None:
        """Raise RequestError unless a card with these trials can be added to the card `there`.

        Both must have the same results version, level, seeds and rows, by label and settings.
        Without `--into`, a card with more seeds replaces a card all of whose trials it has.
        """
        replaced = self.option != INTO and {trial.name for trial in there.trials} <= {*trials}
        if there.results_version != RESULTS_VERSION:
            version = there.results_version
            raise self._refused(f"has results version {version}, and this is {RESULTS_VERSION}")
        if level != there.level:
            raise self._refused(f"has level {there.level}, and {level} is asked for")
        if seeds != there.seeds and not (replaced and seeds > there.seeds):
            raise self._refused(f"has seeds {there.seeds}, and {seeds} are asked for")
        for trial in there.trials:
            if [(row.label, tuple(row.words)) for row in trial.rows] != [*rows]:
                own = ", ".join(row.label for row in trial.rows)
                other = ", ".join(label for label, _ in rows)
                raise self._refused(f"has the rows {own}, and {other} are asked for")

    def _refused(self, why: str) -> RequestError:
        if self.option == INTO:
            return RequestError(f"{INTO}: {self.path} {why}")
        return RequestError(f"{self.path} {why}: name another page with {OUTPUT}, or use {INTO}")

    def add(self, card: Card, page: Callable[[Card], bytes]) -> Card:
        """Add a card to the stored one, write the whole and its page, and return the whole.

        Raises RequestError as `require_addable`, and RunFailedError if a file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(self.path):
                there = self.stored()
                if there is not None and card.trials:
                    rows = [(row.label, tuple(row.words)) for row in card.trials[0].rows]
                    names = [trial.name for trial in card.trials]
                    self.require_addable(there, card.level, card.seeds, rows, names)
                whole = card if there is None else extended(there, card)
                write_card(self.path, whole)
                write_bytes(self.page, page(whole))
        except OSError as error:
            raise RunFailedError(
                f"{error.filename or self.path} cannot be written: {refusal(error)}; the runs are "
                "kept, and the same command goes on"
            ) from error
        return whole


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock the place of a card against other processes during a block."""
    from filelock import FileLock  # tables of cards do without it

    lock = path.with_name(f".{path.name}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no file that is open, and filelock does then
                lock.unlink()


def extended(card: Card, more: Card) -> Card:
    """Return a card with the trials of two; for a trial in both, that of `more`.

    The date and the versions are those of `more`, unless `more` has no trial.
    """
    trials = {trial.name: trial for trial in [*card.trials, *more.trials]}
    if len(trials) == len(more.trials):
        return more
    if not more.trials:
        return card
    return msgspec.structs.replace(
        more,
        wall_minutes=round(card.wall_minutes + more.wall_minutes, 2),
        trials=list(trials.values()),
    )
