"""The head that matters most is the one that the interventions of the runs show."""

from statistics import fmean

import pytest
from scipy import stats

from attnexp.course.exercise_file import ExerciseAnswer, Heads
from attnexp.course.heads import check_heads
from attnexp.runs.probed import LEARNED, Probed, write_probed
from attnexp.select.collect import collect

ASKED = Heads(metric="exact_match", layer="cross.1", count=2, same={"data": "reverse"})
VALIDATED = [(0.2, 0.9), (0.8, 0.3), (0.1, 0.7), (0.5, 0.5), (0.9, 0.6), (0.4, 0.6)]
"""Exact match on the validation set without head 1 and without head 2, by seed."""

CHANGES = [(-0.7, -0.1), (-0.1, -0.6), (-0.8, -0.2), (-0.5, -0.4), (-0.2, -0.3), (-0.5, -0.1)]
"""The changes on the test set."""

RIGHT = {0: 1, 1: 2, 2: 1, 3: 1, 4: 2, 5: 1}
EITHER = {**RIGHT, 3: 2}


@pytest.fixture
def write(write_run):
    """Writes runs of the first seeds, with heads that were taken out of them."""

    def several(seeds=6, heads=2, settings=None, better="higher"):
        for seed in range(seeds):
            folder = write_run(
                f"dot-{seed}",
                {"seed": seed, **(settings or {})},
                choices={"data": "reverse", "model": "dot"},
                metrics={"exact_match": 0.9},
                better={"exact_match": better},
            )
            rows = [Probed("test", "decoded", LEARNED, {"exact_match": 0.9})]
            for head in range(heads):
                name, change = f"zero=cross.1.{head + 1}", CHANGES[seed][head]
                wrong = {"exact_match": 0.0, "exact_match_change": -0.99}  # under teacher forcing
                numbers = {"exact_match": 0.9 + change, "exact_match_change": change}
                validated = {"exact_match": VALIDATED[seed][head]}
                rows += [
                    Probed("test", "teacher", name, wrong),
                    Probed("test", "decoded", name, numbers),
                    Probed("validation", "teacher", name, validated),
                ]
            write_probed(folder, rows)

    return several


@pytest.fixture
def verdict(tmp_path, in_english):
    """Checks what is below outputs/: the sentence of each check that has not passed, by name."""

    def failed(asked=ASKED, **answer):
        runs = collect([tmp_path / "outputs"]).runs if (tmp_path / "outputs").exists() else []
        checks = list(check_heads(asked, runs, ExerciseAnswer("which_head", **answer)))
        return {check.name: in_english(check.sentence) for check in checks if not check.passed}

    return failed


def answer_of(heads):
    changes = [CHANGES[seed][head - 1] for seed, head in heads.items()]
    low, high = stats.t.interval(0.95, 5, loc=fmean(changes), scale=stats.sem(changes))
    return {"heads": heads, "difference": fmean(changes), "low": low, "high": high}


def test_the_heads_and_the_difference_without_them(write, verdict):
    write()
    assert verdict(**answer_of(RIGHT)) == {}
    assert set(verdict()) == {"heads", "difference", "interval"}


def test_of_heads_that_tie_each_is_right_with_its_own_difference(write, verdict):
    write()
    assert verdict(**answer_of(EITHER)) == {}
    mixed = {**answer_of(RIGHT), "heads": EITHER}
    assert set(verdict(**mixed)) == {"difference", "interval"}


def test_a_seed_whose_head_is_wrong_or_missing_is_named(write, verdict):
    write()
    answer = {**answer_of(RIGHT), "heads": {**RIGHT, 1: 1}}
    assert verdict(**answer)["heads"].startswith("not named at seed 1: ")
    answer["heads"] = {seed: head for seed, head in RIGHT.items() if seed != 4}
    assert verdict(**answer)["heads"].startswith("not named at seed 4: ")


def test_one_head_of_all_seeds_is_wrong(write, verdict):
    """The mistake that the exercise is about."""
    write()
    assert set(verdict(**answer_of(dict.fromkeys(range(6), 1)))) == {
        *("heads", "difference", "interval")
    }


def test_heads_that_were_not_taken_out_are_asked_for(write, verdict):
    write(heads=1)
    assert set(verdict()) == {"probed"}
    assert "attnexp probe RUNS zero=cross.1.1 zero=cross.1.2" in verdict()["probed"]


def test_five_seeds_are_too_few(write, verdict):
    write(seeds=5)
    assert verdict()["seeds"] == "there are 5 seeds, and 6 are needed"


def test_runs_of_two_configurations_are_refused(write, verdict, write_run):
    write(settings={"arch.heads": 2})
    write_run(
        "other",
        {"arch.heads": 4},
        choices={"data": "reverse", "model": "dot"},
        metrics={"exact_match": 0.5},
    )
    assert verdict() == {
        "one configuration": "the runs also differ in arch.heads: name others with --runs"
    }


def test_without_runs_nothing_else_is_checked(verdict):
    assert verdict() == {"runs": "no finished run has data=reverse and the number exact_match"}


def test_the_worst_value_of_a_metric_that_should_be_low_is_the_largest(write, verdict):
    write(better="lower")
    assert verdict(**answer_of({0: 2, 1: 1, 2: 2, 3: 1, 4: 1, 5: 2})) == {}
