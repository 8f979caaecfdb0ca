"""Checks which head of a trained model matters most, from its interventions."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from attnexp.course.comparison import LEAST_SEEDS, fitting
from attnexp.course.exercise_file import ANSWER, Check, ExerciseAnswer, Heads, settings_text
from attnexp.course.stated import stated_difference
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
    problem = f"no finished run has {same} and a number {asked.metric}"
    yield Check("runs", there, f"runs have {same}" if there else problem)
    if not there:
        return
    differing = chosen.differing
    problem = f"the runs also differ in {listed(differing).en}: name others with --runs"
    fine = "the runs differ in the seed alone"
    yield Check("one configuration", not differing, problem if differing else fine)
    if differing:
        return

    by_seed = {run.seed: run for run in chosen.runs}
    enough = f"{len(by_seed)} seeds were run, and at least {LEAST_SEEDS} are needed"
    yield Check("seeds", len(by_seed) >= LEAST_SEEDS, enough)
    found = {seed: _without(asked, run) for seed, run in sorted(by_seed.items())}
    all_heads = set(range(1, asked.count + 1))
    lacking = [seed for seed, heads in found.items() if heads.keys() != all_heads]
    words = " ".join(map(asked.without, sorted(all_heads)))
    seeds = listed(lacking).en
    problem = f"seed {seeds} lacks heads that were taken out: attnexp probe RUNS {words}"
    fine = f"each of the {asked.count} heads was taken out at each seed"
    yield Check("probed", not lacking, problem if lacking else fine)
    if lacking:
        return

    sign = -1 if chosen.better.get(asked.metric) == "lower" else 1
    worst = {seed: _worst(own, sign) for seed, own in found.items()}
    given = answer.heads or {}
    wrong = [seed for seed, heads in worst.items() if given.get(seed) not in heads]
    about = f"the head without which {asked.metric} on the validation set is worst"
    if not given:
        sentence = f"{about}, of each seed, is missing from {ANSWER}"
    elif wrong:
        sentence = f"`heads` does not name {about} at seed {listed(wrong).en}"
    else:
        sentence = f"`heads` names {about} at each seed"
    yield Check("heads", not wrong, sentence)
    if len(found) > 1:
        named = {s: given[s] if given.get(s) in heads else heads[0] for s, heads in worst.items()}
        changes = [found[seed][head][1] for seed, head in named.items()]
        name = f"the mean of {asked.metric} without the head of each seed minus with it"
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
