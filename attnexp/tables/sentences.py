"""The verdict of a table in sentences, and the reasoning behind it."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from attnexp.core.console import number_text
from attnexp.core.language import Phrase, Text, capitalized, counted, joined, said, translate
from attnexp.select.configurations import is_data, label
from attnexp.select.judge import modes_of
from attnexp.stats.compare import Rule, Word, equal_means, fewest_seeds
from attnexp.stats.flips import EXHAUSTIVE
from attnexp.stats.intervals import LEVEL, ROUNDING
from attnexp.stats.power import detectable
from attnexp.stats.scaled import mean, scaled
from attnexp.tables.columns import standing_text
from attnexp.tables.entries import ResultsTable, TableEntry
from attnexp.tables.grid import FEW, listed

STANDINGS = {
    Word.WORSE: said("worse"),
    Word.EQUAL: said("equal to it"),
    Word.TIED: said("not told apart from it"),
}
"""The words for verdicts in a sentence about the best row."""


def row_name(table: ResultsTable, entry: TableEntry) -> Phrase:
    """Return the name of a row in a sentence, from the labels in which rows differ."""
    return _name(table, entry, table.telling)


def row_in_list(table: ResultsTable, entry: TableEntry, names: Sequence[str] | None = None) -> str:
    """Return the name of a row in a list, with settings in brackets: `gaussian (width=1)`.

    The name has the labels `names`, by default those in which rows differ.
    """
    return translate(_bracketed(_name(table, entry, table.telling if names is None else names)))


def _name(
    table: ResultsTable,
    entry: TableEntry,
    names: Sequence[str],
    without: Callable[[Text], Text] = lambda what: said("the row without {what}", what=what),
) -> Phrase:
    if (whole := table.whole_name(entry)) is not None:
        return whole
    values = {name: entry.row.labels[name] for name in names}
    found = label(table.frame, values, entry.row.runs.runs[0], table.short)
    return found or without(listed(table.titles[name] for name in names))


def verdicts(table: ResultsTable) -> Iterator[Phrase]:
    """Yield a sentence for each panel with two measured rows: which rows are best, which worse.

    The sentence begins with the data if the table has several, and with `several seeds` if a row of
    one seed, on which there is no verdict, has a better value. If rows have one seed each, the
    sentence names the best value, or is left out if seeds differ. If rows beat one another in a
    circle, the sentence says that no row is best. If the best row does not have the best mean over
    all seeds, the sentence says that it is the best on shared seeds. Metrics that do not rank have
    no sentence.
    """
    for panel in table.panels:
        measured = [entry for entry in panel if entry.spread.mean is not None and entry.better]
        if len(measured) < 2:
            continue
        if all(entry.spread.n == 1 for entry in measured):
            if len(set[int]().union(*(entry.seeds for entry in measured))) == 1:
                lead: Phrase = _lead_of_one_seed(table, measured)
                whole = said("{what}: {text}", what=said("one seed"), text=lead)
                yield joined(said(". "), [capitalized(whole), *_others(table, panel)])
        elif any(entry.standing.word is Word.BEST for entry in measured):
            lead = _lead(table, measured)
            yield joined(said(". "), [lead, *_others(table, panel)])
        else:
            yield from _circle(table, measured)


def _telling(table: ResultsTable) -> tuple[list[str], Sequence[str]]:
    """Return the labels of the data by which panels differ, and the other labels of rows."""
    data = [name for name in table.telling if is_data(name)] if len(table.panels) > 1 else []
    return data, [name for name in table.telling if name not in data] or table.telling


def _start(table: ResultsTable, best: TableEntry, further: Sequence[Text] = ()) -> list[Text]:
    """Return the beginning of a sentence on one data set, or on the rows of a panel."""
    data, _ = _telling(table)
    which = [_name(table, best, data, lambda what: said("no {what}", what=what))] if data else []
    start: list[Text] = []
    if table.only_data:
        start.append(said("of this data set, {data}, ", data=table.only_data))
    if which or further:
        start.append(said("of the rows with {what}, ", what=listed([*which, *further])))
    return start


def _lead_of_one_seed(table: ResultsTable, rows: Sequence[TableEntry]) -> Text:
    """Return which of the rows of one seed has the best value."""
    lower = rows[0].better == "lower"
    best = (min if lower else max)(entry.spread.mean or 0.0 for entry in rows)
    several = [entry for entry in rows if entry.spread.mean == best]
    extreme = _extreme(str(rows[0].title), lower, one_seed=True)
    return joined("", [*_start(table, several[0]), _has(table, several, extreme, best)])


def _lead(table: ResultsTable, rows: Sequence[TableEntry]) -> Phrase:
    """Return which rows are best, with the mean if no row has a better mean."""
    lower = rows[0].better == "lower"
    pick = min if lower else max

    def mean(entry: TableEntry) -> float:
        return entry.spread.mean or 0.0

    several = [entry for entry in rows if entry.standing.word is Word.BEST]
    best = pick(several, key=mean)
    ones = [mean(entry) for entry in rows if entry.spread.n == 1]
    begins = pick([mean(best), *ones]) != mean(best)
    start = _start(table, best, [said("several {units}", units=table.unit.many)] if begins else ())
    others = [mean(e) for e in rows if e.spread.n > 1 and e.standing.word is not Word.BEST]
    unlike = any(not equal_means(mean(entry), mean(best)) for entry in several)
    if shared := unlike or pick([mean(best), *others]) != mean(best):
        names = _listed(table, several, _telling(table)[1])
        on = {"units": table.unit.many, "metric": best.title, "rows": names}
        lead = said("on shared {units} the best by {metric}: {rows}", **on)
    else:
        lead = _has(table, several, _extreme(str(best.title), lower, one_seed=False), mean(best))
    whole = joined("", [*start, lead])
    return capitalized(whole) if start or shared else whole


def _has(table: ResultsTable, rows: Sequence[TableEntry], extreme: Text, value: float) -> Text:
    """Return that rows have the best value of a metric."""
    return has_text(_listed(table, rows, _telling(table)[1]), len(rows), extreme, value)


def has_text(rows: Text, number: int, extreme: Text, value: float | None) -> Text:
    """Return that a number of rows, given by their names, have an extreme with its value."""
    has = {"rows": rows, "extreme": extreme, "value": number_text(value)}
    if number == 1:
        return said("{rows} has {extreme}, {value}", **has)
    return said("{rows} have {extreme}, {value}", **has)


def _others(table: ResultsTable, panel: Sequence[TableEntry]) -> Iterator[Phrase]:
    """Yield the other rows by standing, and the rows with too few seeds."""
    _, names = _telling(table)
    for standing, usual in STANDINGS.items():
        rows = [entry for entry in panel if entry.standing.word is standing]
        may_fail = standing is Word.EQUAL and any(modes_of(entry.sample) for entry in rows)
        words = said("{standing} if no seed fails", standing=usual) if may_fail else usual
        if rows:
            shown = _listed(table, rows, names)
            yield capitalized(said("{what}: {text}", what=words, text=shown))
    few: dict[Phrase, list[TableEntry]] = {}
    for entry in panel:
        if entry.standing.word is Word.FEW and (own := entry.verdict):
            few.setdefault(own, []).append(entry)
    if (number := sum(map(len, few.values()))) > FEW:
        yield said("Too few seeds for a verdict on {number} rows", number=number)
    elif few:
        seen = [joined(" ", [_listed(table, rows, names), word]) for word, rows in few.items()]
        yield said("Too few seeds for a verdict: {rows}", rows=joined(said("; "), seen))


def _circle(table: ResultsTable, rows: Sequence[TableEntry]) -> Iterator[Phrase]:
    """Yield which rows beat one another in a circle on shared seeds, if no row is the best."""
    by_row = {id(entry.row): entry for entry in rows}
    entry = next((entry for entry in rows if entry.beaten_by is not None), None)
    met: list[TableEntry] = []
    while entry is not None and entry not in met:
        met.append(entry)
        entry = by_row.get(id(entry.beaten_by))
    if entry is not None:
        circle = [*met[met.index(entry) :], entry]
        names = [_bracketed(row_name(table, one)) for one in circle]
        beaten = [said("{row} beats {other}", row=one, other=two) for two, one in pairwise(names)]
        yield capitalized(
            said(
                "no row is the best, as on shared {units} {rows}",
                units=table.unit.many,
                rows=listed(beaten[::-1]),
            )
        )


def _extreme(metric: str, lower: bool, one_seed: bool) -> Text:
    """Return the best value of a metric in words."""
    if one_seed and lower:
        return said("the lowest {metric}", metric=metric)
    if one_seed:
        return said("the highest {metric}", metric=metric)
    if lower:
        return said("the lowest mean {metric}", metric=metric)
    return said("the highest mean {metric}", metric=metric)


def _listed(table: ResultsTable, rows: Sequence[TableEntry], names: Sequence[str]) -> Text:
    """Return the names of rows, with the distance from the best for worse rows.

    Among several names, settings are in brackets.
    """
    found = [_name(table, entry, names) for entry in rows]
    shown = found if len(rows) == 1 else map(_bracketed, found)
    return listed(map(_with_distance, shown, rows))


def _with_distance(name: Phrase, entry: TableEntry) -> Phrase:
    found = entry.standing.difference
    if found is None or entry.standing.word is not Word.WORSE:
        return name
    return said("{name} by {distance}", name=name, distance=number_text(abs(found.mean)))


def _bracketed(name: Phrase) -> Phrase:
    return re.sub("^([^,=]+), (.*)$", r"\1 (\2)", name) if isinstance(name, str) else name


def explanations(table: ResultsTable) -> Iterator[Text]:
    """Yield the reasoning behind the verdict on each row that is shown."""
    shown = {id(own[0]) for own in table.shown}
    for panel in table.panels:
        best = next((entry for entry in panel if entry.standing.word is Word.BEST), None)
        for entry in (entry for entry in panel if id(entry) in shown):
            if best is not None and entry.standing.difference is not None:
                steps = joined(said(". "), _reasons(table, entry, best, panel))
                yield joined("", [steps, said(".")])
        yield from _floor(panel)


def _floor(panel: Sequence[TableEntry]) -> Iterator[Text]:
    """Yield the spread over seeds, and the smallest differences that numbers of seeds can show.

    The spread is the standard deviation of the differences from the best row, or, without any,
    sqrt(2) times the standard deviation of a row: as for two independent rows. All pairs of rows of
    the panel share the level, so that more rows need a larger difference.
    """
    rows = [entry for entry in panel if entry.better and entry.spread.sd is not None]
    compared = [found for entry in rows if (found := entry.standing.difference) is not None]
    paired = [found.sd for found in compared if found.pairs > 1]
    alone = [math.sqrt(2) * (entry.spread.sd or 0.0) for entry in rows]
    deviations, factor = scaled(paired or alone)
    spread = math.sqrt(mean(sd**2 for sd in deviations)) / factor if rows else 0.0
    largest = max((abs(value) for entry in rows for value in entry.spread.values), default=0.0)
    if spread <= ROUNDING * largest:
        return
    tests = max((found.tests for found in compared), default=1)
    least = fewest_seeds()
    overlap = max(entry.overlap for entry in rows)
    rule = Rule("lower", overlap=overlap)
    seeds = [least, 2 * least - 2, 4 * least - 4]
    floors = [number_text(spread * detectable(n, rule.level_at(n), tests, overlap)) for n in seeds]
    yield said(
        "{metric}: the standard deviation over {units} of {differences} is {spread}. The smallest "
        "difference between two rows that {counts} {units} show in 7 of 10 tables or more is "
        "{floors}.",
        metric=rows[0].title,
        differences=said("the differences from the best row")
        if paired
        else said("the differences of two rows like this one"),
        spread=number_text(spread),
        counts=listed(seeds),
        units=said("splits") if overlap else rows[0].row.unit.many,
        floors=listed(floors),
    )


def _reasons(
    table: ResultsTable,
    entry: TableEntry,
    best: TableEntry,
    panel: Sequence[TableEntry],
) -> Iterator[Text]:
    """Yield the steps from the differences of a row to its verdict, each without a full stop."""
    found, p = entry.standing.difference, entry.standing.p
    assert found is not None
    assert p is not None
    level = entry.standing.level or LEVEL
    ends = said(
        ", and the mean difference may be {low} to {high}",
        low=number_text(found.low),
        high=number_text(found.high),
    )
    yield said(
        "{row} against {best}: {pairs} of results, one per {unit}",
        row=row_name(table, entry),
        best=row_name(table, best),
        pairs=counted("{count} pair", found.pairs),
        unit=Text("split", said("splits").zh)
        if entry.overlap
        else Text(table.unit.one, table.unit.many.zh),
    )
    yield said(
        "It is better on {better} and worse on {worse} of them, by {mean} on average{ends}",
        better=found.better,
        worse=found.worse,
        mean=number_text(found.mean),
        ends=ends if found.pairs > 1 else "",
    )
    if entry.overlap:
        yield said(
            "They are of splits of the same rows, so the t test counts them as fewer ({source})",
            source="Nadeau and Bengio 2003",
        )
    elif found.pairs < 64:
        yield said(
            "If the choice made no difference, each of these differences could as well have the "
            "other sign: there are {count} ways to sign them{tried}",
            count=f"2^{found.pairs} = {2**found.pairs:,}",
            tried=said(", of which {count} are tried", count=f"{2**EXHAUSTIVE:,}")
            if found.pairs > EXHAUSTIVE
            else "",
        )
    if entry.standing.word is Word.BEST:  # all numbers are those of the best row
        return
    yield said(
        "By chance, a difference as clear as this comes up with p = {p}, corrected for {rows} "
        "rows; {compared} what may be spent up to the analysis of this verdict, {level}: {verdict}",
        rows=sum(other.spread.n > 1 for other in panel),
        p=number_text(p),
        compared=said("at most" if p <= level else "more than"),
        level=number_text(level),
        verdict=standing_text(entry),
    )
