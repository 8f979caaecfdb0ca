"""Sentences that have to hold in a table, such as `additive better than dot`, for an exit code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from attnexp.core.console import number_text
from attnexp.core.errors import RequestError, none_of
from attnexp.core.language import translate
from attnexp.select.sample import standings_beside
from attnexp.stats.compare import TURNED, Difference, Rule, Standing, Word
from attnexp.stats.power import seeds_needed
from attnexp.tables.entries import ResultsTable, TableEntry
from attnexp.tables.grid import TableAnswer, TableOutcome
from attnexp.tables.notes import to_share
from attnexp.tables.sentences import row_in_list, row_name

FORM = re.compile(
    r"(?P<one>.+?) (?P<how>not worse than|better than|worse than|equal to) (?P<other>.+?)"
    r"(?: within (?P<within>[0-9.eE+-]+))?"
)

SAYS = {"better than": Word.BETTER, "worse than": Word.WORSE}
"""The verdict on the first row that a sentence without a margin requires."""

EXAMPLE = (
    "write 'A better than B', 'A worse than B', 'A not worse than B within X' or "
    "'A equal to B within X'"
)


@dataclass(frozen=True)
class Requirement:
    """A sentence that `one` is `how` to `other`, two rows, `within` a margin; 0 without one."""

    sentence: str
    one: str
    how: str
    other: str
    within: float


def read_requirement(text: str) -> Requirement:
    """Return the parts of a sentence. Raises RequestError for a sentence of another form."""
    found = FORM.fullmatch(" ".join(text.split()))
    if found is None:
        raise RequestError(f"--require: '{text}' compares no two rows: {EXAMPLE}")
    try:
        within = float(found["within"] or 0)
    except ValueError:
        raise RequestError(f"--require: '{found['within']}' is no number") from None
    if found["within"] and found["how"] in SAYS:
        raise RequestError(
            f"--require: '{text}' has a margin, which '{found['how']}' does not take"
        )
    if within < 0 or (found["how"] == "equal to" and not within):
        raise RequestError(f"--require: '{text}' has no margin above 0: {EXAMPLE}")
    one, other = (found[end].strip("\"'") for end in ("one", "other"))
    return Requirement(text, one, found["how"], other, within)


def answers(
    tables: Sequence[ResultsTable], requirements: Sequence[Requirement]
) -> Iterator[TableAnswer]:
    """Yield the answer to each sentence from each table that compares both of its rows.

    Raises RequestError for a row that no table has, and for two rows that no table compares.
    """
    for asked in requirements:
        panels = [(table, panel) for table in tables for panel in table.panels]
        known = {name for table, panel in panels for row in panel for name in _names(table, row)}
        for name in (asked.one, asked.other):
            if name not in known:
                raise RequestError(f"--require: the row {none_of(name, sorted(known))}")
        found = [
            (table, panel, one, other)
            for table, panel in panels
            for (one, first), (other, second) in product(enumerate(panel), repeat=2)
            if one != other and asked.one in _names(table, first)
            if asked.other in _names(table, second)
        ]
        if not found:
            raise RequestError(f"--require: no table compares '{asked.one}' with '{asked.other}'")
        for table, panel, one, other in found:
            answer = _answer(table, panel, one, other, asked)
            data = f"{table.data_name}: " if len(tables) > 1 and table.data_name else ""
            yield replace(answer, because=f"{data}{answer.because}")


def _names(table: ResultsTable, entry: TableEntry) -> set[str]:
    """Return the names of a row in sentences and in lists."""
    return {translate(row_name(table, entry)), row_in_list(table, entry)}


def _answer(
    table: ResultsTable, panel: Sequence[TableEntry], one: int, other: int, asked: Requirement
) -> TableAnswer:
    """Return the answer of a table to a sentence about two rows of a panel."""
    samples = [entry.sample for entry in panel if entry.sample]
    if len(samples) < len(panel) or samples[0].better is None:
        return TableAnswer(asked.sentence, TableOutcome.NOT_SHOWN, "the metric does not rank")
    standing = standings_beside(samples, other, asked.within or None)[one]
    if (found := standing.difference) is None:
        why = "they share no seed" if standing.word is Word.ALONE else str(standing.word)
        return TableAnswer(asked.sentence, TableOutcome.NOT_SHOWN, why)
    rule = Rule(samples[0].better, overlap=samples[0].overlap)
    outcome = _outcome(asked, standing, found, rule.sign)
    ends = f"[{number_text(found.low)}, {number_text(found.high)}]"
    because = (
        f"{panel[one].title} {number_text(found.mean)} {ends} on {found.pairs} {table.unit.many.en}"
    )
    if outcome is TableOutcome.NOT_SHOWN:
        few, margin = found.pairs < rule.least, asked.how not in SAYS
        needed = None if margin else seeds_needed(found, rule)
        if few and needed is None:
            because += f"; {rule.least} {table.unit.many.en} are the fewest that decide"
        elif not margin and (rule.sign * found.mean > 0) is (asked.how == "better than"):
            because += "; so far it is the other way"
        elif needed is not None and not rule.overlap:
            rows = [panel[one], panel[other]]
            because += f"; about {needed} would do{translate(to_share(rows, needed))}"
    return TableAnswer(asked.sentence, outcome, because)


def _outcome(asked: Requirement, standing: Standing, found: Difference, sign: int) -> TableOutcome:
    """Return whether a sentence holds: by the verdict, or with a margin by the interval."""
    if asked.how in SAYS:
        word = SAYS[asked.how]
        if standing.word in (word, TURNED[word]):
            return TableOutcome.HOLDS if standing.word is word else TableOutcome.FALSE
        return TableOutcome.NOT_SHOWN
    worst, best = sorted((sign * found.low, sign * found.high), reverse=True)
    if standing.word is Word.FEW:
        return TableOutcome.NOT_SHOWN
    if asked.how == "equal to":
        if standing.word is Word.EQUAL:
            return TableOutcome.HOLDS
        return (
            TableOutcome.FALSE
            if best > asked.within or worst < -asked.within
            else TableOutcome.NOT_SHOWN
        )
    if worst <= asked.within:
        return TableOutcome.HOLDS
    return TableOutcome.FALSE if best > asked.within else TableOutcome.NOT_SHOWN
