"""The runs that a command line names."""

from collections.abc import Sequence

from attnexp import console
from attnexp.cli.results import tell_skipped
from attnexp.errors import RequestError, shortened
from attnexp.plots.lines import fitted_curve, has_fit, responses
from attnexp.runs.collection import collect
from attnexp.runs.run import Run


def selected(paths: Sequence[str], where: str | None) -> list[Run]:
    """The runs at or below the paths, `outputs` where there are none, that fit the test `where`.

    Says which folders could not be read. Raises RequestError for paths without runs, and for a test
    that makes no sense or that no run passes.
    """
    places = list(paths) or ["outputs"]
    collected = collect(places)
    tell_skipped(collected.skipped)
    if not collected.runs:
        raise RequestError(f"there are no runs below {', '.join(places)}")
    if where is None:
        return collected.runs
    from attnexp.runs.filter import matching
    from attnexp.runs.frame import make_frame

    fits = matching(make_frame(collected.runs), where)
    found = [run for run, fit in zip(collected.runs, fits, strict=True) if fit]
    if not found:
        raise RequestError(f"--where: none of the {len(collected.runs)} runs fits {where}")
    return found


def intact(runs: Sequence[Run]) -> list[Run]:
    """Return the runs whose files can be drawn, and say which are left out of pictures and why."""
    found, reasons = [], []
    for run in runs:
        try:
            run.check_files()
            responses(run)
            if has_fit(run):
                fitted_curve(run)
            found.append(run)
        except RequestError as error:
            reasons.append(shortened(str(error), 200))
    if reasons:
        more = f"; and {len(reasons) - 3} more" if len(reasons) > 3 else ""
        count = f"{len(reasons)} run{'s' if len(reasons) > 1 else ''}"
        console.warn_aside(
            f"left out of pictures {count} with damaged files: {'; '.join(reasons[:3])}{more}"
        )
    return found
