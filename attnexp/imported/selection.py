"""The runs of a file with the settings, metrics and seeds that are asked for, each told apart."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from attnexp.core.console import count_text
from attnexp.core.errors import RequestError
from attnexp.imported.directions import LEFT_OUT, STEP, direction_of, rank_of
from attnexp.imported.naming import RUN, seed_in
from attnexp.imported.outside import SEED, ImportRequest, OutsideRun, require_names, seed_of
from attnexp.runs.secret import why_not_stored
from attnexp.runs.settings import GROUPS, Value, clean
from attnexp.runs.summary import Direction

CHOICES = frozenset(GROUPS) - {"experiment", "tracker"}
"""The settings that are choices in a group. Runs are not compared by the choices of the other two
groups, so a value of another program with such a name is a setting."""

NAMED = 3
"""The most names that a sentence lists."""


@dataclass(frozen=True, slots=True)
class SelectedRun:
    """A run with its seed, and the settings, metrics and curves of it that are asked for.

    `primary` is the metric that ranks, and `better` has the direction of each metric that has one.
    `headline` are the metrics that were asked for, and `telling` is the setting that its name is.
    """

    run: OutsideRun
    seed: int
    settings: Mapping[str, Value]
    metrics: Mapping[str, float]
    epochs: Sequence[Mapping[str, float]]
    primary: str | None
    better: Mapping[str, Direction]
    headline: Sequence[str]
    telling: str | None = None


@dataclass(frozen=True)
class Selection:
    """The runs that are imported. Each walk makes them anew, so that a million fit into memory.

    - `settings` and `metrics` are the names that are imported, `headline` the metrics that were
      asked for.
    - `primary` is the metric that ranks, and `better` has the direction of each metric that has
      one.
    - `seed` is the setting that is the seed, None if no run has recorded it. Then the seed is at
      the end of each name if `seed_in_name`, else 0.
    - `telling` is the setting that the names become, if they do.
    """

    runs: Collection[OutsideRun]
    settings: Sequence[str]
    metrics: Sequence[str]
    headline: Sequence[str]
    primary: str | None
    better: Mapping[str, Direction]
    seed: str | None
    seed_in_name: bool
    telling: str | None = None

    def __iter__(self) -> Iterator[SelectedRun]:
        for run in self.runs:
            seed = self.seed_of(run)
            if seed is not None:
                yield SelectedRun(
                    run=run,
                    seed=seed,
                    settings=dict(self._settings(run)),
                    metrics={
                        name: run.metrics[name] for name in self.metrics if name in run.metrics
                    },
                    epochs=self._epochs(run),
                    primary=self.primary,
                    better=self.better,
                    headline=self.headline,
                    telling=self.telling,
                )

    def seed_of(self, run: OutsideRun) -> int | None:
        """Return the seed of a run, None if it recorded no whole number from 0 on."""
        if self.seed is not None:
            return seed_of(run.settings.get(self.seed))
        found = seed_in(run.name or "") if self.seed_in_name else None
        return found[1] if found else 0

    def _epochs(self, run: OutsideRun) -> Sequence[Mapping[str, float]]:
        """Return the rows of the curves of the metrics that were asked for, or of all."""
        if not self.headline:
            return run.epochs
        known = {*self.headline, "epoch"}
        rows = [{name: value for name, value in row.items() if name in known} for row in run.epochs]
        return [row for row in rows if len(row) > 1]

    def _settings(self, run: OutsideRun) -> Iterator[tuple[str, Value]]:
        """Yield the settings as they are stored, and the name that tells runs apart."""
        for name in self.settings:
            if why := why_not_stored(name, run.settings.get(name)):
                raise RequestError(
                    f"{run.source}: {why}: leave it out with --settings, or rename the column"
                )
        yield from stored({name: run.settings.get(name) for name in self.settings})
        if self.telling and run.name:
            found = seed_in(run.name) if self.seed_in_name else None
            yield self.telling, clean(found[0] if found else run.name)


def stored(settings: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """Yield settings as they are stored: without missing ones, and a choice as text."""
    for name, value in settings.items():
        if value is not None:
            is_text = isinstance(value, str) or name in CHOICES
            yield stored_name(name), clean(str(value)) if is_text else value


def stored_name(setting: str) -> str:
    """Return the name of a setting in a run folder, in which `seed` is the seed."""
    return setting if setting != SEED else f"config.{SEED}"


@dataclass
class _Recorded:
    """The names that runs have recorded, gathered in one walk."""

    settings: dict[str, None] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)
    named: bool = False
    truths: set[str] = field(default_factory=set)
    bits: set[str] = field(default_factory=set)
    seeds_in_names: int = 0
    runs: int = 0
    first_name: str = ""
    silent: list[str] = field(default_factory=list)
    """Some of the runs without a number."""

    @classmethod
    def of(cls, runs: Iterable[OutsideRun]) -> "_Recorded":
        found = cls()
        for run in runs:
            found.settings |= dict.fromkeys(run.settings)
            found.metrics |= dict.fromkeys(run.metrics)
            for setting, value in run.settings.items():
                if value in (0, 1):
                    (found.truths if isinstance(value, bool) else found.bits).add(setting)
            name = run.name or ""
            found.named |= run.name is not None
            found.seeds_in_names += seed_in(name) is not None
            found.runs += 1
            found.silent += [run.source] * (not run.metrics and len(found.silent) <= NAMED)
            found.first_name = found.first_name or name
        return found


def select(
    runs: Collection[OutsideRun], request: ImportRequest, named: str | None = None
) -> tuple[Selection, list[str]]:
    """Return the requested part of the runs, and sentences about the decisions made.

    `named` is the setting that names became when runs were imported before.

    A run whose seed is not a whole number from 0 on, or that has none if others have one, is left
    out. Runs that agree in all settings and the seed are told apart by their names, which become a
    setting.

    Raises RequestError for names that no run has, if no run is left, and for two runs that nothing
    tells apart.
    """
    recorded = _Recorded.of(runs)
    _require_known(request, recorded)
    selection = _selection(runs, request, recorded)
    notes = _left_out(selection)
    telling = request.name_as or (named if recorded.named else None)
    selection = replace(selection, telling=None if telling in selection.settings else telling)
    selection, added = _told_apart(selection, recorded.named)
    if selection.seed_in_name:
        name = clean(recorded.first_name)
        notes.append(f"the seed is at the end of each name, as in {name}")
    elif selection.seed is None and recorded.seeds_in_names:
        ends = f"{recorded.seeds_in_names} of {recorded.runs} names end in a seed"
        notes.append(f"{ends}, which is not read: name all runs so, or none")
    if recorded.silent:
        others = ", ..." * (len(recorded.silent) > NAMED)
        notes.append(f"without a number: {', '.join(recorded.silent[:NAMED])}{others}")
    return selection, [*notes, *added, *_directions(selection, request.better)]


def _require_known(request: ImportRequest, recorded: _Recorded) -> None:
    """Raise RequestError for names that no run has, and for a setting that is none to compare."""
    settings = [*recorded.settings]
    require_names(request.settings or (), settings, "setting", "--settings")
    require_names(request.metrics or (), [*recorded.metrics], "recorded metric", "--metrics")
    if request.seed != SEED:
        require_names([request.seed], settings, "setting", "--seed")
        if STEP.fullmatch(request.seed):
            raise RequestError(f"--seed: '{request.seed}' says how far a run is, and is not a seed")
    if mixed := sorted(recorded.truths & recorded.bits & {*settings} - {request.seed}):
        raise RequestError(
            f"{mixed[0]} is true or false in some runs and 1 or 0 in others: write one of both"
        )


def _selection(
    runs: Collection[OutsideRun], request: ImportRequest, recorded: _Recorded
) -> Selection:
    """Return the requested part of the runs. Raises RequestError for names that make no sense."""
    seed = request.seed if request.seed in recorded.settings else None
    chosen = recorded.settings if request.settings is None else request.settings
    measured = request.metrics or [n for n in recorded.metrics if not LEFT_OUT.fullmatch(n)]
    if recorded.metrics and not measured:
        raise RequestError(
            f"{_several([*recorded.metrics])}: nothing says how good a run is, only how far; "
            "--metrics NAME takes such a number all the same"
        )
    if unknown := sorted({*request.better} - {*measured}):
        raise RequestError(f"--better: '{unknown[0]}' is not among the metrics that are imported")
    if request.name_as is not None:
        if not recorded.named:
            raise RequestError("--name-as: these runs have no names")
        if request.name_as in ({*chosen} - {seed}) | {*measured, SEED}:
            raise RequestError(f"--name-as: '{request.name_as}' is a setting or a metric already")
    ways = {name: request.better.get(name) or direction_of(name) for name in measured}
    return Selection(
        runs=runs,
        settings=[name for name in chosen if name != seed],
        metrics=measured,
        headline=request.metrics or (),
        primary=request.metrics[0] if request.metrics else min(measured, key=rank_of, default=None),
        better={name: way for name, way in ways.items() if way is not None},
        seed=seed,
        seed_in_name=seed is None and recorded.seeds_in_names == recorded.runs,
    )


def _told_apart(selection: Selection, are_named: bool) -> tuple[Selection, list[str]]:
    """Return the selection with the names as a setting if its runs need them to be told apart.

    If seeds at the ends of names leave two alike, the names are whole and each seed is 0.
    """
    if (alike := _alike(selection)) is None:
        return selection, []
    telling = selection.telling or _free(RUN, selection.settings)
    for seed_in_name in dict.fromkeys([selection.seed_in_name, False]) if are_named else ():
        told = replace(selection, telling=telling, seed_in_name=seed_in_name)
        if _alike(told) is None:
            return told, [
                "some runs differ in nothing but their names, so these are the setting "
                f"{clean(telling)} (--name-as SETTING calls that of a run otherwise)"
            ]
    raise RequestError(_collision(selection, *alike))


def _free(name: str, taken: Collection[str]) -> str:
    """Return a name, with `_name` behind it as often as it takes to be none of those taken."""
    while name in taken:
        name += "_name"
    return name


def _alike(selection: Selection) -> tuple[OutsideRun, OutsideRun, int] | None:
    """Return two runs with the same settings and seed, and the seed; None if there are none."""
    names = [*map(stored_name, selection.settings), selection.telling or ""]

    def key(one: SelectedRun) -> tuple[Value, ...]:
        return (one.seed, *(one.settings.get(name) for name in names))

    met: set[int] = set()
    for selected in selection:
        number = hash(key(selected))
        if number in met:  # two keys may have one hash
            same = (one.run for one in selection if key(one) == key(selected))
            first, second = [*islice(same, 2), None][:2]
            if first and second:
                return first, second, selected.seed
        met.add(number)
    return None


def _collision(selection: Selection, first: OutsideRun, second: OutsideRun, seed: int) -> str:
    """Return that two runs have the same settings and seed, and their other differences."""
    ours, theirs = ({**run.others, **run.settings} for run in (first, second))
    differing = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    sentence = f"{first.source} and {second.source} have the same settings and seed {seed}"
    steps = [name for name in differing if STEP.fullmatch(name)]
    if steps:
        return (
            f"{sentence}, and differ in {_several(steps)}: they are steps of one curve; keep the "
            "last line of each run"
        )
    if not differing:
        return f"{sentence}: keep the one that counts, or add a column in which they differ"
    return (
        f"{sentence}, and differ in {_several(differing)}: name the column that tells them apart "
        "by --settings, or by --seed"
    )


def _left_out(selection: Selection) -> list[str]:
    """Return the note on runs that have no seed. Raises RequestError if no run has one."""
    number, named = 0, []
    for run in selection.runs:
        if selection.seed_of(run) is None:
            number += 1
            seed = run.settings.get(str(selection.seed))
            if number <= NAMED:
                named.append(f"{run.source} has {'none' if seed is None else repr(seed)[:60]}")
    if not number:
        return []
    more = f", and {number - NAMED} more" if number > NAMED else ""
    sentence = f"the seed ({selection.seed}) is a whole number from 0 on; {', '.join(named)}{more}"
    if number == len(selection.runs):
        raise RequestError(sentence)
    return [f"left out {count_text(number, 'run')}: {sentence}"]


def _directions(selection: Selection, given: Mapping[str, Direction]) -> Iterator[str]:
    """Yield for each metric which values are better, and which one ranks."""
    for name in selection.metrics:
        way = selection.better.get(name)
        why = "as --better says" if name in given else "by its name; --better says otherwise"
        what = (
            f"{way} is better ({why})"
            if way
            else (
                f"does not rank: its name does not say which values are better, --better "
                f"'{clean(name)}=higher' or =lower does"
            )
        )
        yield f"{clean(name)}: {what}{'; it ranks' if way and name == selection.primary else ''}"


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(clean, names[:NAMED])) + more
