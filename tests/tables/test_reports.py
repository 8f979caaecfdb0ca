"""Tables of configurations: what stands in them and what is said beside them."""

import csv
import io
import json
import re
from typing import Any

import msgspec
import numpy as np
import pytest
from english import report_of

from attnexp.core.language import translate
from attnexp.runs.folder import load_run
from attnexp.runs.origin.provenance import GitState
from attnexp.select.frame import make_frame
from attnexp.tables.columns import COLUMNS
from attnexp.tables.entries import TableRequest
from attnexp.tables.formats import as_csv, as_json
from attnexp.tables.grid import Grid, Report

LOW = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0]
HIGH = [2.0, 2.15, 1.9, 2.05, 2.1, 2.0, 1.95, 2.0]


def texts(grid: Grid, title: str) -> list[str]:
    i = [column.title for column in grid.columns].index(title)
    return [translate(row[i].text) for row in grid.rows]


def strong(report: Report) -> list[bool]:
    return [any(cell.strong for cell in row) for row in report.grids[0].rows]


def said(report: Report, words: str) -> list[str]:
    return [note for note in map(translate, report.notes) if words in note]


def test_a_row_has_its_statistics(sweep_of):
    grid = report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest()).grids[0]
    titles = ["model", "seeds", "test_mse", "sd", "95% interval", "standing"]
    first = ["a", "8", "1", "0.05976", "[0.95, 1.05]", "best"]
    assert [texts(grid, title)[0] for title in titles] == first
    assert texts(grid, "standing") == ["best", "worse"]


def test_a_metric_has_its_chance_and_the_mean_of_all_heads_next_to_it(sweep_of):
    companions = {"test_mse": {"all heads": "mean", "chance": "chance"}, "other": {"chance": "no"}}
    metrics = {"test_mse": 1.0, "mean": 0.5, "chance": 0.25}
    runs = sweep_of({"a": LOW}, companions=companions, metrics=metrics)
    report = report_of(runs, TableRequest())
    grid = report.grids[0]
    titles = [column.title for column in grid.columns]
    assert {"test_mse", "all heads", "chance"} <= set(titles)
    assert (texts(grid, "all heads"), texts(grid, "chance")) == (["0.5"], ["0.25"])
    assert (report.records[0]["all_heads"], report.records[0]["chance"]) == (0.5, 0.25)


def records_with(frame, label):
    """Return the rows of CSV and of JSON of two configurations that differ in this setting."""
    runs = [
        ({"seed": seed, label: value}, {"metrics": {"acc": value + seed}, "primary": "acc"})
        for value in (3, 7)
        for seed in range(6)
    ]
    report = report_of(frame(*runs), TableRequest())
    lines = csv.reader(io.StringIO(as_csv(report)))
    return [*lines], [list(row.items()) for row in json.loads(as_json(report))["rows"]]


@pytest.mark.parametrize("name", [column.name for column in COLUMNS if column.name])
def test_a_setting_that_is_called_like_a_statistic_stays_next_to_it(frame, name):
    (head, *lines), rows = records_with(frame, name)
    (usual, *usual_lines), usual_rows = records_with(frame, "plain")
    own = f"config.{name}"
    assert head == [own if each == "plain" else each for each in usual]
    assert lines == usual_lines
    assert {line[head.index(own)] for line in lines} == {"3", "7"}
    assert rows == [[(own if n == "plain" else n, value) for n, value in row] for row in usual_rows]


def test_what_is_the_same_everywhere_is_in_the_caption(sweep_of):
    (grid,) = report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest()).grids
    reading, same = grid.full_caption.en.splitlines()
    assert reading.startswith("Lower is better; verdicts by sign flips over seeds")
    assert same == "The same in every run: arch=kernel_regression."


def test_the_caption_says_that_seeds_are_splits_of_a_file(sweep_of):
    report = report_of(sweep_of({"a": LOW, "b": HIGH}, overlap=0.25), TableRequest())
    assert "t tests over splits of this file" in report.grids[0].caption


def test_the_best_stands_out_only_where_tests_say_so(sweep_of):
    unclear = [0.9, 1.2, 1.0, 1.1, 1.0, 1.0, 0.95, 1.1]
    clear = report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest())
    assert strong(clear) == [True, False]
    tied = report_of(sweep_of({"a": LOW, "b": unclear}), TableRequest())
    assert strong(tied) == [False, False]
    three = report_of(sweep_of({"a": LOW, "b": unclear, "c": HIGH}), TableRequest())
    assert strong(three) == [True, True, False]


def test_one_seed_is_no_basis(sweep_of):
    report = report_of(sweep_of({"a": [1.0], "b": [2.0]}), TableRequest())
    assert not {"sd", "95% interval", "standing"} & {one.title for one in report.grids[0].columns}
    assert strong(report) == [False, False]
    assert said(report, "2 rows lack a verdict, which takes at least 6 seeds")
    assert [record["standing"] for record in report.records] == ["one seed", "one seed"]
    assert all(record["low"] is None for record in report.records)


def test_one_test_compares_every_metric(sweep_of):
    rng = np.random.default_rng(0)
    good, fair = (mean + 0.02 * rng.normal(size=10) for mean in (0.9, 0.8))
    near = good[::-1] - 0.001
    share = {"better": {"test_mse": "higher"}, "units": {"test_mse": "share"}}
    report = report_of(
        sweep_of({"a": good.tolist(), "b": fair.tolist(), "c": near.tolist()}, **share),
        TableRequest(),
    )
    assert sorted(texts(report.grids[0], "standing")) == ["best", "tied", "worse"]
    assert "sign flips over seeds" in report.grids[0].caption


def test_settings_of_the_data_are_not_compared_across(frame):
    runs = frame(
        *(
            ({"seed": s, "data.num_train": n}, {"metrics": {"test_mse": n + s / 10}})
            for n in (50, 500)
            for s in (0, 1)
        )
    )
    report = report_of(runs, TableRequest())
    assert texts(report.grids[0], "standing") == ["alone", "alone"]
    assert said(report, "rows that differ in data.num_train saw different data")


def test_rows_that_are_compared_with_nothing_come_last(frame):
    """The largest set of points has the smallest error, which no other row can be held against."""
    points = [("a", 500, 0.1), ("a", 50, 2.0), ("a", 900, 0.2), ("b", 50, 1.0)]
    runs = frame(
        *(
            (
                {"seed": s, "data.num_train": n},
                {"choices": {"model": model}, "metrics": {"test_mse": mean + s / 100}},
            )
            for model, n, mean in points
            for s in range(2)
        )
    )
    report = report_of(runs, TableRequest())
    rows = [[cell.text for cell in row] for row in report.grids[0].rows]
    assert [row[:2] for row in rows] == [["b", "50"], ["a", "50"], ["a", "500"], ["a", "900"]]
    assert "The last 2 rows are compared with nothing" in report.grids[0].caption
    by_size = report_of(runs, TableRequest(sort="data.num_train", reverse=True))
    assert "The last" not in by_size.grids[0].caption
    assert "2 rows are compared with nothing" in by_size.grids[0].caption


def test_rows_by_hand_gather_the_rest(frame):
    runs = frame(
        *(
            (
                {"seed": s, "arch.heads": h, "model._target_": m},
                {"choices": {"model": m}, "metrics": {"test_mse": s + h}},
            )
            for m in ("a", "b")
            for h in ((1, 3) if m == "a" else (1,))
            for s in (0, 1, 2)
        )
    )
    report = report_of(runs, TableRequest(by=("model",)))
    # with one head, which both have, the rows are the same
    assert texts(report.grids[0], "standing") == ["best", "best"]
    assert texts(report.grids[0], "model") == ["a", "b"]
    assert texts(report.grids[0], "test_mse") == ["3", "2"]
    assert texts(report.grids[0], "seeds") == ["3", "3"]
    assert said(report, "rows gather runs that differ in arch.heads")
    assert said(report, "not every row gathers the same settings")
    # Where both have one head they are equal, whatever the means say.
    assert [record["p"] for record in report.records] == [None, 1.0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"versions": {"torch": "2.9"}}, "differ in version of torch: 2.13.0 and 2.9"),
        ({"versions": {"attnexp": "0.2"}}, "differ in version of attnexp: 0.1.0 and 0.2"),
        ({"results_version": 2}, "differ in version of the results: 1 and 2"),
        (
            {"git": GitState("b" * 40, dirty=False)},
            "differ in git commit: aaaaaaaaaa and bbbbbbbbbb",
        ),
        (
            {"git": GitState("a" * 40, dirty=True)},
            "1 of 2 runs come from code with uncommitted changes",
        ),
        ({"device": "H100"}, "differ in device (seconds and memory do not compare): cpu and H100"),
        ({"metrics": {"steps": 50}}, "the compared rows were trained for 50 to 100 steps"),
        ({"status": "failed"}, "means leave out runs without a result (1 failed), which may make"),
        ({"status": "interrupted"}, "means leave out runs without a result (1 interrupted)"),
        ({"status": "running"}, "means leave out runs without a result (1 died)"),
        ({"metrics": {"test_mse": None}}, "leave out 1 finished run without a finite test_mse"),
    ],
)
def test_unfair_comparisons_are_named(frame, fields: dict, words: str):
    fair = [
        (
            {"model._target_": model, "seed": 0},
            {
                "results_version": 1,
                "choices": {"model": model},
                "metrics": {"steps": 100, "train_loss": loss},
            },
        )
        for model, loss in (("a", 0.1), ("b", 0.2))
    ]
    assert not report_of(frame(*fair), TableRequest()).notes[1:]
    settings, given = fair[1]
    own = {k: given.get(k, {}) | v if isinstance(v, dict) else v for k, v in fields.items()}
    report = report_of(frame(fair[0], (settings, given | own)), TableRequest())
    assert said(report, words)


@pytest.mark.parametrize("nearest", [True, False])
def test_a_kernel_that_narrows_to_the_nearest_neighbours_has_nowhere_to_converge(
    frame, width_check, nearest
):
    check = msgspec.structs.replace(width_check, nearest=nearest)
    fields = {"choices": {"train": "regression"}, "metrics": {"steps": 100}}
    report = report_of(frame(({}, {**fields, "width_check": check})), TableRequest())
    assert bool(said(report, "had converged")) is not nearest


def test_rows_that_a_budget_stopped_are_named_with_it(frame):
    """Converged runs, and those that ended by a target or by patience, are not."""
    budgets = {"train.max_epochs": 80, "train.max_steps": 90}
    ends: dict[str, list[Any]] = {
        "cut": [None, None],
        "partly": [60, None],
        "steps": ["train.max_steps = 90 reached in epoch 9"] * 2,
        "target": ["validation loss reached 0.1 in epoch 9"] * 2,
        "patient": ["train.patience = 5 epochs without a lower training loss"] * 2,
        "settled": [60, 70],
    }
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": model} | budgets,
                {
                    "choices": {"model": model, "train": "regression"},
                    "metrics": {
                        "steps": 80,
                        "converged_step": end if isinstance(end, int) else None,
                        "test_mse": seed / 10,
                    },
                    "notes": [f"training ended early: {end}"] if isinstance(end, str) else [],
                },
            )
            for model, by_seed in ends.items()
            for seed, end in enumerate(by_seed)
        )
    )
    (epochs, steps) = said(report_of(runs, TableRequest()), "before training had")
    assert "train.max_epochs=80" in epochs
    assert {"cut on 2 of 2", "partly on 1 of 2"} <= set(re.findall(r"\w+ on \d of \d", epochs))
    assert "train.max_steps=90" in steps
    assert "steps on 2 of 2" in steps
    named = f"{epochs} {steps}"
    assert not any(name in named for name in ("target", "patient", "settled"))


@pytest.mark.parametrize(("converged", "warned"), [(33, False), (None, True)])
def test_rows_that_were_trained_until_they_converged_may_differ_in_steps(frame, converged, warned):
    runs = frame(
        *(
            (
                {"model._target_": model},
                {"choices": {"model": model}, "metrics": {"steps": steps, "converged_step": end}},
            )
            for model, steps, end in (("a", 33, converged), ("b", 100, None))
        )
    )
    report = report_of(runs, TableRequest())
    assert bool(said(report, "were trained for 33 to 100 steps")) is warned


def test_rows_that_differ_in_several_things_at_once_are_named(frame):
    def runs(*pairs):
        chosen = [{"choices": {"model": model}} for model, _ in pairs]
        settings = [{"model._target_": model, "optim": {"lr": rate}} for model, rate in pairs]
        return frame(*zip(settings, chosen, strict=True))

    crossed = runs(("a", 1), ("a", 2), ("b", 1), ("b", 2))
    assert not said(report_of(crossed, TableRequest()), "at once")
    report = report_of(runs(("a", 1), ("b", 2)), TableRequest())
    assert said(report, "differ in model and optim at once, and only 2 of 4 combinations")


def test_older_runs_of_the_same_seed_are_named(frame):
    report = report_of(frame(({}, {}), ({}, {})), TableRequest())
    assert said(report, "means leave out 1 older run of the same settings and seed")


def test_runs_that_failed_before_their_task_was_built_stay_in_view(frame):
    runs = frame(
        ({"seed": 0}, {}),
        ({"seed": 1}, {"status": "failed", "primary": None, "metrics": {}, "better": {}}),
        ({"seed": 0}, {"status": "failed", "primary": None, "choices": {"data": "copy"}}),
    )
    report = report_of(runs, TableRequest())
    titles = [grid.title for grid in report.grids if grid.title]
    assert titles == ["sine: 1 configuration, 2 runs", "copy: 1 configuration, 1 run"]
    assert texts(report.grids[0], "without result") == ["1 failed"]
    assert texts(report.grids[1], "without result") == ["1 failed"]


@pytest.fixture
def typed(write_run):
    """Writes runs of a and b by what was typed for a model and a seed."""

    def write(words_of, **rows):
        return [
            load_run(
                write_run(
                    f"{model}{seed}",
                    {"seed": seed, "model._target_": model},
                    choices={"model": model},
                    metrics={"test_mse": value},
                    overrides=words_of(model, seed),
                )
            )
            for model, values in rows.items()
            for seed, value in enumerate(values)
        ]

    return write


def test_too_few_seeds_name_the_command_that_adds_them(typed):
    runs = typed(lambda model, seed: [f"model={model}", f"seed={seed}"], a=LOW[:4], b=HIGH[:5])
    (note,) = report_of(make_frame(runs), TableRequest()).notes
    assert note == (
        "1 row lacks a verdict, which takes at least 6 seeds that a row shares with the best one: "
        "attnexp -m model=a,b seed=4,5"
    )


def test_a_row_that_is_compared_with_nothing_is_not_to_have_more_seeds(typed):
    (run,) = typed(lambda model, seed: [f"model={model}", f"seed={seed}"], a=LOW[:1])
    assert report_of(make_frame([run]), TableRequest()).notes == []


def test_runs_that_were_typed_in_two_ways_are_continued_by_one_command(typed):
    """A run of the default model, typed without `model=`, is of the row of a sweep over it."""

    def words(model, seed):
        return [f"model={model}", f"seed={seed}"] if model == "b" or seed else []

    runs = typed(words, a=LOW[:4], b=HIGH[:4])
    (note,) = report_of(make_frame(runs), TableRequest()).notes
    assert note.endswith("attnexp -m model=a,b seed=4,5")
