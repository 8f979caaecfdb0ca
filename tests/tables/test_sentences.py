"""What a table says in sentences: its verdict, the reasoning, and what to run next."""

import json
import re

import numpy as np
import pytest
from english import report_of

from attnexp.core.language import in_language
from attnexp.stats.compare import Rule, Word, compare
from attnexp.stats.power import seeds_needed
from attnexp.tables.entries import TableRequest
from attnexp.tables.formats import as_json
from attnexp.tables.reports import configurations_report
from attnexp.tables.screen import as_text

ONE = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]


def told(runs, **request):
    return report_of(runs, TableRequest(**request))


def told_in_chinese(runs, **request):
    (verdict,) = configurations_report(runs, TableRequest(**request)).verdicts
    return in_language(verdict, "zh")


def test_the_verdict_names_the_best_the_worse_and_the_undecided(sweep_of):
    near = [0.1, 0.24, 0.11, 0.14, 0.19, 0.1]
    runs = sweep_of({"a": ONE, "b": [value + 1 for value in ONE], "c": near})
    (verdict,) = told(runs).verdicts
    assert verdict == (
        "a has the lowest mean test_mse, 0.1433. Worse: b by 1. Not told apart from it: c"
    )
    assert "Equal to it: c" in told(runs, equal_within=0.5).verdicts[0]


@pytest.mark.parametrize(
    ("rows", "request_", "chinese"),
    [
        ({"a": 0, "b": 1}, {}, "a 的 test_mse 均值最低，为 0.1433。较差：b（相差 1）"),
        (
            {"a": 0, "b": 1, "c": 2, "d": 3},
            {},
            "a 的 test_mse 均值最低，为 0.1433。较差：b（相差 1）、c（相差 2）和 d（相差 3）",
        ),
        (
            {"a": 0, "b": 1, "c": 0},
            {"equal_within": 0.5},
            "a 和 c 的 test_mse 均值最低，为 0.1433。较差：b（相差 1）",
        ),
    ],
)
def test_a_verdict_is_whole_in_chinese(sweep_of, rows, request_, chinese):
    runs = sweep_of({name: [value + more for value in ONE] for name, more in rows.items()})
    assert told_in_chinese(runs, **request_) == chinese


@pytest.mark.parametrize(
    ("values", "chinese"),
    [
        ({"a": [0.1, 0.2], "b": [0.5, 0.6]}, "种子太少，无法判定：b 在 2 个种子中的 2 个上较差"),
        ({"a": [0.1], "b": [0.5]}, "单个种子：a 的 test_mse 最低，为 0.1"),
    ],
)
def test_a_verdict_on_few_seeds_is_whole_in_chinese(sweep_of, values, chinese):
    assert told_in_chinese(sweep_of(values)).endswith(chinese)


def test_too_few_seeds_are_named_with_what_was_seen(sweep_of):
    report = told(sweep_of({"a": [0.1, 0.2], "b": [0.5, 0.6], "c": [0.7, 0.9], "d": [0.3, 0.1]}))
    seen = "d worse on 1 of 2 seeds; b and c worse on 2 of 2 seeds"
    assert report.verdicts[0].endswith(f"Too few seeds for a verdict: {seen}")
    assert any("3 rows lack a verdict, which takes at least 6" in note for note in report.notes)


def test_the_reasoning_is_told_where_it_is_asked_for(sweep_of):
    runs = sweep_of({"a": ONE, "b": [value + 1 for value in ONE]})
    _, reasons = told(runs, explain=True).verdicts
    assert reasons.startswith("b against a: 6 pairs of results, one per seed.")
    assert "2^6 = 64 ways" in reasons
    assert reasons.endswith(
        "p = 0.03125, corrected for 2 rows; at most what may be spent up to the analysis of this "
        "verdict, 0.03125: worse."
    )


def test_a_tie_names_the_seeds_that_would_find_its_difference(sweep_of):
    runs = sweep_of({"a": ONE, "c": [0.13, 0.19, 0.16, 0.11, 0.21, 0.14]})
    (note,) = (note for note in told(runs).notes if "80% power" in note)
    assert "a and c are not told apart" in note
    assert "seeds would detect a difference of this size (0.01333) with 80% power" in note


def test_a_tie_that_so_many_seeds_mostly_find_takes_one_more(sweep_of):
    """The third row is as clear under another choice of signs, so six seeds are not enough.

    After them, seven and eight may spend too little.
    """
    near = [1.0, 1.5, 2.0, 1.0, 1.2, 1.1]
    runs = sweep_of({"a": [0.0] * 6, "b": near, "c": [9.0, -5.0, 9.0, -5.0, 9.0, -5.0]})
    (note,) = (note for note in told(runs).notes if "80% power" in note)
    assert (
        "a and b are not told apart; about 9 seeds would detect a difference of this size (1.3)"
        in note
    )


def test_rows_of_equal_means_are_named_together(sweep_of):
    report = told(sweep_of({"a": [1.0] * 6, "b": [1.0] * 6, "c": [2.0] * 6}))
    assert report.verdicts == ["a and b have the lowest mean test_mse, 1. Worse: c by 1"]


def test_a_setting_that_is_null_is_named(frame):
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": "g", "model.width": width},
                {"choices": {"model": "g"}, "metrics": {"test_mse": value + seed}},
            )
            for width, value in ((None, 1.0), (2, 3.0))
            for seed in range(6)
        )
    )
    report = told(runs)
    assert report.verdicts == [
        "model.width=null has the lowest mean test_mse, 3.5. Worse: model.width=2 by 2"
    ]
    assert [row[1].text for row in report.grids[0].rows[:2]] == ["null", "2"]


def test_a_negligible_difference_gets_no_advice(sweep_of):
    other = [v + gap for v, gap in zip(ONE, [4e-5, -2e-5, 1e-5, -1e-5, 2e-5, -3e-5], strict=True)]
    assert not any("80% power" in note for note in told(sweep_of({"a": ONE, "b": other})).notes)


def test_the_floor_is_that_of_the_level_that_pairs_of_rows_share(sweep_of):
    """Eight rows are 28 pairs: as many seeds show larger differences than between two rows."""
    rng = np.random.default_rng(0)
    rows = {name: rng.normal(size=10).tolist() for name in "abcdefgh"}

    def floors(runs):
        told_all = told(runs, explain=True).verdicts
        (text,) = (each for each in told_all if "smallest difference" in each)
        counts, sizes = re.search(
            r"two rows that (.*) seeds show .* more is (.*)\.$", text
        ).groups()
        sd = float(re.search(r"best row is ([0-9.e-]+)\.", text)[1])
        numbers = [re.findall(r"[0-9.]+", words) for words in (counts, sizes)]
        return [(int(n), float(size) / sd) for n, size in zip(*numbers, strict=True)]

    two, eight = floors(sweep_of({name: rows[name] for name in "ab"})), floors(sweep_of(rows))
    assert [n for n, _ in two] == [6, 10, 20]
    # Student's t of five degrees of freedom at 1/32 over 28 pairs: 3.4 standard deviations
    assert [n for n, _ in eight] == [6, 10, 20]
    assert [size for _, size in two] == pytest.approx([1.79, 1.06, 0.67], abs=0.01)
    assert [size for _, size in eight] == pytest.approx([3.38, 1.80, 1.04], abs=0.01)


def by_points(frame, values):
    """Return a run for each seed of a model and a number of training points."""
    return frame(
        *(
            (
                {"seed": seed, "model._target_": model, "data.num_train": points},
                {"choices": {"model": model, "data": "sine"}, "metrics": {"test_mse": value}},
            )
            for (model, points), several in values.items()
            for seed, value in enumerate(several)
        )
    )


def test_a_verdict_says_of_which_rows_it_speaks(frame):
    """More points give a lower error than any row that is compared."""
    values = {("a", 50): (1.0, 1.1), ("b", 50): (2.0, 2.2), ("a", 400): (0.1, 0.2)}
    (verdict,) = told(by_points(frame, values)).verdicts
    assert verdict.startswith("Of the rows with data.num_train=50, a has the lowest mean test_mse")


def settings_of(frame, *rows):
    """Return six runs for each pair of settings and the mean of a metric."""
    return frame(
        *(
            (
                {"seed": seed, "model._target_": "g", **settings},
                {"choices": {"model": "g"}, "metrics": {"test_mse": value + seed - 2.5}},
            )
            for settings, value in rows
            for seed in range(6)
        )
    )


def test_a_row_that_has_none_of_the_settings_has_a_name(frame):
    assert told(settings_of(frame, ({}, 1), ({"a": 2}, 4))).verdicts == [
        "the row without a has the lowest mean test_mse, 1. Worse: a=2 by 3"
    ]
    assert told(settings_of(frame, ({}, 9), ({"x.a": 2}, 4))).verdicts == [
        "x.a=2 has the lowest mean test_mse, 4. Worse: the row without x.a by 5"
    ]
    assert told(settings_of(frame, ({}, 1), ({"a": 2}, 3), ({"a": 2, "b": 5}, 4))).verdicts == [
        "the row without a and b has the lowest mean test_mse, 1. Worse: a=2 by 2 and a=2, b=5 by 3"
    ]
    _, reason = told(settings_of(frame, ({}, 1), ({"a": 2}, 4)), explain=True).verdicts[:2]
    assert reason.startswith("a=2 against the row without a: 6 pairs")


def test_a_row_without_settings_among_others_is_whole_in_chinese(frame):
    runs = settings_of(frame, ({}, 9), ({"a": 2}, 3), ({"a": 2, "b": 5}, 8))
    chinese = (
        "a=2 的 test_mse 均值最低，为 3。较差：a=2, b=5（相差 5）和 没有 a 和 b 的一行（相差 6）"
    )
    assert told_in_chinese(runs) == chinese


def test_rows_that_have_none_of_the_data_settings_are_named(frame):
    rows = [({"data.n": 5}, 5), ({"data.n": 5, "z": 1}, 9), ({}, 1), ({"z": 1}, 2)]
    found = told(settings_of(frame, *rows)).verdicts
    assert [each.partition(", ")[0] for each in found] == [
        "Of the rows with data.n=5",
        "Of the rows with no data.n",
    ]


@pytest.mark.parametrize(
    ("alone", "better", "beginning"),
    [
        (5.0, "higher", "Of the rows with several seeds, b has the highest mean test_mse, 1.25"),
        (1.25, "higher", "b has the highest mean test_mse, 1.25"),
        (0.5, "higher", "b has the highest mean test_mse, 1.25"),
        (0.5, "lower", "Of the rows with several seeds, c has the lowest mean test_mse, 1"),
        (1.1, "lower", "c has the lowest mean test_mse, 1"),
    ],
)
def test_a_better_row_of_one_seed_is_left_out_in_words(sweep_of, alone, better, beginning):
    rows = {"a": [alone], "b": [1.0, 1.5], "c": [1.0, 1.0]}
    (verdict,) = told(sweep_of(rows, better={"test_mse": better})).verdicts
    assert verdict.partition(". ")[0] == beginning


def test_rows_with_data_and_several_seeds_are_named_together(frame):
    values = {("a", 50): [0.1], ("b", 50): [2.0, 2.2], ("c", 50): [3.0, 4.0], ("a", 9): [0.1, 0.2]}
    (verdict,) = told(by_points(frame, values)).verdicts
    assert verdict.startswith(
        "Of the rows with data.num_train=50 and several seeds, b has the lowest mean test_mse, 2.1"
    )


def test_one_seed_has_no_verdict(sweep_of):
    (verdict,) = told(sweep_of({"a": [1.0], "b": [2.0]})).verdicts
    assert verdict == "One seed: a has the lowest test_mse, 1"


def test_at_most_three_notes_stand_below_a_table(sweep_of):
    runs = sweep_of(
        {"a": [1.0, None], "b": [2.0, 3.0]}, choices={"train": "regression"}, metrics={"steps": 9.0}
    )
    for name in ("torch", "device", "attnexp"):
        runs.data[name] = list("1234")
    report, explained = told(runs), told(runs, explain=True)
    assert (len(report.notes), len(report.further)) == (3, 3)
    assert report.notes[0].startswith("means leave out 1 finished run")
    assert "3 more notes: --explain" in as_text(report)
    assert [*report.notes, *report.further] == list(explained.notes)
    assert "more notes" not in as_text(explained)
    assert json.loads(as_json(report))["notes"] == list(explained.notes)


def test_equal_rows_of_one_seed_are_named_together(sweep_of):
    (verdict,) = told(sweep_of({"a": [0.5], "b": [0.25], "c": [0.25]})).verdicts
    assert verdict == "One seed: b and c have the lowest test_mse, 0.25"


def test_no_row_leads_if_none_shares_its_seeds(frame):
    """One row has two seeds, others one: there is nothing to compare them by."""
    rows = (("a", 1, 0.5), ("a", 2, 0.25), ("b", 3, 0.1))
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": model},
                {"choices": {"model": model}, "metrics": {"test_mse": value}},
            )
            for model, seed, value in rows
        )
    )
    assert not told(runs).verdicts


def test_the_notes_that_are_left_are_those_that_explain_adds(sweep_of):
    runs = sweep_of({"a": [0.1, 0.2], "b": [0.2, 0.3], "c": [None, 0.4]})
    report, explained = told(runs), told(runs, explain=True)
    assert {*report.notes, *report.further} == {*explained.notes}
    assert not {*report.notes} & {*report.further}


def test_rows_whose_fit_features_would_mend_are_named(frame):
    note = "this score is made of products of x: add arch.features=16 to the command"
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": model},
                {
                    "choices": {"model": model},
                    "metrics": {"test_mse": value + seed / 10},
                    "notes": [note] * (model == "dot"),
                },
            )
            for model, value in (("dot", 1.6), ("additive", 0.1))
            for seed in range(2)
        )
    )
    (found,) = [text for text in told(runs).notes if "arch.features=16" in text]
    assert found.endswith("add arch.features=16 to dot")


def at_seeds(frame, rows):
    """Runs of rows, by name, with a value at each seed."""
    return frame(
        *(
            (
                {"seed": seed, "model._target_": name},
                {"choices": {"model": name}, "metrics": {"test_mse": value}},
            )
            for name, values in rows.items()
            for seed, value in values.items()
        )
    )


def test_a_row_with_lucky_seeds_is_not_called_the_best(frame):
    """The mean over the own seeds of b is lower, and b is behind at each seed that both have."""
    one = {14: 9.0} | dict.fromkeys(range(15, 22), 1.0)
    two = dict.fromkeys(range(15, 22), 1.5) | {22: 0.0}
    runs = at_seeds(frame, {"b": two, "a": one})
    report = told(runs)
    (verdict,) = report.verdicts
    assert verdict == "On shared seeds the best by test_mse: a. Worse: b by 0.5"
    assert told_in_chinese(runs) == "按 test_mse，在共有的种子上最优：a。较差：b（相差 0.5）"
    shown = [(row[0].text, row[3].text) for row in report.grids[0].rows]
    assert shown == [("a", "2"), ("b", "1.312")]  # the means over the own seeds


def test_rows_that_beat_one_another_in_a_circle_have_no_best(frame):
    a, b, c = range(8), range(20, 32), range(40, 52)
    rows = {
        "x": dict.fromkeys(a, 0.0) | dict.fromkeys(b, 4.0),
        "y": dict.fromkeys(a, 1.0) | dict.fromkeys(c, -4.0),
        "z": dict.fromkeys([*b, *c], 0.0),
        "alone": dict.fromkeys(range(90, 98), -1.0),
    }
    runs = at_seeds(frame, rows)
    report = told(runs)
    (verdict,) = report.verdicts
    beats = re.findall(r"(\w+) beats (\w+)", verdict)
    assert sorted(beats) == [("x", "y"), ("y", "z"), ("z", "x")]
    assert verdict.startswith("No row is the best")
    assert "胜过" in told_in_chinese(runs)
    records = json.loads(as_json(report))["rows"]
    standings = {each["model"]: each["standing"] for each in records}
    assert standings == {"x": "worse", "y": "worse", "z": "worse", "alone": "alone"}
    assert [each["model"] for each in records][-1] == "alone"
    assert not any("lack" in note for note in report.notes)


def test_rows_that_share_one_seed_or_none_with_the_best_have_all_formats(frame):
    rows = {
        "a": {s: 0.1 * s for s in range(8)},
        "b": {s: 1 + 0.1 * s for s in range(1, 11)},
        "c": {s: 2 + 0.1 * s for s in range(7, 14)},
        "d": {s: 3 + 0.1 * s for s in range(8, 16)},
        "e": {s: 9 + 0.1 * s for s in range(40, 48)},
    }
    report = told(at_seeds(frame, rows), explain=True)
    seen = {"a": "best", "b": "worse", "c": "worse on 1 of 1 seeds", "d": "alone"}
    records = json.loads(as_json(report))["rows"]
    found = {each["model"]: each["standing"] for each in records}
    assert found == {**seen, "e": "alone"}
    assert list(found) == [*"abcde"]
    assert "inf" not in as_json(report) + as_text(report)


def test_a_mean_is_named_only_if_all_rows_it_is_said_of_have_it(frame):
    """Rows that are equal on the seeds they share have other means over their own."""
    rows = {"a": range(8), "b": range(3, 11)}
    both = {name: {seed: float(seed) for seed in seeds} for name, seeds in rows.items()}
    (verdict,) = told(at_seeds(frame, both)).verdicts
    assert verdict == "On shared seeds the best by test_mse: a and b"


def test_rows_of_one_seed_each_are_not_ranked_if_the_seeds_differ(frame):
    assert list(told(at_seeds(frame, {"a": {0: 1.0}, "b": {1: 2.0}})).verdicts) == []
    (verdict,) = told(at_seeds(frame, {"a": {0: 1.0}, "b": {0: 2.0}})).verdicts
    assert verdict.startswith("One seed: a has the lowest")


@pytest.mark.parametrize("draw", range(8))
def test_the_tie_that_a_note_names_needs_the_fewest_seeds_of_all(sweep_of, draw):
    """By the number of seeds that each row of a table would need, one after another."""
    drawn = np.random.default_rng(draw).normal(size=(5, 8)) + 0.2 * np.arange(5)[:, None]
    values = {name: own.tolist() for name, own in zip("abcde", drawn, strict=True)}
    standings = compare([{s: {0: v} for s, v in enumerate(own)} for own in drawn], Rule("lower"))
    needed = {
        name: number
        for name, standing in zip(values, standings, strict=True)
        if standing.word is Word.TIED and standing.difference
        if (number := seeds_needed(standing.difference, Rule("lower"))) is not None
    }
    (note,) = (note for note in told(sweep_of(values)).notes if "80% power" in note)
    (best,) = (name for name, each in zip(values, standings, strict=True) if each.word is Word.BEST)
    fewest = min(needed.values())
    assert f"; about {fewest} seeds would detect" in note
    rows = {name for name, number in needed.items() if number == fewest}
    assert any(f"{best} and {name} are not told apart" in note for name in rows)
