"""The runs of an exercise are held against its comparison, and the answer against the runs."""

from statistics import fmean

import pytest
from scipy import stats

from attnexp.course.comparison import check_comparison
from attnexp.course.exercise_file import ExerciseAnswer, ExerciseComparison
from attnexp.runs.summary import Tuning
from attnexp.select.collect import collect
from attnexp.stats.flips import interval

COMPARISON = ExerciseComparison(
    metric="test_mse",
    sides=({"model": "gaussian", "model.width": 1}, {"model": "dot"}),
    same={"data": "sine"},
)
FIRST = [0.50, 0.47, 0.52, 0.49, 0.51, 0.48, 0.53, 0.46]
SECOND = [0.10, 0.11, 0.09, 0.12, 0.10, 0.08, 0.13, 0.10]


@pytest.fixture
def write(regression_run):
    """Writes runs of a model, one a seed, each with the test error that is given."""

    def several(model, errors, settings=None, first_seed=0, data_seed=0, **changes):
        own = {"model.width": 1.0} if model == "gaussian" else {"model": {"scale": 1}}
        for seed, error in enumerate(errors, start=first_seed):
            data = {"data._target_": "data.Sine"}
            folder = regression_run(
                f"outputs/{model}-{seed}-{len(changes)}-{data_seed}",
                seed=seed,
                settings={**own, **data, "seed": seed, **(settings or {})},
                choices={"model": model},
                metrics={"test_mse": error},
                **changes,
            )
            if data_seed:
                other = regression_run(f"other/{model}-{seed}", seed=data_seed + seed)
                (other / "attention.safetensors").replace(folder / "attention.safetensors")

    return several


@pytest.fixture
def checked(tmp_path):
    """Checks what is below outputs/: all checks by their names."""

    def checks_of(**answer):
        runs = collect([tmp_path / "outputs"]).runs if (tmp_path / "outputs").exists() else []
        checks = list(check_comparison(COMPARISON, runs, ExerciseAnswer("bandwidth", **answer)))
        assert len({check.name for check in checks}) == len(checks)
        return {check.name: check for check in checks}

    return checks_of


@pytest.fixture
def verdict(checked, in_english):
    """Checks what is below outputs/: the sentence of each check that has not passed, by name."""

    def failed(**answer):
        checks = checked(**answer)
        return {
            name: in_english(check.sentence) for name, check in checks.items() if not check.passed
        }

    return failed


def right_answer(first=FIRST, second=SECOND, better="dot"):
    differences = [a - b for a, b in zip(first, second, strict=True)]
    first_part = 1 / 32
    low, high = interval(differences, first_part + (0.05 - first_part) * (1 - 6 / len(first)))
    return {"difference": fmean(differences), "low": low, "high": high, "better": better}


def student_answer(first=FIRST, second=SECOND, **answer):
    """The answer with the interval of SciPy's t test of paired values."""
    interval = stats.ttest_rel(first, second).confidence_interval(0.95)
    return {**right_answer(first, second), "low": interval.low, "high": interval.high, **answer}


def test_without_finished_runs_nothing_else_is_checked(write, verdict):
    (sentence,) = verdict().values()
    assert sentence.startswith("no finished run of model=gaussian model.width=1 and model=dot")
    write("gaussian", FIRST)
    write("dot", SECOND, status="failed")
    (sentence,) = verdict().values()
    assert sentence.startswith("no finished run of model=dot has data=sine and the number test_mse")


def test_the_answer(write, verdict):
    write("gaussian", FIRST)
    write("dot", SECOND)
    answer = right_answer()
    assert verdict(**answer) == {}
    rounded = {k: round(v, 3) if k != "better" else v for k, v in answer.items()}
    assert verdict(**rounded) == {}
    turned = {**answer, "difference": -answer["difference"]}
    assert set(verdict(**turned)) == {"difference"}
    unpaired = {**answer, "low": answer["low"] - 0.01}
    assert set(verdict(**unpaired)) == {"interval"}
    nan = float("nan")
    for missing in ({}, {"difference": nan, "low": nan, "high": nan}):
        assert set(verdict(**missing)) == {"difference", "interval", "conclusion"}


def test_a_number_may_be_off_by_a_twentieth_of_half_the_interval(write, verdict):
    write("gaussian", FIRST)
    write("dot", SECOND)
    answer = student_answer()
    half = (answer["high"] - answer["low"]) / 2
    assert verdict(**{**answer, "difference": answer["difference"] + 0.049 * half}) == {}
    for name, check in (("difference", "difference"), ("low", "interval"), ("high", "interval")):
        assert set(verdict(**{**answer, name: answer[name] - 0.051 * half})) == {check}


def test_students_interval_is_right_and_so_is_that_of_the_tables(write, checked):
    # One seed is far off, which makes the two intervals differ by more than what is allowed.
    first = [*FIRST[:-1], 0.95]
    write("gaussian", first)
    write("dot", SECOND)
    student, ours = student_answer(first), right_answer(first)
    assert ours["high"] - student["high"] > 0.03
    found = checked(**student)["interval"]
    assert found.passed
    assert "is Student's 95% interval of it" in found.sentence.en
    found = checked(**ours)["interval"]
    assert found.passed
    assert "is the interval of it by `attnexp results`" in found.sentence.en
    mixed = checked(**{**student, "low": ours["low"]})["interval"]
    assert not mixed.passed
    assert "is not the interval of it by `attnexp results` nor Student's" in mixed.sentence.en
    normal = 1.96 * stats.sem([a - b for a, b in zip(first, SECOND, strict=True)])
    ends = {"low": student["difference"] - normal, "high": student["difference"] + normal}
    assert not checked(**{**student, **ends})["interval"].passed


def test_another_setting_that_differs_is_named(write, verdict):
    write("gaussian", FIRST, settings={"arch.heads": 4})
    write("dot", SECOND)
    assert "arch.heads" in verdict(**right_answer())["one difference"]


def test_a_setting_that_was_tuned_for_each_side_may_differ(write, verdict):
    rates = {"optim.lr": ["0.01", "0.1"]}
    for model, errors, rate in (("gaussian", FIRST, 0.1), ("dot", SECOND, 0.01)):
        tuning = Tuning(values=rates, seeds=[8, 9], metric="loo_mse", tuning_run=False)
        write(model, errors, settings={"optim.lr": rate}, tuning=tuning)
    assert verdict(**right_answer()) == {}


def test_two_configurations_of_a_side_are_one_too_many(write, verdict):
    write("gaussian", FIRST)
    write("dot", SECOND[:4])
    write("dot", SECOND[4:], settings={"model": {"scale": 2}}, first_seed=4)
    assert "model.scale" in verdict(**right_answer())["one difference"]


def test_other_data_at_the_same_seeds_are_seen(write, verdict):
    write("gaussian", FIRST)
    write("dot", SECOND, data_seed=50)
    assert "seed 0, 1, 2, 3 and 4 more saw different data" in verdict(**right_answer())["same data"]


def test_six_seeds_are_enough_and_five_are_not(write, verdict):
    write("gaussian", FIRST[:5])
    write("dot", SECOND[:5])
    assert "seeds" in verdict(**right_answer(FIRST[:5], SECOND[:5], better="undecided"))
    write("gaussian", FIRST[5:6], first_seed=5)
    write("dot", SECOND[5:6], first_seed=5)
    assert verdict(**right_answer(FIRST[:6], SECOND[:6])) == {}


def test_a_seed_of_one_side_alone_is_named(write, verdict):
    write("gaussian", FIRST[:6])
    write("dot", SECOND)
    failed = verdict(**right_answer(FIRST[:6], SECOND[:6]))
    assert failed == {"paired": "seed 6 and 7 was run on one side alone"}


def test_a_difference_that_chance_makes_is_undecided(write, verdict):
    write("gaussian", FIRST)
    write("dot", FIRST[::-1])
    answer = right_answer(FIRST, FIRST[::-1], better="undecided")
    assert verdict(**answer) == {}
    assert set(verdict(**{**answer, "better": "dot"})) == {"conclusion"}
