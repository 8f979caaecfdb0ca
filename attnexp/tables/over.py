"""Tables of rows compared over tasks, such as data sets, with possibly unlike metrics."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from attnexp.core.console import count_text, number_text, setting_text
from attnexp.core.errors import RequestError, none_of
from attnexp.core.language import Phrase, capitalized, counted, in_language, joined, said, translate
from attnexp.select.configurations import differing_data, is_data
from attnexp.select.frame import Frame, varying
from attnexp.select.tasks import OverTasks
from attnexp.stats.compare import TOLD_APART, Difference, Standing, Word
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
from attnexp.tables.required import SAYS, Requirement
from attnexp.tables.sentences import has_text, row_in_list, row_name

HEADS = (
    Head(said("tasks"), right=True, folds=True, word="tasks"),
    Head(said("mean rank"), right=True, word="mean_rank"),
    Head(said("standing"), word="standing"),
    Head(said("ahead"), right=True, word="ahead"),
    Head(said("net share"), right=True, word="net_share"),
    Head(said("better, tied, worse"), right=True, word="by_task"),
)
"""The columns next to the labels."""

NET = ("net_share", "net_share_low", "net_share_high")
COUNTS = ("tasks_better", "tasks_tied", "tasks_worse")
"""The fields of records that share a column of the table: the net share, and counts of tasks."""


@dataclass(frozen=True)
class TasksTable:
    """Rows compared over `tasks`: a table for each combination of values of the columns `over`.

    `empty` are the tasks without a result. `names` is a table of all rows, for their names; it has
    no results.
    """

    over: tuple[str, ...]
    tasks: dict[str, ResultsTable]
    empty: list[str]
    names: ResultsTable
    ahead_by: float

    @cached_property
    def compared(self) -> OverTasks:
        """The comparison of the rows, which are numbered by their place in `names`."""
        places = {_key(own[0]): i for i, own in enumerate(self.names.entries)}
        tasks = [
            {places[_key(entry)]: entry.sample for entry in table.firsts if entry.sample}
            for table in self.tasks.values()
        ]
        return OverTasks(tasks, len(places), self.ahead_by)

    @cached_property
    def verdicts(self) -> list[Counter[Word]]:
        """The number of tasks by verdict on each row against the best, none without a best row."""
        best = self.compared.best
        nothing = [Counter[Word]() for _ in self.names.firsts]
        return nothing if best is None else self.compared.verdicts(best)

    @cached_property
    def entries(self) -> dict[int, TableEntry]:
        """The rows by number, the best first; rows without a rank are last."""
        return {row: self.names.firsts[row] for row in self.compared.order}

    def name(self, row: int) -> str:
        """Return the name of a row in a sentence."""
        return row_in_list(self.names, self.names.firsts[row])


def _key(entry: TableEntry) -> tuple[object, ...]:
    """Return what tells a row apart: True is another value than 1."""
    return tuple((isinstance(value, bool), value) for value in entry.row.labels.values())


def over_tasks(frame: Frame, over: Sequence[str], request: TableRequest) -> TasksTable:
    """Return the rows of a request, compared over tasks: the combinations of columns `over`.

    Rows are by default the models with the settings that differ inside a task. Raises RequestError
    if nothing but the task differs, for a column of both `by` and `over`, for data that differ
    inside a task, for fewer than two tasks with results, for a metric that does not rank, for
    several metrics in a task, and for `equal_within` if tasks have unlike metrics.
    """
    over = tuple(dict.fromkeys(over))
    option = f"--over {','.join(over)}"
    if twice := [name for name in request.by if name in over]:
        raise RequestError(f"--by {twice[0]}: rows are in a task, and {option} tells tasks apart")
    groups = _by_task(frame, over)
    for name, own in groups.items():
        if mixed := [each for each in differing_data(own) if each not in over]:
            raise RequestError(f"{option}: {name}: runs differ in {mixed[0]}: add it to --over")
    by = request.by or _inside([*groups.values()], over)
    if not by:
        raise RequestError(f"{option}: nothing but the task tells rows apart")
    tasks: dict[str, ResultsTable] = {}
    for name, own in groups.items():
        tables = [table for table in divide(own, replace(request, by=by)) if table.metrics]
        if tables:
            tasks[name] = _of_task(f"{option}: {name}", tables)
    if len(tasks) < 2:
        found = count_text(len(tasks), "task")
        raise RequestError(f"{option}: {found} with results: two are needed")
    metrics = dict.fromkeys(table.metrics[0] for table in tasks.values())
    if request.equal_within is not None and len(metrics) > 1:
        raise RequestError(
            f"--equal-within: a margin is of one metric, and the tasks have {listed(metrics).en}"
        )
    rows = {_key(entry): entry for table in tasks.values() for entry in table.firsts}
    firsts = [TableEntry(entry.row) for entry in rows.values()]
    every: list[tuple[TableEntry, ...]] = [(entry,) for entry in firsts]
    names = ResultsTable(frame, None, by, [], {}, (), every, every, [firsts], 0, ())
    empty = [name for name in groups if name not in tasks]
    return TasksTable(over, tasks, empty, names, request.equal_within or 0.0)


def _by_task(frame: Frame, over: Sequence[str]) -> dict[str, Frame]:
    """Return the frame of each task by its values in the columns `over`.

    The values are written as settings, or in full if two tasks would have one name.
    """
    groups = [*frame.groups(over)]
    values = [[own.data[each].iat[0] for each in over] for own in groups]
    names = [", ".join(map(setting_text, each)) for each in values]
    if len({*names}) < len(names):
        names = [", ".join(map(repr, each)) for each in values]
    return dict(zip(names, groups, strict=True))


def _inside(groups: Sequence[Frame], over: Sequence[str]) -> tuple[str, ...]:
    """Return the default columns of rows: the model, and the settings that differ inside tasks."""
    first = ["model"] if "model" in groups[0].choices and "model" not in over else []
    differing = [name for own in groups for name in varying(own)]
    kept = (name for name in differing if not is_data(name))
    return tuple(dict.fromkeys([*first, *kept]))


def _of_task(task: str, tables: Sequence[ResultsTable]) -> ResultsTable:
    """Return the only table of a task. Raises RequestError unless it has one metric that ranks."""
    metrics = dict.fromkeys(table.metrics[0] for table in tables)
    if len(metrics) > 1:
        raise RequestError(f"{task}: runs have {listed(metrics).en}: choose one by --metric")
    (table,) = tables
    if table.metrics[0] not in table.frame.better:
        raise RequestError(f"{task}: {table.metrics[0]} describes and does not rank")
    return table


def over_report(table: TasksTable, limit: int = 0) -> Report:
    """Return the report on rows compared over tasks: the table, the verdict and the notes."""
    names, best = table.names, table.compared.best
    lines = [_line(table, row) for row in table.entries]
    kept = lines[: limit or None]
    other = said("the best row") if best is None else table.name(best)
    if table.ahead_by:
        margin = number_text(table.ahead_by)
        other = said("{row} by more than {margin}", row=other, margin=margin)
    labels = [Head(names.titles[name]) for name in names.by]
    grid = Grid(
        [*labels, *HEADS],
        kept,
        said(
            "{tasks} tasks by {over}: {rows}",
            tasks=len(table.tasks),
            over=listed(table.over),
            rows=counted("{count} row", len(lines)),
        ),
        said(
            "Rank 1 is ahead of all other rows on every seed; tasks count alike. Ahead: the share "
            "of seeds on which a row is ahead of {best}, equal ones half. Net share: the sum of "
            "the differences in favour of the row over the sum of their sizes. Verdicts hold if "
            "tasks and seeds were chosen before their results were seen.",
            best=other,
        ),
        labels=len(labels),
        bold=said("the best"),
        omitted=len(lines) - len(kept),
    )
    return Report([grid], [*_notes(table)], [*_verdicts(table)], renaming=names.frame.renaming)


def _line(table: TasksTable, row: int) -> Line:
    """Return the line of a row."""
    compared, names, entry = table.compared, table.names, table.entries[row]
    standing, labels, best = compared.standings[row], names.labels(entry), compared.best
    found, rank = standing.difference, compared.ranks[row]
    net = None if found is None else _net(found)
    counts = None if found is None or best is None else _counts(table.verdicts[row])
    ahead = None if best in (None, row) else compared.chances[row, best].item()
    word = _word(standing)
    record = {names.titles[name]: value for name, value in labels.items()} | {
        "tasks": len(compared.values[row]),
        "mean_rank": rank,
        "standing": None if word is None else in_language(word, "en"),
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
        None if word is None else GridCell(word),
        ahead,
        None if net is None else numbers_cell("{} [{}, {}]", *net),
        None if counts is None else ", ".join(map(str, counts)),
    ]
    return Line(values, [record])


def _net(found: Difference) -> tuple[float, float, float]:
    """Return the net share in favour of a row, and the ends of its interval."""
    return 0.0 - found.mean, max(-1.0, 0.0 - found.high), min(1.0, 0.0 - found.low)


def _counts(words: Mapping[Word, int]) -> tuple[int, int, int]:
    """Return the number of tasks in which a row is better, tied or equal, and worse."""
    alike = words.get(Word.TIED, 0) + words.get(Word.EQUAL, 0)
    return words.get(Word.BETTER, 0), alike, words.get(Word.WORSE, 0)


def _word(standing: Standing) -> Phrase | None:
    """Return the standing of a row in words."""
    if standing.word is Word.ONE_SEED:
        return said("one task")
    own = None if standing.word is None else STANDINGS.get(standing.word)
    return own or standing.text(said("tasks"))


def _verdicts(table: TasksTable) -> Iterator[Phrase]:
    """Yield which rows have the best mean rank, which are worse and which tied."""
    compared, best = table.compared, table.compared.best
    if best is None:
        if any(own.word is Word.WORSE for own in compared.standings):
            yield said("No row is the best: rows beat one another on the tasks that they share")
        return
    by_word = {
        word: [row for row in table.entries if compared.standings[row].word is word]
        for word in (Word.BEST, Word.WORSE, Word.TIED)
    }
    first = [*by_word.pop(Word.BEST)]
    extreme = said("the best mean rank over {tasks} tasks", tasks=len(table.tasks))
    names = listed(map(table.name, first))
    parts: list[Phrase] = [has_text(names, len(first), extreme, compared.ranks[best])]
    shares = compared.chances[:, best].tolist()
    worse = [
        said("{row} (ahead on {share})", row=table.name(row), share=number_text(shares[row]))
        for row in by_word[Word.WORSE]
    ]
    tied = map(table.name, by_word[Word.TIED])
    for what, rows in ((said("worse"), worse), (said("not told apart from it"), [*tied])):
        if rows:
            parts.append(capitalized(said("{what}: {text}", what=what, text=listed(rows))))
    yield joined(said(". "), parts)


def _notes(table: TasksTable) -> Iterator[Phrase]:
    """Yield what verdicts over tasks lack: results, tasks, independent seeds, or a difference."""
    compared, least, every = table.compared, table.compared.rule.least, len(table.tasks)
    if table.empty:
        yield said("without a result: {tasks}", tasks=listed(table.empty))
    diverged = sum(
        sum(entry.worst.values()) for own in table.tasks.values() for entry in own.firsts
    )
    if diverged:
        yield said(
            "{runs} diverged: each counts as the worst value of its task",
            runs=counted("{count} run", diverged),
        )
    if not any(map(is_data, table.over)):
        yield said(
            "tasks with the same seeds share what these draw: verdicts hold if a seed that favours "
            "a row in one task need not in another"
        )
    few = {row: own.difference for row, own in enumerate(compared.standings) if _is_few(own)}
    for row, found in few.items() if every >= least else ():
        yield said(
            "{row} shares {tasks} with the best row: {least} are the fewest that decide",
            row=table.name(row),
            tasks=counted("{count} task", found.pairs if found else 1),
            least=least,
        )
    if every < least:
        yield said(
            "{least} tasks are the fewest that decide, and these are {count}",
            least=least,
            count=every,
        )
    for row, entry in enumerate(table.names.firsts):
        there = zip(table.tasks, compared.tasks, strict=True)
        if lacking := [name for name, task in there if row not in task]:
            name = row_in_list(table.names, entry)
            yield said("{row} has no result in {tasks}", row=name, tasks=listed(lacking))
    yield from _tied_notes(table)


def _is_few(standing: Standing) -> bool:
    return standing.word in (Word.FEW, Word.ONE_SEED)


def _tied_notes(table: TasksTable) -> Iterator[Phrase]:
    """Yield how many tasks would decide the closest tie, and which ties single tasks decide."""
    compared, best = table.compared, table.compared.best
    tied = {row: own for row, own in enumerate(compared.standings) if own.word is Word.TIED}
    if best is None or not tied:
        return
    needed = {
        row: number
        for row, own in tied.items()
        if own.difference and (number := seeds_needed(own.difference, compared.rule)) is not None
    }
    if needed:
        row = min(needed, key=needed.__getitem__)
        yield said(
            "{rows} are not told apart over tasks; about {tasks} tasks would detect a difference "
            "of this size with 80% power",
            rows=listed([table.name(best), table.name(row)]),
            tasks=needed[row],
        )
    apart = [row for row in tied if table.verdicts[row].keys() & TOLD_APART]
    if apart:
        yield said(
            "some tasks tell {rows} from {best}: {command} with a value of {over} has the table of "
            "a task",
            rows=listed(map(table.name, apart)),
            best=table.name(best),
            command="`attnexp results --where`",
            over=", ".join(table.over),
        )


def over_answers(table: TasksTable, requirements: Sequence[Requirement]) -> Iterator[TableAnswer]:
    """Yield the answer of the table to each required sentence.

    Raises RequestError for an unknown row, and for `not worse than` and `equal to`.
    """
    known = {table.name(i): i for i in table.entries}
    known |= {translate(row_name(table.names, own)): i for i, own in table.entries.items()}
    for asked in requirements:
        for name in (asked.one, asked.other):
            if name not in known:
                raise RequestError(f"--require: the row {none_of(name, sorted(known))}")
        if asked.how not in SAYS:
            raise RequestError(
                f"--require: '{asked.sentence}': rows are better or worse over tasks"
            )
        standing = table.compared.beside(known[asked.other])[known[asked.one]]
        found, word = standing.difference, SAYS[asked.how]
        outcome = TableOutcome.NOT_SHOWN
        if standing.word in TOLD_APART:
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
