"""Tables of rows compared over tasks, such as data sets, whose metrics may be unlike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from attnexp.core.console import count_text, number_text, setting_text
from attnexp.core.errors import RequestError, none_of
from attnexp.core.language import translate
from attnexp.select.configurations import DATA_SEED, is_data
from attnexp.select.frame import Frame, varying
from attnexp.select.tasks import OverTasks
from attnexp.stats.compare import Difference, Standing, Word
from attnexp.stats.power import seeds_needed
from attnexp.tables.columns import STANDINGS
from attnexp.tables.entries import ResultsTable, TableEntry, TableRequest, divide
from attnexp.tables.grid import (
    Grid,
    GridCell,
    Head,
    Line,
    Report,
    TableAnswer,
    TableOutcome,
    listed,
    numbers_cell,
)
from attnexp.tables.reports import label_cell
from attnexp.tables.required import TOLD_APART, Requirement
from attnexp.tables.sentences import row_in_list, row_name

CAPTION = (
    "Rank 1 is ahead of all rows on every seed; tasks count alike. Ahead: the share of seeds on "
    "which a row is ahead of {best}{margin}, equal ones half. Net share: of all that the two "
    "differ by, what is in favour of the row less what is against it. Verdicts are of tasks chosen "
    "beforehand."
)

HEADS = (
    Head("tasks", right=True, folds=True),
    Head("mean rank", right=True, word="mean_rank"),
    Head("standing"),
    Head("ahead", right=True),
    Head("net share", right=True, word="net_share"),
    Head("better, tied, worse", right=True, word="by_task"),
)
"""The columns next to the labels."""

NET = ("net_share", "net_share_low", "net_share_high")
COUNTS = ("tasks_better", "tasks_tied", "tasks_worse")
"""The fields of records that are one column of the table."""


@dataclass(frozen=True)
class TasksTable:
    """Rows compared over the `tasks`, which are the tables of the values of the columns `over`.

    `names` is a table without results of all rows.
    """

    over: tuple[str, ...]
    tasks: dict[str, ResultsTable]
    names: ResultsTable
    ahead_by: float

    @cached_property
    def compared(self) -> OverTasks:
        """The comparison of the rows, which are the places of their labels in `names`."""
        places = {_key(own[0]): i for i, own in enumerate(self.names.entries)}
        tasks = [
            {places[_key(entry)]: entry.sample for entry in table.firsts if entry.sample}
            for table in self.tasks.values()
        ]
        return OverTasks(tasks, len(places), self.ahead_by)

    @cached_property
    def entries(self) -> dict[int, TableEntry]:
        """The rows, the best first; those without a rank are last."""
        return {row: self.names.firsts[row] for row in self.compared.order}

    def name(self, row: int) -> str:
        """Return the name of a row in a sentence."""
        return row_in_list(self.names, self.names.firsts[row])


def _key(entry: TableEntry) -> tuple[object, ...]:
    return tuple(entry.row.labels.values())


def over_tasks(frame: Frame, over: Sequence[str], request: TableRequest) -> TasksTable:
    """Return the rows of a request compared over the tasks that some columns tell apart.

    Rows are by default the models with the settings that differ inside a task, but for those of the
    data. Raises RequestError for fewer than two tasks with results, for a metric that does not
    rank, for several metrics in a task, and for a margin of unlike metrics.
    """
    option = f"--over {','.join(over)}"
    if twice := [name for name in request.by if name in over]:
        raise RequestError(f"--by {twice[0]}: rows are in a task, and {option} tells tasks apart")
    groups = list(frame.groups(over))
    by = request.by or _inside(groups, over)
    tasks: dict[str, ResultsTable] = {}
    for own in groups:
        name = ", ".join(setting_text(own.data[each].iat[0]) for each in over)
        tables = [table for table in divide(own, replace(request, by=by)) if table.metrics]
        if tables:
            tasks[name] = _of_task(f"{option}: {name}", tables)
    if len(tasks) < 2:
        raise RequestError(
            f"{option}: {count_text(len(tasks), 'task')} with results: two are needed"
        )
    metrics = dict.fromkeys(table.metrics[0] for table in tasks.values())
    if request.equal_within is not None and len(metrics) > 1:
        raise RequestError(
            f"--equal-within: a margin is of one metric, and the tasks have {listed(metrics).en}"
        )
    rows = {_key(entry): entry for table in tasks.values() for entry in table.firsts}
    firsts = [TableEntry(entry.row) for entry in rows.values()]
    every: list[tuple[TableEntry, ...]] = [(entry,) for entry in firsts]
    names = ResultsTable(frame, None, by, [], {}, (), every, every, [firsts], 0, ())
    return TasksTable(tuple(over), tasks, names, request.equal_within or 0.0)


def _inside(groups: Sequence[Frame], over: Sequence[str]) -> tuple[str, ...]:
    """Return what the rows are if nobody says: the model, and what differs inside a task."""
    first = ["model"] if "model" in groups[0].choices and "model" not in over else []
    differing = [name for own in groups for name in varying(own)]
    kept = (name for name in differing if not is_data(name) and name != DATA_SEED)
    return tuple(dict.fromkeys([*first, *kept]))


def _of_task(task: str, tables: Sequence[ResultsTable]) -> ResultsTable:
    """Return the one table of a task. Raises RequestError if its rows do not compare."""
    metrics = dict.fromkeys(table.metrics[0] for table in tables)
    if len(metrics) > 1:
        raise RequestError(f"{task}: runs have {listed(metrics).en}: choose one by --metric")
    (table,) = tables
    if table.metrics[0] not in table.frame.better:
        raise RequestError(f"{task}: {table.metrics[0]} describes and does not rank")
    if len(table.panels) > 1:
        names = listed(table.of_data).en
        raise RequestError(
            f"{task}: rows differ in {names}: add it to --over, or leave it out of --by"
        )
    return table


def over_report(table: TasksTable, limit: int = 0) -> Report:
    """Return the report on rows compared over tasks: the table, the verdict and the notes."""
    names, best = table.names, table.compared.best
    told = None if best is None else table.compared.verdicts(best)
    lines = [_line(table, row, None if told is None else told[row]) for row in table.entries]
    kept = lines[: limit or None]
    margin = f" by more than {number_text(table.ahead_by)}" if table.ahead_by else ""
    other = "the best row" if best is None else table.name(best)
    labels = [Head(names.titles[name]) for name in names.by]
    grid = Grid(
        [*labels, *HEADS],
        kept,
        f"{len(table.tasks)} tasks by {listed(table.over).en}: {count_text(len(lines), 'row')}",
        CAPTION.format(best=other, margin=margin),
        labels=len(labels),
        omitted=len(lines) - len(kept),
    )
    return Report([grid], [*_notes(table)], [*_verdicts(table)], renaming=names.frame.renaming)


def _line(table: TasksTable, row: int, told: Mapping[Word, int] | None) -> Line:
    """Return the line of a row, of which tasks have told so many verdicts next to the best row."""
    compared, names, entry = table.compared, table.names, table.entries[row]
    standing, labels, best = compared.standings[row], names.labels(entry), compared.best
    found, rank = standing.difference, compared.ranks[row]
    net = None if found is None else _net(found)
    counts = None if found is None or told is None else _counts(told, found.pairs)
    ahead = None if best in (None, row) else compared.chances[row, best].item()
    record = {names.titles[name]: value for name, value in labels.items()} | {
        "tasks": len(compared.values[row]),
        "mean_rank": rank,
        "standing": _word(standing),
        "p": standing.p,
        "ahead": ahead,
        **dict(zip(NET, net or (None,) * len(NET), strict=True)),
        **dict(zip(COUNTS, counts or (None,) * len(COUNTS), strict=True)),
    }
    strong = standing.word is Word.BEST
    values = [
        *(label_cell(entry, name, labels[name], unsure=False) for name in names.by),
        record["tasks"],
        None if rank is None else numbers_cell("{}", rank, strong=strong),
        _standing(standing),
        ahead,
        None if net is None else numbers_cell("{} [{}, {}]", *net),
        None if counts is None else ", ".join(map(str, counts)),
    ]
    return Line(values, [record])


def _net(found: Difference) -> tuple[float, float, float]:
    """Return the net share in favour of a row, and the ends of its interval."""
    return -found.mean, max(-1.0, -found.high), min(1.0, -found.low)


def _counts(words: Mapping[Word, int], tasks: int) -> tuple[int, int, int]:
    """Return the number of tasks in which a row is better, not told apart, and worse."""
    better, worse = words.get(Word.BETTER, 0), words.get(Word.WORSE, 0)
    return better, tasks - better - worse, worse


def _word(standing: Standing) -> str | None:
    """Return the standing of a row in words."""
    if standing.word is Word.ONE_SEED:
        return "one task"
    text = standing.text("tasks")
    return None if text is None else translate(text)


def _standing(standing: Standing) -> GridCell | None:
    own = None if standing.word in (None, Word.ONE_SEED) else STANDINGS.get(standing.word)
    text = own or _word(standing)
    return None if text is None else GridCell(text)


def _verdicts(table: TasksTable) -> Iterator[str]:
    """Yield which row has the best mean rank, and what is shown of the others."""
    compared, best = table.compared, table.compared.best
    if best is None:
        if any(own.word is Word.WORSE for own in compared.standings):
            yield "No row is the best: rows beat one another on the tasks that they share"
        return
    first = translate(row_name(table.names, table.names.firsts[best]))
    rank = compared.ranks[best]
    parts = [f"{first} has the best mean rank, {number_text(rank)} over {len(table.tasks)} tasks"]
    for word, words in ((Word.WORSE, "Worse"), (Word.TIED, "Not told apart from it")):
        rows = [i for i in table.entries if compared.standings[i].word is word]
        names = [table.name(i) for i in rows]
        if word is Word.WORSE:
            shares = [number_text(compared.chances[i, best].item()) for i in rows]
            names = [
                f"{name} (ahead on {share})" for name, share in zip(names, shares, strict=True)
            ]
        if names:
            parts.append(f"{words}: {listed(names).en}")
    yield ". ".join(parts)


def _notes(table: TasksTable) -> Iterator[str]:
    """Yield what a verdict over tasks lacks: tasks, results of rows, or a difference in all."""
    compared, rule, every = table.compared, table.compared.rule, len(table.tasks)
    if every < rule.least:
        yield f"{rule.least} tasks are the fewest that decide, and these are {every}"
    for place, entry in enumerate(table.names.firsts):
        there = [place in task for task in compared.tasks]
        lacking = [name for name, own in zip(table.tasks, there, strict=True) if not own]
        if lacking:
            yield f"{row_in_list(table.names, entry)} has no result in {listed(lacking).en}"
    tied = {i: own for i, own in enumerate(compared.standings) if own.word is Word.TIED}
    needed = {
        i: number
        for i, own in tied.items()
        if own.difference and (number := seeds_needed(own.difference, rule)) is not None
    }
    best = compared.best
    if best is None or not tied:
        return
    if needed:
        row = min(needed, key=needed.__getitem__)
        names = f"{table.name(best)} and {table.name(row)}"
        yield (
            f"{names} are not told apart over tasks; about {needed[row]} tasks would detect a "
            "difference of this size with 80% power"
        )
    told = compared.verdicts(best)
    if apart := [table.name(i) for i in tied if told[i].keys() & {Word.BETTER, Word.WORSE}]:
        yield (
            f"some tasks tell {listed(apart).en} from {table.name(best)}: `attnexp results` "
            "without --over has the table of each task"
        )


def over_answers(table: TasksTable, requirements: Sequence[Requirement]) -> Iterator[TableAnswer]:
    """Yield what the table says of each sentence.

    Raises RequestError for a row that it lacks, and for a sentence with a margin.
    """
    known = {table.name(i): i for i in table.entries}
    known |= {translate(row_name(table.names, own)): i for i, own in table.entries.items()}
    for asked in requirements:
        for name in (asked.one, asked.other):
            if name not in known:
                raise RequestError(f"--require: the row {none_of(name, sorted(known))}")
        if asked.how not in TOLD_APART:
            raise RequestError(
                f"--require: '{asked.sentence}': rows are better or worse over tasks"
            )
        standing = table.compared.beside(known[asked.other])[known[asked.one]]
        found, word = standing.difference, TOLD_APART[asked.how]
        outcome = TableOutcome.NOT_SHOWN
        if standing.word in (Word.BETTER, Word.WORSE):
            outcome = TableOutcome.HOLDS if standing.word is word else TableOutcome.FALSE
        because = "they share no task"
        if found is not None:
            share, low, high = map(number_text, _net(found))
            because = f"net share {share} [{low}, {high}] over {found.pairs} tasks"
            needed = seeds_needed(found, table.compared.rule)
            so_far = Word.WORSE if found.mean > 0 else Word.BETTER
            if outcome is TableOutcome.NOT_SHOWN and so_far is not word:
                because += "; so far it is the other way"
            elif outcome is TableOutcome.NOT_SHOWN and needed is not None:
                because += f"; about {needed} tasks would do"
        yield TableAnswer(asked.sentence, outcome, because)
