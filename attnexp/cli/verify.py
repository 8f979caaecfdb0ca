"""`attnexp verify`: repeats runs and compares all that tables and pictures read."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from attnexp.cli import arguments
from attnexp.cli.parser import Argument
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, shortened, writable
from attnexp.core.time_limit import time_limit
from attnexp.runs.settings import clean
from attnexp.runs.summary import ENDED, Summary, error_text

if TYPE_CHECKING:
    from attnexp.config.trust import Trust
    from attnexp.runs.folder import Run
    from attnexp.runs.origin.repeat import Repetition
    from attnexp.training.prepared_run import PreparedRun

EPILOG = """examples:
  attnexp verify outputs/RUN                 one run
  attnexp verify outputs --where "data=sine"  all finished runs on sine
  attnexp verify outputs/RUN --trust mine    a score or data set in your mine.py
  attnexp verify a.json --rows 5 --seed 2    five rows of a card
  attnexp verify outputs --format json       for programs
exit code: 0 if all are bit-identical or within tolerance, 1 if one is not
"""

BY_CLOCK = f"{ENDED}train.max_minutes"
"""The beginning of the note of a run that ended at its limit of minutes."""

UNVERIFIED = "not verified"
"""The outcome of a run that could not be repeated."""

MINUTES = 10.0
"""The minutes that all runs together may take by default."""

ROWS, SEED = 3, 1
"""By default, how many rows of a card are drawn, and the seed that draws them."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Which runs or rows are repeated, with which code and time, and how exactly they agree.

    Args:
        tolerance (SHARE): largest |a - b| / max(1, |a|) within tolerance (default 0.0001)
        minutes (M): for all runs together (default 10), or for each row of a card (that of
            its level)
    """

    where: arguments.Where = None
    tolerance: arguments.Number = 1e-4
    minutes: arguments.Number | None = None
    rows: Annotated[
        int | None,
        Argument(f"rows of a card that are made anew ({ROWS})", type=arguments.count, metavar="N"),
    ] = None
    seed: Annotated[
        int | None,
        Argument(f"the seed that draws these rows ({SEED})", type=arguments.limit, metavar="S"),
    ] = None
    trust: arguments.Trusted = ()
    config_dir: arguments.RunConfig = None


def main(
    paths: arguments.Paths,
    *,
    options: VerifyOptions,
    format: arguments.DataFormat = "table",
) -> None:
    """Repeat finished runs and compare the numbers.

    Raises RequestError for paths without finished runs and for a single run that cannot be built or
    names code that is not trusted, and RunFailedError if a run differs or is not verified.
    """
    cards = [path for path in paths if path.suffix == ".json" and not os.path.isdir(path)]
    _require_fit(paths, options, cards)
    is_read = format == "json"  # by a program, which takes nothing else
    with console.screen.aside(is_read):
        found = _verify_card(cards[0], options) if cards else _verify(paths, options)
    if is_read:
        sys.stdout.write(json.dumps({**found, "tolerance": options.tolerance}) + "\n")
    what = "rows" if cards else "runs"
    outcomes = [record["outcome"] for record in found[what]]
    counts = {
        "differ from what was stored": outcomes.count("different"),
        "could not be verified": outcomes.count(UNVERIFIED),
    }
    if said := [f"{n} of {len(outcomes)} {what} {how}" for how, n in counts.items() if n]:
        raise RunFailedError(", ".join(said))


def _require_fit(paths: Sequence[Path], options: VerifyOptions, cards: Sequence[Path]) -> None:
    """Raise RequestError for a card next to other paths, and for options that do not fit."""
    if not cards and (options.rows is not None or options.seed is not None):
        raise RequestError("--rows and --seed draw rows of a card: give a CARD.json")
    if cards and len(paths) > 1:
        raise RequestError(f"verify takes runs or one card, got {cards[0]} and others")
    if cards and options.trust:
        raise RequestError("--trust is for runs: --config-dir has the choices that a card names")
    if cards and options.where:
        raise RequestError("--where chooses runs, and this is a card: --rows and --seed draw rows")


def _verify(paths: Sequence[Path], options: VerifyOptions) -> dict[str, Any]:
    """Repeat the runs, print how the numbers of each compare, and return this for programs."""
    from attnexp.runs.origin.repeat import NOT_CHECKED
    from attnexp.select.selection import selected

    runs = [run for run in selected(paths, options.where) if run.finished]
    if not runs:
        raise RequestError("none of these runs has finished: there is nothing to verify")
    with console.status("loading PyTorch"):
        from attnexp.config.trust import read_trust
    trust = read_trust(options.trust, options.config_dir)
    minutes = MINUTES if options.minutes is None else options.minutes
    end = time.monotonic() + 60 * minutes
    concerned: dict[str, list[str]] = {}
    records = []
    for run in runs:
        try:
            left = end - time.monotonic()
            repetition = _repeated(run, trust, options.config_dir, options.tolerance, left)
        except RequestError as error:
            if len(runs) == 1:
                raise RequestError(str(error)) from error
            verdict, record = _unverified(str(error))
        except RunFailedError as error:
            verdict, record = _unverified(str(error))
        except (Exception, SystemExit) as error:  # a summary may ask for anything
            verdict, record = _unverified(shortened(error_text(error), 160))
        else:
            verdict, record = str(repetition), {**repetition.record(), "why": None}
            for sentence in repetition.surroundings:
                concerned.setdefault(sentence, []).append(run.path)
        console.screen.out.print(
            escape(f"{console.relative(run.folder)}: {verdict}"), soft_wrap=True
        )
        records.append({"run": clean(run.path), **record})
    for sentence, affected in concerned.items():
        of = "" if len(runs) == 1 else f" ({len(affected)} of {len(runs)} runs)"
        console.warn(f"{sentence}{of}")
    console.print_line(f"not checked: {NOT_CHECKED}")
    return {"runs": records, "not_checked": NOT_CHECKED}


def _verify_card(path: Path, options: VerifyOptions) -> dict[str, Any]:
    """Make rows of a card anew, print how their numbers compare, and return it for programs."""
    from attnexp.cards.again import drawn, made_again, surroundings
    from attnexp.cards.card_file import read_card
    from attnexp.cards.trial import MINUTES, read_tasks
    from attnexp.config.trust import read_trust

    card = read_card(path)
    read_trust(options.trust, options.config_dir)
    tasks = read_tasks(card.level, config_dir=options.config_dir)
    minutes = MINUTES[card.level] if options.minutes is None else options.minutes
    rows = drawn(card, options.rows or ROWS, SEED if options.seed is None else options.seed)
    if not rows:
        raise RequestError(f"{path} has no rows that can be made anew")
    records = []
    for trial, row in rows:
        with console.status(f"{trial.name}: {row.label}"):
            try:
                repetition = made_again(
                    card, (trial, row), tasks, minutes, options.config_dir, options.tolerance
                )
            except (RequestError, RunFailedError) as error:
                verdict, record = _unverified(str(error))
            else:
                verdict, record = str(repetition), {**repetition.record(), "why": None}
        place = f"{clean(trial.name)}, {clean(row.label)}"
        console.screen.out.print(escape(f"{place}: {clean(verdict)}"), soft_wrap=True)
        records.append({"trial": trial.name, "row": row.label, **record})
    told = surroundings(card)
    for sentence in told:
        console.warn(sentence)
    every = sum(len(trial.rows) for trial in card.trials)
    verified = sum(record["outcome"] != UNVERIFIED for record in records)
    left = f"{every - verified} of {every} rows, how values were tuned, times and memory"
    console.print_line(f"not checked: {left}")
    records = [{**record, "surroundings": told} for record in records]
    return {"rows": records, "not_checked": left}


def _unverified(why: str) -> tuple[str, dict[str, object]]:
    """Return the verdict on a run that could not be repeated, in words and for programs."""
    nothing = {"largest": None, "where": None, "surroundings": list[str]()}
    return f"{UNVERIFIED}: {why}", {"outcome": UNVERIFIED, **nothing, "why": why}


def _repeated(
    run: "Run", trust: "Trust", config_dir: Path | None, tolerance: float, seconds: float
) -> "Repetition":
    """Repeat a run within `seconds`, and compare the two.

    Raises RequestError if the run cannot be built, and RunFailedError if the repetition fails or
    takes longer.
    """
    from attnexp.config.restore import check_choices, rebuild
    from attnexp.runs.folder import load_run
    from attnexp.runs.origin.repeat import compare
    from attnexp.training.execute import execute

    check_choices(run.summary, run.folder, config_dir)
    needed = run.summary.seconds or 0.0
    if needed >= seconds:
        raise RunFailedError(
            f"it took {needed:.0f} seconds, and {max(seconds, 0):.0f} of --minutes are left"
        )
    with time_limit(seconds, "it takes longer than the rest of --minutes"):
        prepared = _limited(rebuild(run.summary, run.folder, trust), run.summary, seconds / 60)
        with writable("TMPDIR", os.environ.get("TMPDIR", "/tmp")):
            place = tempfile.TemporaryDirectory(prefix="attnexp-verify-")
        with place as folder:
            try:
                summary = execute(prepared, Path(folder))
            except (Exception, SystemExit) as error:
                raise RunFailedError(shortened(error_text(error), 160)) from error
            if any(note.startswith(BY_CLOCK) for note in summary.notes):
                raise RunFailedError("it takes longer than the rest of --minutes")
            repetition = compare(run, load_run(folder), tolerance)
            return repetition.of_changed(run.changed_files)


def _limited(prepared: "PreparedRun", summary: Summary, minutes: float) -> "PreparedRun":
    """Return a prepared run that ends after `minutes`.

    If the stored run was ended by its own limit of minutes, the repetition ends after the same
    number of updates. The schedule stays that of the planned updates.
    """
    settings = replace(prepared.settings, max_minutes=minutes)
    steps = summary.metrics.get("steps")
    if steps is None or not any(note.startswith(BY_CLOCK) for note in summary.notes):
        return replace(prepared, settings=settings)
    from attnexp.training.loop import planned_steps

    planned, taken = planned_steps(prepared.dataset, settings), round(steps)
    return replace(
        prepared,
        settings=replace(settings, max_steps=taken),
        schedule=lambda step, _: prepared.schedule(step, planned),
    )
