"""Notes below tables: unfair comparisons, and how many more seeds verdicts need."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, compress

import numpy as np
from numpy.typing import NDArray

from attnexp.core.console import number_text, setting_text
from attnexp.core.errors import first_line, shortened
from attnexp.core.language import Phrase, Text, counted, joined, said
from attnexp.runs.folder import Run
from attnexp.runs.origin.command_line import command, next_seeds, seed_list, seed_parts
from attnexp.runs.run_status import Status
from attnexp.runs.settings import clean
from attnexp.runs.summary import ENDED, Summary
from attnexp.runs.user_code import changed_modules, code_digits
from attnexp.select.collect import folder_words
from attnexp.select.configurations import is_data
from attnexp.select.frame import FACTS, OF_CODE, Frame
from attnexp.select.judge import modes_of
from attnexp.select.number import lengths_notes
from attnexp.select.sample import SEEDS, SampleUnit
from attnexp.stats.compare import Difference, Rule, Word
from attnexp.stats.power import seeds_needed
from attnexp.tables.entries import LOST, ResultsTable, TableEntry, TableRequest, lost_text
from attnexp.tables.grid import listed
from attnexp.tables.no_effect import RATE, unlike_best, without_effect
from attnexp.tables.sentences import row_in_list, row_name

CODE = {
    "results_version": said("version of the results"),
    "attnexp": said("version of {name}", name="attnexp"),
    "torch": said("version of {name}", name="torch"),
    "commit": said("git commit"),
    "device": said("device (seconds and memory do not compare)"),
}
"""The columns on what computed a run, and their names in notes."""

BUDGETS = ("train.max_epochs", "train.max_steps", "train.max_minutes")
"""The settings that bound training, `max_epochs` first: it ended runs without a note on the end."""

TO_THE_END = "regression"
"""The choice of `train` under which training ends when no parameter moves any more."""

MENDED_BY = "arch.features=16"
"""The setting that the notes of runs advise if scores by products fit badly."""


def results(table: ResultsTable) -> Iterable[Phrase]:
    """Yield sentences on facts that change the meaning of means, the most important first."""
    of_means = (
        _left_out,
        _older,
        _several_codes,
        _fixed,
        _at_chance,
        _unfinished,
        _of_products,
        _mixed,
        _crossed,
    )
    checks = (*of_means, without_effect)
    return chain.from_iterable(check(table) for check in checks)


def conditions(table: ResultsTable) -> Iterable[Phrase]:
    """Yield sentences on differences between runs besides the compared ones."""
    checks = (_data, _lengths, _steps, _tuning, _code)
    return chain.from_iterable(check(table) for check in checks)


def _fixed(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows whose seeds draw no data."""
    for by in dict.fromkeys(entry.fixed_by for entry in table.firsts):
        own = [entry for entry in table.firsts if entry.fixed_by == by]
        names = listed(row_in_list(table, entry) for entry in own)
        every = len(own) == len(table.firsts)
        seeds = said("the seeds") if every else said("the seeds of {rows}", rows=names)
        equal = any(entry.spread.sd == 0 for entry in own)
        if by is not None:
            note = said(
                "{seeds} are of the model alone: {by} is one split for all of them, and "
                "intervals and verdicts say nothing about other test rows",
                seeds=seeds,
                by=by,
            )
            more = [said("equal results of several seeds are one result")] * equal
            yield joined(said("; "), [note, *more])


def _at_chance(table: ResultsTable) -> Iterable[Phrase]:
    """Note compared rows none of which is better than chance, if no seed learned."""
    for panel in table.panels:
        rows = [entry for entry in panel if entry.better and entry.spread.mean is not None]
        chances = [entry.sample.companions.get("chance") for entry in rows if entry.sample]
        learned = any(modes.learned for entry in rows if (modes := modes_of(entry.sample)))
        if len(rows) > 1 and not learned and all(map(_reaches, rows, chances)):
            yield said(
                "no row is told apart from chance, {chance} in {metric}: a difference may "
                "be one between rows that learned nothing",
                chance=listed(dict.fromkeys(map(number_text, chances))),
                metric=rows[0].title,
            )


def _reaches(entry: TableEntry, chance: float | None) -> bool:
    """Return whether the interval of a row, or its single value, does not exclude chance."""
    low, high = (entry.spread.mean if end is None else end for end in entry.spread.interval)
    if chance is None or low is None or high is None:
        return False
    return low <= chance if entry.better == "higher" else high >= chance


def _unfinished(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows trained to convergence with runs that a budget stopped before."""
    stopped: dict[str, list[Phrase]] = {}
    for entry in table.firsts:
        runs = entry.row.runs
        if "train" not in runs.choices or "steps" not in runs.metrics:
            continue
        budgets = Counter(
            _budget(table, run)
            for run in compress(runs.runs, _cut(runs))
            if run.choices.get("train") == TO_THE_END and run.metrics.get("steps", 0) > 0
        )
        for budget, number in budgets.items():
            if budget:
                row = said(
                    "{row} on {number} of {count}",
                    row=row_in_list(table, entry),
                    number=number,
                    count=len(runs),
                )
                stopped.setdefault(budget, []).append(row)
    for budget, rows in stopped.items():
        name = budget.partition("=")[0]
        depends = (
            said("their places depend on {name}", name=name)
            if len(rows) > 1
            else said("its place depends on {name}", name=name)
        )
        yield said(
            "stopped at {budget} before training had converged: {rows}; {depends}",
            budget=budget,
            rows=listed(rows),
            depends=depends,
        )


def _budget(table: ResultsTable, run: Run) -> str:
    """Return the budget that ended training, such as `train.max_epochs=100`, or an empty text.

    The value is left out if rows are labelled by the setting. Targets and patience are no budgets.
    """
    reasons = (note.removeprefix(ENDED) for note in run.summary.notes if note.startswith(ENDED))
    reason = next(reasons, BUDGETS[0])
    name = next((each for each in BUDGETS if reason.startswith(each)), "")
    if not name or name in table.by:
        return name
    return f"{name}={setting_text(run.settings.get(name))}"


def _of_products(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows with runs whose notes advise MENDED_BY."""
    poor = [
        row_in_list(table, entry)
        for entry in table.firsts
        if any(MENDED_BY in note for run in entry.row.runs.runs for note in run.summary.notes)
    ]
    if poor:
        yield said(
            "products of x do not measure how near points are: add {setting} to {rows}",
            setting=MENDED_BY,
            rows=listed(poor),
        )


def _crossed(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows that differ in several groups of settings, if some combinations were not run."""
    groups: dict[str, list[str]] = {}
    for name in table.by:
        if not is_data(name) and name not in table.frame.tuned and name not in OF_CODE:
            groups.setdefault(name.partition(".")[0], []).append(name)
    for panel in table.panels:
        levels = {
            group: len({tuple(entry.row.labels[name] for name in names) for entry in panel})
            for group, names in groups.items()
        }
        several = [group for group, count in levels.items() if count > 1]
        possible = math.prod(levels.values())
        if len(several) > 1 and len(panel) < possible:
            yield said(
                "the compared rows differ in {names} at once, and only {count} "
                "of {possible} combinations were run: a difference may be due to any of these",
                names=listed(several),
                count=len(panel),
                possible=possible,
            )
            return


def _mixed(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows whose runs differ in more than the seed."""
    if not table.within:
        return
    data = [name for name in table.within if is_data(name)]
    note = said("rows gather runs that differ in {names}", names=listed(table.within))
    also = [said("data included: a mean over several data sets says little")] if data else []
    yield joined(said(", "), [note, *also])
    gathered = [{frozenset(entry.row.blocks.tolist()) for entry in panel} for panel in table.panels]
    if any(len(kinds) > 1 for kinds in gathered):
        yield said(
            "not every row gathers the same settings: means are over unlike settings, and tests "
            "use only the settings that both rows have"
        )


def _data(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows on different data, which are not tested against each other."""
    if len(table.panels) > 1 and not table.alone:
        names = listed(table.of_data)
        yield said(
            "rows that differ in {names} saw different data and are not compared", names=names
        )


def _lengths(table: ResultsTable) -> Iterable[Phrase]:
    """Repeat the runs' notes on lengths of sources, if a metric is of a length."""
    if any("_by_length@" in metric for metric in table.metrics):
        yield from lengths_notes(table.frame.runs)


def _code(table: ResultsTable) -> Iterable[Phrase]:
    """Note runs that were computed by different code, or on different devices."""
    frame = table.frame
    for name, words in CODE.items():
        found = [value for value in dict.fromkeys(frame.data[name]) if value is not None]
        if len(found) > 1:
            shown = listed(frame.shown(name, value) for value in found)
            yield said("the runs differ in {what}: {values}", what=words, values=shown)
    dirty = int((frame.data["dirty"] == True).sum())  # noqa: E712
    if dirty:
        yield said(
            "{number} of {count} runs come from code with uncommitted changes",
            number=dirty,
            count=len(frame),
        )


def _steps(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows trained for different numbers of steps, unless they converged."""
    for panel in table.panels:
        cut = [entry.row for entry in panel if _cut(entry.row.runs).any()]
        steps = {int(n) for row in cut for n in row.costs("steps") if n > 0}
        if len(steps) > 1:
            yield said(
                "the compared rows were trained for {least} to {most} steps",
                least=min(steps),
                most=max(steps),
            )
            return


def _tuning(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows that were not tuned alike, or not tuned, and tuning runs that are left out."""
    runs = table.frame.only(table.frame.finished)
    ways = set(runs.data["tuned"])
    mechanisms = runs.groupby(name for name in ("model", "arch") if name in table.by).ngroups
    if len(ways) > 1:
        found: list[Phrase] = [*sorted(way for way in ways if way)]
        found += [said("not at all")] * (None in ways)
        tuned = joined(said("; "), found)
        yield said("the compared rows were not tuned alike: {ways}", ways=tuned)
    elif ways == {None} and RATE in table.same and mechanisms > 1 and _trained(runs):
        yield said(
            "no row was tuned ({setting} in all): {sweeper} tunes each",
            setting=f"{RATE}={setting_text(table.same[RATE])}",
            sweeper="hydra/sweeper=tuned",
        )
    if table.tuning_runs:
        runs_left_out = counted("{count} run", table.tuning_runs)
        yield said("means leave out {runs} made to tune settings", runs=runs_left_out)


def _trained(runs: Frame) -> bool:
    return "steps" in runs.metrics and bool((runs.data["steps"][_cut(runs)] > 0).any())


def _cut(runs: Frame) -> NDArray[np.bool_]:
    """Return which runs finished before they converged.

    Runs whose kernel narrows to the nearest neighbours do not count: their loss has no minimum.
    """
    checks = [run.summary.width_check for run in runs.runs]
    endless = np.array([check is not None and check.nearest for check in checks], np.bool_)
    if "converged_step" not in runs.metrics:
        return runs.finished & ~endless
    return runs.finished & ~endless & np.isnan(runs.data["converged_step"].to_numpy())


def _left_out(table: ResultsTable) -> Iterable[Phrase]:
    """Note runs that do not count in the means of their rows, or count as the worst value."""
    rows = [max(own, key=_at_worst) for own in table.entries]
    if diverged := sum(map(_at_worst, rows)):
        yield (
            said(
                "1 run diverged and counts as the worst value that the metric can have or "
                "that a run of the table has: to leave it out would favour its row"
            )
            if diverged == 1
            else said(
                "{count} runs diverged and count as the worst value that the metric can have or "
                "that a run of the table has: to leave them out would favour their rows",
                count=diverged,
            )
        )
    early = {str(why): sum(row.lost[why] for row in rows) for why in LOST[:-1] if why.is_repeated}
    if any(early.values()):
        yield said(
            "means leave out runs without a result ({states}), "
            "which may make their rows look better than they are",
            states=lost_text(early),
        )
    failed = Counter(
        clean(shortened(first_line(run.summary.error), 160))
        for run in table.frame.runs
        if run.status is Status.FAILED and not run.summary.diverged
    )
    for error, number in failed.most_common():
        yield said("{runs} failed: {error}", runs=counted("{count} run", number), error=error)
    for i, metric in enumerate(table.metrics):
        values = table.frame.data[metric][table.frame.finished]
        filled = sum(own[i].worst.get(Status.FINISHED, 0) for own in table.entries)
        if gone := int((~np.isfinite(values)).sum()) - filled:
            runs, name = counted("{count} finished run", gone), table.titles[metric]
            yield said("means leave out {runs} without a finite {metric}", runs=runs, metric=name)


def _older(table: ResultsTable) -> Iterable[Phrase]:
    """Note older runs that newer runs replace, with a separate note on runs of other code."""
    other = [one for one in table.older if one.run.summary.code != one.by.summary.code]
    if same := len(table.older) - len(other):
        runs = counted("{count} older run", same)
        yield said("means leave out {runs} of the same settings and seed", runs=runs)
    if other:
        digits = dict.fromkeys(code_digits(one.run.summary.code) for one in other)
        codes = listed(table.frame.shown("code", each) for each in digits)
        pairs = [(one.run.summary.code, one.by.summary.code) for one in other]
        changed = listed(sorted({name for pair in pairs for name in changed_modules(*pair)}))
        yield said(
            "means leave out {runs} of the same settings and seed, of other code "
            "({codes}; changed: {modules}), which count as an earlier analysis: {command}",
            runs=counted("{count} older run", len(other)),
            codes=codes,
            modules=changed,
            command=_by_code(table),
        )


def _several_codes(table: ResultsTable) -> Iterable[Phrase]:
    """Note rows whose runs have several versions of a module of the user's."""
    changed: set[str] = set()
    rows = []
    for entry in table.firsts:
        codes = [run.summary.code for run in entry.row.runs.runs if run.summary.code]
        texts = {module for code in codes for module in code.items()}
        several = {name for name, count in Counter(name for name, _ in texts).items() if count > 1}
        if several and "code" not in table.by:
            rows.append(row_in_list(table, entry))
            changed |= several
    if rows:
        yield said(
            "rows mix runs of several codes: {rows} (changed: {modules}): {command}",
            rows=listed(rows),
            modules=listed(sorted(changed)),
            command=_by_code(table),
        )


def _by_code(table: ResultsTable) -> str:
    """Return the command for the rows of a table, divided by the user's own code."""
    names = [table.short[name] for name in table.by if name != "code"]
    runs = [*table.frame.runs, *(one.run for one in table.older)]
    return f"attnexp results{clean(folder_words(runs))} --by {','.join([*names, 'code'])}"


def _at_worst(entry: TableEntry) -> int:
    """Return the number of diverged runs of a row that count as the worst value."""
    return sum(entry.worst.values())


NEGLIGIBLE = 0.001
"""The share of the standard deviation below which a difference is not worth more seeds."""

LEADING = (Word.BEST, Word.ALONE)
"""The verdicts of rows that others are compared with, or would be with shared seeds."""


@dataclass(frozen=True)
class Panel:
    """Rows of a table that are compared with each other."""

    table: ResultsTable
    rows: Sequence[TableEntry]

    @cached_property
    def unlike(self) -> list[TableEntry]:
        """The rows without rows that have the same numbers as the best row."""
        return unlike_best(self.rows)

    def able(self, rows: Iterable[TableEntry]) -> list[TableEntry]:
        """Return the rows to which seeds can be added.

        New runs have the code of the latest run. If rows are divided by code, rows of other code
        are left out.
        """
        by, commit = self.table.by, FACTS["commit"]
        if not {*OF_CODE} & {*by}:
            return list(rows)
        runs = [run.summary for run in self.table.frame.runs]
        runs.sort(key=lambda run: run.started or "")
        latest = {name: text for run in runs for name, text in run.code.items()}

        def is_able(run: Summary) -> bool:
            same_code = "code" not in by or run.code.items() <= latest.items()
            return same_code and ("commit" not in by or commit(run) == commit(runs[-1]))

        return [entry for entry in rows if is_able(entry.row.runs.runs[0].summary)]


def advice(tables: Sequence[ResultsTable], request: TableRequest) -> Iterator[Phrase]:
    """Yield sentences, each on all tables, about splits and rows without a verdict."""
    panels = [
        Panel(table, rows) for table in tables for panel in table.panels if (rows := _able(panel))
    ]
    fixed = [one.table for one in panels if one.table.only_data and len(one.rows) > 1]
    for only in dict.fromkeys(table.only_data for table in fixed):
        note = said(
            "more seeds say nothing about other data: {setting} is one data set, and several "
            "values of {name}, or none, draw others",
            setting=only,
            name="data_seed",
        )
        yield _of([table for table in fixed if table.only_data == only], tables, note)
    drawn = [one for one in panels if not one.table.only_data]
    split = [one.table for one in drawn if _overlap(one.rows)]
    if split:
        note = said(
            "intervals and verdicts are over splits of this file: more splits make them narrower "
            "only down to a floor that {ratio} sets ({source})",
            ratio="n_test / n_train",
            source="Nadeau and Bengio 2003",
        )
        yield _of(split, tables, note)
    compared = [one for one in drawn if len(one.rows) > 1 and not _overlap(one.rows)]
    rule = Rule("lower", request.equal_within)
    few = list(_few_seeds(compared, rule))
    yield from _unlike_seeds(panels, bool(few))
    yield from few
    yield from _closest_tie(compared, rule, several=len(tables) > 1)


def _able(panel: Sequence[TableEntry]) -> list[TableEntry]:
    """Return the rows that have a value of a metric that ranks."""
    return [entry for entry in panel if entry.seeds and entry.better]


def _overlap(rows: Sequence[TableEntry]) -> bool:
    return any(entry.overlap for entry in rows)


def _of(chosen: Sequence[ResultsTable], tables: Sequence[ResultsTable], note: Text) -> Text:
    """Return a note on the chosen tables, which names their data unless these are all tables."""
    names = dict.fromkeys(table.data_name for table in chosen if table.data)
    others = any(table.data_name not in names for table in tables)
    return said("{what}: {text}", what=listed(names), text=note) if names and others else note


def _unlike_seeds(panels: Sequence[Panel], few: bool) -> Iterator[Phrase]:
    """Yield how many seeds rows with unlike seeds share, and the command that adds missing seeds.

    If a sentence on `few` seeds follows, it has the command, and panels in which some row has all
    seeds are left out.
    """
    for unit in dict.fromkeys(one.table.unit for one in panels):
        shared, missing, lacking = set[int](), set[int](), list[TableEntry]()
        for panel in (one for one in panels if one.table.unit is unit):
            several = [entry for entry in panel.unlike if entry.spread.n > 1]
            every = set[int]().union(*(entry.seeds for entry in several))
            lack = [entry for entry in several if entry.seeds != every]
            if lack and (not few or len(lack) == len(several)):
                shared |= {len(a & b) for a, b in combinations([one.seeds for one in several], 2)}
                able = panel.able(lack)
                missing = missing.union(*(every - entry.seeds for entry in able))
                lacking += able
        if shared:
            how = _completing(lacking, missing, unit) if lacking and not few else ""
            yield joined("", [_shared_text(shared, unit), how])


def _shared_text(shared: set[int], unit: SampleUnit) -> Text:
    least, most = min(shared), max(shared)
    if not most:
        return said("no rows share {units}, and none compare", units=unit.many)
    if least < most:
        return said(
            "two rows share {least} to {most} {units}: only these compare",
            least=least,
            most=most,
            units=unit.many,
        )
    if most == 1:
        return said("1 {unit} is shared: only these compare", unit=Text(unit.one, unit.many.zh))
    return said("{count} {units} are shared: only these compare", count=most, units=unit.many)


def _completing(rows: Sequence[TableEntry], missing: set[int], unit: SampleUnit) -> Phrase:
    if unit is SEEDS:
        return _line(rows, sorted(missing))
    values = (f"{unit.column}={seed_list(part)}" for part in seed_parts([*missing]))
    return said("; complete them with {values}", values=listed(values))


def _few_seeds(compared: Sequence[Panel], rule: Rule) -> Iterator[Phrase]:
    """Yield how many rows have too few seeds for a verdict, and the command that adds them."""
    for unit in dict.fromkeys(one.table.unit for one in compared):
        number, rows, others = 0, list[TableEntry](), list[TableEntry]()
        older: Phrase = ""
        for panel in (one for one in compared if one.table.unit == unit):
            few = sum(_lacks_seeds(entry, rule) for entry in panel.unlike)
            number += few
            if few:
                found = [
                    entry
                    for entry in panel.unlike
                    if entry.standing.word in LEADING or _lacks_seeds(entry, rule)
                ]
                able = panel.able(found)
                if fewer := len(able) < len(found):
                    older = said("; runs of other code cannot be made again")
                kept = set(map(id, panel.unlike))
                if not fewer or len(able) > 1:
                    rows += able
                    others += panel.able(entry for entry in panel.rows if id(entry) not in kept)
        if number:
            how: Phrase = said(": add values of {setting}", setting="data_seed") if rows else ""
            if rows and unit is SEEDS:  # one command may run all rows, and none these alone
                how = to_share(rows, rule.least) or to_share([*rows, *others], rule.least)
            lacks = (
                said("1 row lacks a verdict")
                if number == 1
                else said("{count} rows lack a verdict", count=number)
            )
            yield said(
                "{lacks}, which takes at least {least} {units} that a row shares with the best "
                "one{older}{how}",
                lacks=lacks,
                least=rule.least,
                units=unit.many,
                older=older,
                how=how,
            )


def _lacks_seeds(entry: TableEntry, rule: Rule) -> bool:
    """Return whether a compared row has too few seeds for a verdict."""
    found = entry.standing.difference
    decided = (*LEADING, Word.WORSE)
    return entry.standing.word not in decided if found is None else found.pairs < rule.least


def _closest_tie(compared: Sequence[Panel], rule: Rule, several: bool) -> Iterator[Phrase]:
    """Yield the tie that fewest seeds would decide, and their number.

    Of ties over as many seeds, that is the one with the largest mean over the deviation. The
    sentence names the data if there are `several` tables.
    """
    clearest: dict[tuple[int, ...], tuple[float, Difference, Panel, TableEntry]] = {}
    for one in compared:
        for entry in one.rows:
            found, sd = entry.standing.difference, entry.spread.sd or 0.0
            if entry.standing.word is not Word.TIED or not found or not found.sd:
                continue
            effect = abs(found.mean) / found.sd
            alike = found.pairs, found.renewed, found.tests
            if abs(found.mean) > NEGLIGIBLE * sd and effect > clearest.get(alike, (0.0,))[0]:
                clearest[alike] = effect, found, one, entry
    tied = [
        (needed, found, panel, entry)
        for _, found, panel, entry in clearest.values()
        if (needed := seeds_needed(found, rule)) is not None
    ]
    if not tied:
        return
    needed, found, panel, entry = min(tied, key=lambda one: one[0])
    best = next(row for row in panel.rows if row.standing.word is Word.BEST)
    table, is_able = panel.table, len(panel.able([best, entry])) == 2
    note = said(
        "{pair} are not told apart; about {count} {units} would detect a difference of this size "
        "({size}) with 80% power{how}",
        pair=listed(row_name(table, one) for one in (best, entry)),
        count=needed,
        units=table.unit.many,
        size=number_text(abs(found.mean)),
        how=to_share([best, entry], needed) if is_able and table.unit is SEEDS else "",
    )
    named = several and table.data
    yield said("{what}: {text}", what=table.data_name, text=note) if named else note


def to_share(rows: Sequence[TableEntry], number: int) -> Phrase:
    """Return a colon and the command after which the rows share `number` seeds."""
    own = [entry.seeds for entry in rows]
    return _line(rows, next_seeds(own, max(0, number - len(set.intersection(*own)))))


def _line(rows: Sequence[TableEntry], seeds: Sequence[int]) -> Phrase:
    """Return a colon and the command that runs rows at missing seeds, empty without a command."""
    runs = [run for entry in rows if set(seeds) - entry.seeds for run in entry.row.runs.runs]
    # of runs with the same settings, which may have been typed in several ways, one is enough
    alike = {str(sorted(run.settings.items())): run.summary for run in runs}
    line = command(alike.values(), seeds) if alike else None
    return said(": {command}", command=line) if line else ""
