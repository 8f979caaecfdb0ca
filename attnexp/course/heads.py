"""Checks which head of a trained model matters most, from its interventions."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from attnexp.core.language import said
from attnexp.course.comparison import also_differ, enough_seeds, fitting
from attnexp.course.exercise_file import Check, ExerciseAnswer, Heads, settings_text
from attnexp.course.stated import missing_number, stated_difference
from attnexp.runs.folder import Run
from attnexp.runs.probed import CHANGE, on_test
from attnexp.select.configurations import without_repeats, without_tuning_runs
from attnexp.select.frame import make_frame
from attnexp.tables.grid import listed


def check_heads(asked: Heads, runs: Sequence[Run], answer: ExerciseAnswer) -> Iterator[Check]:
    """Yield the checks in order, up to a failed one that the next ones need.

    The head of a seed that matters most is the one without which the metric on the validation set
    is worst; if several are, each of them is right. The difference is that on the test set. Runs
    that tuned settings do not count; of the same settings and seed, the newest does. Raises
    RequestError for files of a run that cannot be read.
    """
    measured = [run for run in runs if run.finished and asked.metric in run.metrics]
    frame, _ = without_repeats(without_tuning_runs(make_frame(measured))[0])
    chosen = frame.only(fitting(frame, asked.same))
    same = settings_text(asked.same)
    there = bool(len(chosen))
    sentence = said("runs have {settings}", settings=same)
    if not there:
        sentence = said(
            "no finished run has {settings} and the number {metric}",
            settings=same,
            metric=asked.metric,
        )
    yield Check("runs", there, sentence)
    if not there:
        return
    differing = chosen.differing
    fine = said("the runs differ in {settings} alone", settings="seed")
    yield Check("one configuration", not differing, also_differ(differing) if differing else fine)
    if differing:
        return

    by_seed = {run.seed: run for run in chosen.runs}
    yield enough_seeds("seeds", len(by_seed))
    found = {seed: _without(asked, run) for seed, run in sorted(by_seed.items())}
    all_heads = set(range(1, asked.count + 1))
    lacking = [seed for seed, heads in found.items() if heads.keys() != all_heads]
    words = " ".join(map(asked.without, sorted(all_heads)))
    sentence = said("each of the {count} heads was taken out at each seed", count=asked.count)
    if lacking:
        command = f"attnexp probe RUNS {words}"
        sentence = said(
            "seed {seeds} lacks heads that were taken out: {command}",
            seeds=listed(lacking),
            command=command,
        )
    yield Check("probed", not lacking, sentence)
    if lacking:
        return

    sign = -1 if chosen.better.get(asked.metric) == "lower" else 1
    yield from _answered(asked.metric, found, sign, answer)


def _answered(
    metric: str,
    found: Mapping[int, Mapping[int, tuple[float, float]]],
    sign: int,
    answer: ExerciseAnswer,
) -> Iterator[Check]:
    """Yield whether an answer has the head of each seed, and the difference without them.

    `found` has what `_without` returns, by seed. The metric is worst where it is `sign` least.
    """
    worst = {seed: _worst(own, sign) for seed, own in found.items()}
    given = answer.heads or {}
    wrong = [seed for seed, heads in worst.items() if given.get(seed) not in heads]
    head = said("the head without which {metric} on the validation set is worst", metric=metric)
    sentence = said("named at each seed: {head}", head=head)
    if not given:
        sentence = missing_number(head)
    elif wrong:
        sentence = said("not named at seed {seeds}: {head}", head=head, seeds=listed(wrong))
    yield Check("heads", not wrong, sentence)
    if len(found) > 1:
        named = {s: given[s] if given.get(s) in heads else heads[0] for s, heads in worst.items()}
        changes = [found[seed][head][1] for seed, head in named.items()]
        name = said(
            "the mean of {metric} without the head of each seed minus with it", metric=metric
        )
        yield from stated_difference(answer, name, fmean(changes), changes, {})


def _worst(found: Mapping[int, tuple[float, float]], sign: int) -> list[int]:
    """Return the heads without which the metric on the validation set is worst, times `sign` least.

    `found` is what `_without` returns.
    """
    costs = {head: sign * value for head, (value, _) in found.items()}
    return [head for head, cost in costs.items() if cost == min(costs.values())]


def _without(asked: Heads, run: Run) -> dict[int, tuple[float, float]]:
    """Return the metric on the validation set, and its change on the test set, without each head.

    Heads that were not taken out on both sets are missing.
    """
    validated = {row.intervention: row.numbers for row in run.interventions if row.split != "test"}
    tested = on_test(run.interventions)
    found = {}
    for head in range(1, asked.count + 1):
        name = asked.without(head)
        value = validated.get(name, {}).get(asked.metric)
        change = tested.get(name, {}).get(asked.metric + CHANGE)
        if value is not None and change is not None:
            found[head] = (value, change)
    return found
