"""Checks the runs of an exercise, and a student's answer from them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from attnexp.core.language import Text, said
from attnexp.course.exercise_file import (
    Check,
    ExerciseAnswer,
    ExerciseComparison,
    Setting,
    settings_text,
)
from attnexp.course.stated import is_or_not, missing_number, stated_difference
from attnexp.runs.folder import Run
from attnexp.runs.settings import cell
from attnexp.runs.user_code import changed_modules, user_code
from attnexp.select.configurations import without_repeats, without_tuning_runs
from attnexp.select.frame import Frame, make_frame
from attnexp.select.judge import judge
from attnexp.select.number import number_of
from attnexp.select.sample import Sample, sample_of_row, standings
from attnexp.stats.compare import Word, fewest_seeds
from attnexp.stats.paired import paired
from attnexp.tables.grid import listed

LEAST_SEEDS = fewest_seeds()

UNDECIDED = "undecided"


def check_comparison(
    comparison: ExerciseComparison, runs: Sequence[Run], answer: ExerciseAnswer
) -> Iterator[Check]:
    """Yield the checks in order, up to a failed one that the next ones need.

    Runs that tuned settings do not count; of the same settings and seed, the newest does. The
    user's own modules are sought on the import path. Raises RequestError for files of a run that
    cannot be read.
    """
    metric, labels = comparison.metric, comparison.labels
    measured = [run for run in runs if run.finished and number_of(run, metric) is not None]
    frame, _ = without_repeats(without_tuning_runs(make_frame(measured))[0])
    fits = [fitting(frame, {**comparison.same, **side}) for side in comparison.sides]
    sides = [frame.only(rows) for rows in fits]
    asked = list(map(settings_text, comparison.sides))
    missing = [text for text, side in zip(asked, sides, strict=True) if not len(side)]
    same = settings_text(comparison.same)
    problem = said(
        "no finished run of {rows} has {same} and the number {metric}",
        rows=listed(missing),
        same=same,
        metric=metric,
    )
    fine = said("{rows} were run with {same}", rows=listed(asked), same=same)
    yield _check("comparison", missing, problem, fine)
    if missing:
        return

    both = frame.only(fits[0] | fits[1])
    compared = sorted({name for side in comparison.sides for name in side})
    differing = [name for name in _differing(both, sides) if name not in compared]
    fine = said("the runs differ in {settings} alone", settings=listed(compared))
    yield _check("one difference", differing, also_differ(differing), fine)
    if differing:
        return

    first, second = ({run.seed: run for run in side.runs} for side in sides)
    if any(run.summary.code for run in both.runs):
        codes = [(run.summary.code, user_code(run.config)) for run in both.runs]
        changed = {module for code in codes for module in changed_modules(*code)}
        problem = said(
            "{modules} has changed since the runs: run both sides again",
            modules=listed(sorted(changed)),
        )
        fine = said("the runs are those of the code as it is now")
        yield _check("same code", changed, problem, fine)
    shared = sorted(first.keys() & second.keys())
    other = [seed for seed in shared if not _saw_the_same(first[seed], second[seed])]
    problem = said("the runs of seed {seeds} saw different data", seeds=listed(other))
    yield _check("same data", other, problem, said("both sides saw the same data at each seed"))
    alone = sorted(first.keys() ^ second.keys())
    problem = said("seed {seeds} was run on one side alone", seeds=listed(alone))
    yield _check("paired", alone, problem, said("each seed was run on both sides"))
    yield enough_seeds("seeds", len(shared))
    if len(shared) > 1:
        samples = [sample_of_row(side, metric) for side in sides]
        yield from _answered(labels, samples, answer)


def _check(name: str, problems: Collection[object], problem: Text, fine: Text) -> Check:
    return Check(name, not problems, problem if problems else fine)


def also_differ(settings: Iterable[str]) -> Text:
    """Return the sentence about settings in which runs differ that should not."""
    return said(
        "the runs also differ in {settings}: name others with {option}",
        settings=listed(settings),
        option="--runs",
    )


def enough_seeds(name: str, count: int) -> Check:
    """Return the check that there are enough seeds for a test, by its name."""
    needed = said("there are {count} seeds, and {least} are needed", count=count, least=LEAST_SEEDS)
    return Check(name, count >= LEAST_SEEDS, needed)


def fitting(frame: Frame, wanted: Mapping[str, Setting]) -> NDArray[np.bool_]:
    """Return whether each run of a frame has these settings and choices."""
    fits = np.ones(len(frame), dtype=bool)
    for name, value in wanted.items():
        found = frame.data[name] if name in frame.factors else [None] * len(frame)
        fits &= np.array([one == cell(value) for one in found], dtype=bool)
    return fits


def _differing(both: Frame, sides: Sequence[Frame]) -> Iterator[str]:
    """Yield the settings that differ between two sides, without those that were tuned for each.

    A setting of a choice that differs, such as model.width of model, counts if it has several
    values on one side.
    """
    for name in both.differing:
        within = name.partition(".")[0] in both.differing
        if name not in both.tuned and (not within or any(name in side.several for side in sides)):
            yield name


def _saw_the_same(one: Run, other: Run) -> bool:
    ours, theirs = one.attention.batch, other.attention.batch
    return all(np.array_equal(ours[name], theirs[name]) for name in ("keys", "values", "targets"))


def _answered(
    labels: tuple[str, str], samples: Sequence[Sample], answer: ExerciseAnswer
) -> Iterator[Check]:
    """Yield whether the answer has the paired difference, its interval and the right verdict."""
    standing, _ = standings(samples, reference=1)
    found = judge(samples[0], samples[1], standing, equal_within=0.0)
    difference = found.difference
    assert difference is not None
    ends = [difference.low, difference.high]
    differences = list(paired(samples[0].values, samples[1].values).values())
    name = said(
        "the mean of {first} minus {second}, paired by seed", first=labels[0], second=labels[1]
    )
    by_results = said("the interval of it by {command}", command="`attnexp results`")
    yield from stated_difference(answer, name, difference.mean, differences, {by_results: ends})
    right = {Word.BETTER: labels[0], Word.WORSE: labels[1]}.get(found.word, UNDECIDED)
    test = said("the conclusion of {command}", command="`attnexp results`")
    if found.because:
        test = said("the conclusion of Fisher's exact test ({because})", because=found.because)
    if answer.better is None:
        yield Check("conclusion", False, missing_number("better"))
        return
    passed = answer.better == right
    given, is_it = f"`better: {answer.better}`", is_or_not(passed)
    sentence = said("{answer} {is_it} {conclusion}", answer=given, is_it=is_it, conclusion=test)
    if not passed:
        choices = dict(zip(("first", "second", "third"), (*labels, UNDECIDED), strict=True))
        sentence = said("{text}: choose {first}, {second} or {third}", text=sentence, **choices)
    yield Check("conclusion", passed, sentence)
