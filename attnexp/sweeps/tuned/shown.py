"""The choices of a sweep that tunes, as a table with warnings."""

from collections.abc import Mapping

from rich.markup import escape

from attnexp.core import console
from attnexp.sweeps.tuned.axes import Case, TunedAxes
from attnexp.sweeps.tuned.jobs import Tuned
from attnexp.sweeps.tuned.settings import SEED


def show_choices(axes: TunedAxes, chosen: Mapping[Case, Tuned]) -> None:
    """Show the choice of every configuration, and warn of best values that are the last ones."""
    (first, _), one = next(iter(chosen.items()))
    seed = [SEED] if any(split for _, split in chosen) else []
    titles = [*axes.varying(first), *seed, *axes.starts, one.metric, "failed"]
    table = console.plain_table(titles, right=[one.metric, "failed"])
    warnings = []
    for (configuration, split), tuned in chosen.items():
        cells = [each.typed for each in axes.varying(configuration).values()]
        cells += [split.typed if split else "" for _ in seed]
        for name, best in zip(axes.starts, tuned.best, strict=True):
            cells.append("no effect" if name in tuned.without_effect else best.typed)
            if name in tuned.at_end:
                warnings.append(
                    f"{axes.label(configuration)}: the best {name}, {best.typed}, is the last one "
                    "tried in its direction: a better one may lie beyond"
                )
        failed = sum(mean is None for mean in tuned.means.values())
        reached = console.number_text(tuned.means[tuned.best])
        table.add_row(*map(escape, cells), reached, str(failed or ""))
    console.screen.out.print(table)
    for sentence in dict.fromkeys(warnings):
        console.warn(sentence)
