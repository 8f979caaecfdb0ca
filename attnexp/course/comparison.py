"""Checks the runs of an exercise, and a student's answer from them."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from attnexp.course.exercise_file import (
    Check,
    ExerciseAnswer,
    ExerciseComparison,
    Setting,
    settings_text,
)
from attnexp.course.stated import stated_difference
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
    problem = f"no finished run of {' and of '.join(missing)} has {same} and a {metric}"
    yield _check("comparison", missing, problem, f"{' and '.join(asked)} were run with {same}")
    if missing:
        return

    both = frame.only(fits[0] | fits[1])
    compared = sorted({name for side in comparison.sides for name in side})
    differing = [name for name in _differing(both, sides) if name not in compared]
    problem = (
        f"the runs also differ in {listed(differing).en}: compare two configurations that differ "
        f"in {listed(compared).en} alone, or name other runs with --runs"
    )
    fine = f"the runs differ in {listed(compared).en} alone"
    yield _check("one difference", differing, problem, fine)
    if differing:
        return

    first, second = ({run.seed: run for run in side.runs} for side in sides)
    if any(run.summary.code for run in both.runs):
        codes = [(run.summary.code, user_code(run.config)) for run in both.runs]
        changed = {module for code in codes for module in changed_modules(*code)}
        problem = f"{listed(sorted(changed)).en} has changed since the runs: run both sides again"
        yield _check("same code", changed, problem, "the runs are those of the code as it is now")
    shared = sorted(first.keys() & second.keys())
    other = [seed for seed in shared if not _saw_the_same(first[seed], second[seed])]
    problem = f"the runs of seed {listed(other).en} saw different data on the two sides"
    yield _check("same data", other, problem, "both sides saw the same data at each seed")
    alone = sorted(first.keys() ^ second.keys())
    problem = f"seed {listed(alone).en} was run on one side alone"
    yield _check("paired", alone, problem, "each seed was run on both sides")
    sentence = f"{len(shared)} seeds are on both sides, and at least {LEAST_SEEDS} are needed"
    yield Check("seeds", len(shared) >= LEAST_SEEDS, sentence)
    if len(shared) > 1:
        samples = [sample_of_row(side, metric) for side in sides]
        yield from _answered(labels, samples, answer)


def _check(name: str, problems: Collection[object], problem: str, fine: str) -> Check:
    return Check(name, not problems, problem if problems else fine)


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
    name = f"the mean of {' minus '.join(labels)}"
    by_results = {"the 95% interval of it by `attnexp results`": ends}
    yield from stated_difference(answer, name, difference.mean, differences, by_results)
    right = {Word.BETTER: labels[0], Word.WORSE: labels[1]}.get(found.word, UNDECIDED)
    text = "the conclusion of the paired test by which `attnexp results` compares rows"
    if found.because:
        text = f"the conclusion of Fisher's exact test: {found.because}"
    if answer.better == right:
        yield Check("conclusion", True, f"`better: {right}` is {text}")
    else:
        choices = f"choose {labels[0]}, {labels[1]} or {UNDECIDED}"
        yield Check("conclusion", False, f"`better: {answer.better}` is not {text}: {choices}")
