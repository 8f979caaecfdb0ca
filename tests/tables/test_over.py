"""Rows compared over tasks, in the table that `attnexp results --over` prints."""

import json
import re

import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.core.language import Text
from attnexp.runs.summary import DIVERGED
from attnexp.tables.entries import TableRequest
from attnexp.tables.formats import as_csv, as_json
from attnexp.tables.latex import as_latex
from attnexp.tables.over import over_answers, over_report, over_tasks
from attnexp.tables.paper import Paper
from attnexp.tables.required import read_requirement
from attnexp.tables.screen import as_text


def run(model, data, seed, metrics, primary="test_mse", better=None, **settings):
    return (
        {"seed": seed, "model._target_": model, **settings},
        {
            "choices": {"model": model, "data": data},
            "metrics": metrics,
            "primary": primary,
            "better": better or {"test_mse": "lower", "accuracy": "higher"},
        },
    )


@pytest.fixture
def suite(frame):
    """Makes a frame of models x tasks x seeds from errors of that shape, by the model's name."""

    def make(values, **settings):
        return frame(
            *(
                run(model, f"d{task}", seed, {"test_mse": value}, **settings)
                for model, tasks in values.items()
                for task, seeds in enumerate(tasks)
                for seed, value in enumerate(seeds)
            )
        )

    return make


def drawn(*gaps, tasks=10, seeds=6):
    rng = np.random.default_rng(0)
    return {f"m{i}": (rng.normal(size=(tasks, seeds)) + gap).tolist() for i, gap in enumerate(gaps)}


def report(frame, *over, **request):
    return over_report(over_tasks(frame, over or ("data",), TableRequest(**request)))


def notes_of(found):
    return [note.en for note in found.notes]


def test_the_table_says_who_is_ahead_over_tasks(suite):
    values = drawn(0.0, 1.0, 0.1)
    found = report(suite(values))
    m0, m1, m2 = (np.array(values[name]) for name in ("m0", "m1", "m2"))
    rows = {row["model"]: row for row in found.records}
    assert [*rows] == ["m0", "m2", "m1"]
    assert rows["m1"]["ahead"] == pytest.approx((m1 < m0).mean())
    net = ((m0 - m1).sum(axis=1) / abs(m0 - m1).sum(axis=1)).mean()
    assert rows["m1"]["net_share"] == pytest.approx(net)
    ranks = 1 + (m0 > m1).mean() + (m0 > m2).mean()
    assert rows["m0"]["mean_rank"] == pytest.approx(ranks)
    assert [rows[name]["standing"] for name in ("m0", "m1", "m2")] == ["best", "worse", "tied"]
    assert rows["m1"]["net_share_high"] < 0 < rows["m2"]["net_share_high"]
    assert sum(rows["m1"][f"tasks_{word}"] for word in ("better", "tied", "worse")) == 10
    verdict = found.verdicts[0].en
    assert verdict.startswith("m0 has the best mean rank")
    assert "Worse: m1 (ahead on" in verdict
    assert "Not told apart from it: m2" in verdict


def test_a_table_over_tasks_is_whole_in_chinese(suite):
    values = drawn(0.0, 1.0, 0.1, tasks=5)
    values["m1"].pop()
    found = report(suite(values))
    (grid,) = found.grids
    words = [grid.title, grid.caption, *found.verdicts, *found.notes]
    words += [head.title for head in grid.columns if isinstance(head.title, Text)]
    words += [cell.text for row in grid.rows for cell in row if isinstance(cell.text, Text)]
    assert len(words) > 12
    for word in words:
        assert isinstance(word, Text)
        names = r"m\d|d\d|data|`attnexp results --where`"
        assert not re.search("[A-Za-z]{2,}", re.sub(names, "", word.zh()))


def test_every_format_has_the_table(suite):
    found = report(suite(drawn(0.0, 1.0)))
    assert "10 tasks by data: 2 rows" in as_text(found)
    assert as_csv(found).splitlines()[0].startswith("model,tasks,mean_rank,standing,p,ahead")
    assert json.loads(as_json(found))["rows"][0]["tasks"] == 10
    assert "net share" in as_latex(found, Paper())


def test_each_task_has_its_primary_metric(frame):
    runs = frame(
        *(
            run(
                model,
                f"d{task}",
                seed,
                {metric: 0.1 * seed + (gap if metric == "test_mse" else -gap)},
                metric,
            )
            for model, gap in (("a", 0.0), ("b", 0.7))
            for task, metric in enumerate(["test_mse", "accuracy"] * 4)
            for seed in range(3)
        )
    )
    rows = {row["model"]: row for row in report(runs).records}
    assert (rows["a"]["standing"], rows["b"]["standing"]) == ("best", "worse")
    with pytest.raises(RequestError, match="the tasks have test_mse and accuracy"):
        report(runs, equal_within=0.1)


def test_rows_are_what_differs_inside_a_task_and_nothing_of_the_data(frame):
    runs = frame(
        *(
            run(
                model,
                f"d{task}",
                seed,
                {"test_mse": seed + width},
                **{"model.width": width, "data.noise": 0.1 * task, "optim.lr": 0.1 + task},
            )
            for model in ("a", "b")
            for width in (1.0, 2.0)
            for task in range(6)
            for seed in range(2)
        )
    )
    assert {*over_tasks(runs, ("data",), TableRequest()).names.by} == {"model", "model.width"}
    assert over_tasks(runs, ("data",), TableRequest(by=("model",))).names.by == ("model",)
    assert len(over_tasks(runs, ("data.noise",), TableRequest()).tasks) == 6
    assert len(over_tasks(runs, ("data", "model.width"), TableRequest(by=("model",))).tasks) == 12


def test_a_diverged_run_counts_as_the_worst_of_its_task(frame):
    runs = [
        run(model, f"d{task}", seed, {"test_mse": value})
        for model, value in (("a", 1.0), ("b", 2.0))
        for task in range(6)
        for seed in range(4)
    ]
    for settings, fields in runs:
        if settings["model._target_"] == "a" and settings["seed"] == 0:
            fields |= {
                "status": "failed",
                "error": f"{DIVERGED}loss",
                "metrics": {"test_mse": None},
            }
    rows = {row["model"]: row for row in report(frame(*runs)).records}
    assert rows["a"]["mean_rank"] == pytest.approx(
        1 + 1 / 8
    )  # equal to the worst on one seed of four


def test_notes_say_what_a_verdict_lacks(suite, frame):
    assert notes_of(report(suite(drawn(0.0, 1.0, tasks=5)))) == [
        "6 tasks are the fewest that decide, and these are 5"
    ]
    values = drawn(0.0, 0.0)
    values["m1"][:3] = [[value + 9 for value in seeds] for seeds in values["m1"][:3]]
    notes = notes_of(report(suite(values)))
    assert any(
        "tasks would detect a difference of this size with 80% power" in one for one in notes
    )
    assert any(one.startswith("some tasks tell m1 from m0: ") for one in notes)
    values["m1"][4] = []
    assert "m1 has no result in d4" in notes_of(report(suite(values)))


@pytest.mark.parametrize(
    ("over", "request_", "sentence"),
    [
        (("data",), {"by": ("data",)}, "rows are in a task, and --over data tells tasks apart"),
        (("optim", "data"), {}, "d0: runs differ in data.noise: add it to --over"),
        (("data",), {"by": ("model",)}, "d0: runs differ in data.noise: add it to --over"),
        (("model",), {}, "--over model: a: runs differ in data: add it to --over"),
        (("model", "data", "data.noise"), {}, "nothing but the task tells rows apart"),
        (("data", "data.noise"), {"metrics": ("neighbours",)}, "d0, 0.1: neighbours describes"),
    ],
)
def test_what_cannot_be_compared_is_refused(frame, over, request_, sentence):
    runs = frame(
        *(
            (own, fields | {"choices": fields["choices"] | {"optim": "adam"}})
            for task in range(2)
            for noise in (0.1, 0.2)
            for model in "ab"
            for metrics in [{"test_mse": 1.0, "neighbours": 2.0}]
            for own, fields in [run(model, f"d{task}", 0, metrics, **{"data.noise": noise})]
        )
    )
    with pytest.raises(RequestError, match=sentence):
        over_tasks(runs, over, TableRequest(**request_))


def test_one_task_is_refused(suite):
    with pytest.raises(RequestError, match="--over data: 1 task with results: two are needed"):
        report(suite(drawn(0.0, 1.0, tasks=1)))


def test_notes_name_tasks_without_a_result_and_runs_that_diverged(frame):
    runs = [
        run(model, f"d{task}", seed, {"test_mse": None if task == 3 else seed + gap})
        for model, gap in (("a", 0.0), ("b", 0.5))
        for task in range(7)
        for seed in range(3)
    ]
    for _, fields in runs[:2]:
        fields |= {"status": "failed", "error": f"{DIVERGED}loss", "metrics": {"test_mse": None}}
    notes = notes_of(report(frame(*runs)))
    assert "without a result: d3" in notes
    assert "2 runs diverged: each counts as the worst value of its task" in notes


def test_tasks_that_are_no_data_share_their_seeds(frame):
    runs = frame(
        *(
            run(model, "sine", seed, {"test_mse": seed + width}, **{"model.width": width})
            for model in "ab"
            for width in range(6)
            for seed in range(2)
        )
    )
    shared = [
        note for note in notes_of(report(runs, "model.width")) if "share what these draw" in note
    ]
    assert len(shared) == 1
    assert not [note for note in notes_of(report(suite_of_data(frame))) if "share what" in note]


def test_rows_and_tasks_of_values_alike_in_print_stay_apart(frame):
    tasks = (True, 1, 0.12341, 0.12344)
    runs = frame(
        *(
            run("a", "sine", seed, {"test_mse": seed + bias}, **{"model.of": task, "model.c": bias})
            for task in tasks
            for bias in (True, 1, 2)
            for seed in range(6)
        )
    )
    found = over_report(over_tasks(runs, ("model.of",), TableRequest(by=("model.c",))))
    assert [(row["model.c"], row["tasks"]) for row in found.records] == [(True, 4), (1, 4), (2, 4)]
    assert [type(row["model.c"]) for row in found.records] == [bool, int, int]


def suite_of_data(frame):
    """A frame of two models on six data sets."""
    return frame(
        *(
            run(model, f"d{task}", seed, {"test_mse": seed + gap})
            for model, gap in (("a", 0.0), ("b", 0.5))
            for task in range(6)
            for seed in range(2)
        )
    )


def test_rows_that_are_alike_are_all_best(suite):
    values = drawn(0.0)
    found = report(suite({"a": values["m0"], "b": values["m0"]}))
    assert [one.en for one in found.verdicts] == [
        "a and b have the best mean rank over 10 tasks, 1.5"
    ]
    assert "-0" not in as_text(found)


def test_rows_that_share_few_tasks_lack_a_verdict(suite):
    values = drawn(0.0, 1.0)
    values["m1"][4:] = [[]] * 6
    notes = notes_of(report(suite(values)))
    assert "m1 shares 4 tasks with the best row: 6 are the fewest that decide" in notes


def test_tasks_of_few_seeds_have_no_verdict_of_their_own(suite):
    rows = {row["model"]: row for row in report(suite(drawn(0.0, 5.0, seeds=3))).records}
    assert [rows["m1"][f"tasks_{word}"] for word in ("better", "tied", "worse")] == [0, 0, 0]
    assert rows["m1"]["standing"] == "worse"


def test_required_sentences_are_of_the_verdict_over_tasks(suite):
    table = over_tasks(suite(drawn(0.0, 1.0, 0.3)), ("data",), TableRequest())
    sentences = ["m0 better than m1", "m0 worse than m1", "m0 better than m2", "m2 worse than m1"]
    found = [*over_answers(table, [*map(read_requirement, sentences)])]
    assert [str(one.outcome) for one in found] == ["holds", "false", "not shown", "false"]
    assert "tasks would do" in found[2].because
    with pytest.raises(RequestError, match="the row 'm9' is not a choice"):
        [*over_answers(table, [read_requirement("m9 better than m0")])]
    with pytest.raises(RequestError, match="rows are better or worse over tasks"):
        [*over_answers(table, [read_requirement("m0 equal to m1 within 0.1")])]
