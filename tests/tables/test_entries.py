"""Rows, what they gather, and what is missing from them."""

from typing import Any

import pytest
from english import report_of

from attnexp.core.language import translate
from attnexp.runs import lock
from attnexp.runs.folder import load_run
from attnexp.select.frame import Frame, make_frame, varying
from attnexp.tables.entries import ResultsTable, Row, TableRequest, divide
from attnexp.tables.notes import advice, results
from attnexp.tables.sentences import verdicts


def run(model: str, seed: int, value: float | None = 1.0, **extra):
    settings = {"seed": seed, "model._target_": model, **extra.pop("settings", {})}
    fields = {"choices": {"model": model, **extra.pop("choices", {})}}
    return settings, fields | {"metrics": {"test_mse": value}} | extra


def table_by(runs: Frame, *by: str) -> ResultsTable:
    (table,) = divide(runs, TableRequest(by))
    return table


def rows_by(runs: Frame, *by: str) -> list[Row]:
    return [entry.row for entry in table_by(runs, *by).firsts]


DIVERGED = "TrainingDivergedError: the loss is nan"

GAUSSIAN = ({"model": {"_target_": "a", "width": 1}}, {"choices": {"model": "gaussian"}})
WIDE = ({"model": {"_target_": "a", "width": 2}}, {"choices": {"model": "gaussian"}})
ADDITIVE = ({"model": {"_target_": "b", "hidden_dim": 64}}, {"choices": {"model": "additive"}})


@pytest.mark.parametrize(
    ("runs", "names"),
    [((GAUSSIAN, ADDITIVE), ["model"]), ((GAUSSIAN, WIDE, ADDITIVE), ["model", "model.width"])],
)
def test_settings_tell_rows_apart_if_they_differ_within_a_choice(frame, runs, names):
    assert varying(frame(*runs)) == names


def test_seeds_and_neutral_settings_and_experiments_do_not(frame):
    runs = frame(
        ({"seed": 0, "device": "cpu", "figures": True}, {}),
        (
            {"seed": 1, "device": "cuda", "output_dir": "x"},
            {"choices": {"experiment": "e", "tracker": "t"}},
        ),
    )
    assert varying(runs) == []


def test_a_row_a_configuration_in_order_of_appearance(frame):
    runs = frame(*(run(model, seed) for model in ("b", "a") for seed in (0, 1)))
    rows = rows_by(runs, "model")
    assert [row.labels for row in rows] == [{"model": "b"}, {"model": "a"}]
    assert [row.runs.data.index.tolist() for row in rows] == [[0, 1], [2, 3]]


def test_the_newest_finished_run_of_a_seed_counts(frame):
    runs = frame(
        run("a", 0, 1.0, started="2026-01-02"),
        run("a", 0, 2.0, started="2026-01-03"),
        run("a", 0, None, started="2026-01-04", status="failed"),
        run("a", 1, None, started="2026-01-01", status="failed"),
    )
    found = table_by(runs, "model")
    assert len(found.older) == 2
    assert found.firsts[0].sample.values == {0: {0: 2.0}}
    assert found.firsts[0].row.lost["failed"] == 1


def test_runs_without_a_result_are_counted(frame):
    runs = frame(
        run("a", 0),
        run("a", 1, None, status="failed"),
        run("a", 2, None, status="running"),
        run("a", 3, None, status="interrupted"),
        run("b", 4),
    )
    # Nothing holds the lock of the one that is said to be running: its process is gone.
    a, b = rows_by(runs, "model")
    none = {"failed": 0, "interrupted": 0, "died": 0, "running": 0}
    assert a.lost == none | {"failed": 1, "interrupted": 1, "died": 1, "missing": 1}
    assert b.lost == none | {"missing": 4}


def test_a_run_that_a_process_works_on_is_running(write_run):
    folder = write_run("a", status="running")
    with lock.hold(folder):
        (row,) = rows_by(make_frame([load_run(folder)]), "model")
    assert (row.lost["running"], row.lost["died"]) == (1, 0)


def test_seeds_of_other_data_are_not_missing(frame):
    runs = frame(
        run("a", 0, choices={"data": "sine"}),
        run("a", 1, choices={"data": "copy"}),
    )
    assert all(not row.lost["missing"] for row in rows_by(runs, "model", "data"))


def test_a_value_that_is_no_number_is_no_value(frame):
    found = table_by(frame(run("a", 0, None), run("a", 1, 2.0)), "model")
    assert found.firsts[0].sample.values == {1: {0: 2.0}}


def test_rows_that_gather_settings_keep_them_apart_within_a_seed(frame):
    heads = ({"arch.heads": 1}, {"arch.heads": 2})
    runs = frame(
        *(run("a", seed, seed + i, settings=own) for seed in (0, 1) for i, own in enumerate(heads))
    )
    found = table_by(runs, "model")
    assert found.within == ["arch.heads"]
    assert found.firsts[0].sample.values == {
        0: {0: 0.0, 1: 1.0},
        1: {0: 1.0, 1: 2.0},
    }


def test_settings_of_the_rows_own_choice_are_averaged(frame):
    runs = frame(
        run("a", 0, 1.0, settings={"model.width": 1}),
        run("a", 0, 3.0, settings={"model.width": 2}),
        run("b", 0, 5.0),
    )
    found = table_by(runs, "model")
    assert found.within == ["model.width"]
    assert found.firsts[0].sample.values == {0: {0: 2.0}}


@pytest.mark.parametrize(("name", "panels"), [("arch.heads", 1), ("data.noise", 2)])
def test_rows_on_different_data_are_not_compared(frame, name, panels):
    runs = frame(*(run("a", 0, settings={name: value}) for value in (1, 2)))
    assert len(table_by(runs, "model", name).panels) == panels


def test_the_interval_of_a_share_counts_the_fewest_examples_of_its_runs(frame):
    units = {"test_mse": "share"}
    runs = frame(
        run("a", 0, settings={"data.num_test": 500}, units=units),
        run("a", 1, settings={"data.num_test": 200}, units=units),
    )
    assert table_by(runs, "model").firsts[0].spread.examples == 200
    assert table_by(frame(run("a", 0)), "model").firsts[0].spread.examples == 100


def crossed(frame, data_seeds, seeds, overlap=0.0):
    """Two rows at each data_seed with each seed; b is worse by 1 + data_seed."""
    return frame(
        *(
            run(
                model,
                seed,
                {"a": 0.0, "b": 1.0 + d}[model] + seed / 10,
                settings={"data_seed": d},
                overlap=overlap,
            )
            for model in "ab"
            for d in data_seeds
            for seed in seeds
        )
    )


def test_data_sets_are_the_unit_of_runs_that_name_several(frame):
    (table,) = divide(crossed(frame, range(6), (0, 1)), TableRequest())
    (panel,) = table.panels
    assert table.by == ("model",)
    assert table.unit.many.en == "data sets"
    assert table.only_data is None
    assert [entry.spread.n for entry in panel] == [6, 6]
    worse = panel[1].standing
    assert worse.word == "worse"
    assert worse.difference.pairs == 6
    # the mean over d of 1 + d, d = 0 ... 5
    assert worse.difference.mean == pytest.approx(3.5)
    assert [entry.row.lost["missing"] for entry in panel] == [0, 0]


def test_one_data_set_is_said_to_be_one(frame):
    (table,) = divide(crossed(frame, (3,), range(6), overlap=0.25), TableRequest())
    assert table.only_data == "data_seed=3"
    assert [entry.spread.n for entry in table.firsts] == [6, 6]
    assert [entry.overlap for entry in table.firsts] == [0.0, 0.0]
    (sentence,) = verdicts(table)
    assert sentence.en == (
        "Of this data set, data_seed=3, a has the lowest mean test_mse, 0.25. Worse: b by 4"
    )
    assert [*map(translate, advice([table], TableRequest()))] == [
        "more seeds say nothing about other data: data_seed=3 is one data set, and several values "
        "of data_seed, or none, draw others"
    ]


def test_splits_of_a_file_by_data_seed_overlap(frame):
    (table,) = divide(crossed(frame, range(6), (0, 1), overlap=0.25), TableRequest())
    assert table.unit.many.en == "splits"
    assert [entry.overlap for entry in table.firsts] == [0.25, 0.25]
    (few,) = divide(crossed(frame, range(3), (0, 1)), TableRequest())
    assert few.firsts[1].verdict.en == "worse on 3 of 3 data sets"
    (note,) = map(translate, advice([few], TableRequest()))
    assert note.startswith("1 row lacks a verdict, which takes at least 6 data sets ")
    assert note.endswith(": add values of data_seed")


def test_runs_that_draw_their_own_data_are_not_compared_with_those_of_a_data_seed(frame):
    runs = frame(*(run("a", 0, seed, settings={"data_seed": seed}) for seed in (None, 4)))
    (table,) = divide(runs, TableRequest())
    assert [len(panel) for panel in table.panels] == [1, 1]
    by_hand = table_by(crossed(frame, (3, 4), (0,)), "model", "data_seed")
    assert [len(panel) for panel in by_hand.panels] == [2, 2]


def test_splits_overlap_but_not_one_split_at_several_seeds(frame):
    for data_seed, overlap in ((None, 0.25), (0, 0.0)):
        runs = (run("a", s, 1.0, settings={"data_seed": data_seed}, overlap=0.25) for s in (1, 2))
        assert table_by(frame(*runs), "model").firsts[0].overlap == overlap


def test_a_row_says_that_no_seed_draws_its_data(frame):
    def runs(model, by, values):
        settings = {"data.split": by}
        facts = {"fixed_by": f"data.split={by}"} if by == "last" else {"overlap": 0.25}
        return [run(model, s, value, settings=settings, **facts) for s, value in enumerate(values)]

    last = [*runs("a", "last", [1, 2, 3]), *runs("b", "last", [5, 5, 5])]
    report = report_of(frame(*last), TableRequest())
    assert [record["fixed_by"] for record in report.records] == 2 * ["data.split=last"]
    (note,) = [note for note in report.notes if "of the model alone" in note]
    assert note.startswith("the seeds are of the model alone: data.split=last is one split for all")
    assert note.endswith("equal results of several seeds are one result")

    mixed = report_of(frame(*last, *runs("a", "random", [1, 2, 3])), TableRequest(explain=True))
    assert [record["fixed_by"] for record in mixed.records].count(None) == 1
    (note,) = [note for note in mixed.notes if "of the model alone" in note]
    assert note.startswith("the seeds of a (data.split=last) and b (data.split=last) are of the")
    caption = mixed.grids[0].caption
    assert "t tests over splits" in caption
    assert "sign flips over seeds" in caption
    drawn = report_of(frame(*runs("a", "random", [1, 2, 3])), TableRequest())
    assert "fixed_by" not in drawn.records[0]
    assert not any("of the model alone" in note for note in drawn.notes)


def diverging(frame, unit, better, values):
    """Rows a and b over six seeds; None is a run that diverged."""
    fields = {"units": {"test_mse": unit}, "better": {"test_mse": better}}
    lost = {"status": "failed", "error": DIVERGED, "metrics": {}}
    return frame(
        *(
            (settings, {**kept, **fields, **(lost if value is None else {})})
            for model, several in values.items()
            for seed, value in enumerate(several)
            for settings, kept in [run(model, seed, value)]
        )
    )


def test_a_run_that_diverged_counts_as_the_worst(frame):
    values = {"a": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], "b": [0.9, 1.0, 1.1, 1.2, None, None]}
    (table,) = divide(diverging(frame, "y^2", "lower", values), TableRequest())
    means = {entry.row.labels["model"]: entry.spread.mean for entry in table.firsts}
    assert means == {"a": pytest.approx(1.25), "b": pytest.approx((4.2 + 2 * 1.5) / 6)}
    assert [entry.spread.n for entry in table.firsts] == [6, 6]
    assert "2 runs diverged and count as the worst value" in " ".join(
        map(translate, results(table))
    )
    assert [entry.lost["failed"] for entry in table.firsts] == [0, 0]
    (table,) = divide(diverging(frame, "share", "higher", {"a": [0.5, None]}), TableRequest())
    assert table.firsts[0].spread.mean == 0.25
    assert table.firsts[0].lost["failed"] == 0
    assert "1 run diverged and counts as the worst value" in " ".join(
        map(translate, results(table))
    )


@pytest.mark.parametrize(
    ("better", "values", "measured", "failed"),
    [
        ("lower", [1.0, 1.1, None, None], 4, 0),
        ("lower", [None, None, None], 0, 3),  # no run of the table has a value
        (None, [1.0, None], 1, 1),  # of a metric that does not rank there is no worst value
    ],
)
def test_a_run_of_a_row_has_a_value_or_is_lost_and_never_both(
    frame, better, values, measured, failed
):
    directions = {"other": "lower"} if better is None else {"test_mse": better}
    (table,) = divide(
        frame(
            *(
                (settings, fields | {"better": directions, "units": {"test_mse": "y^2"}})
                for seed, value in enumerate(values)
                for settings, fields in [
                    run("a", seed, value)
                    if value is not None
                    else run("a", seed, status="failed", error=DIVERGED, metrics={})
                ]
            )
        ),
        TableRequest(metrics=("test_mse",)),
    )
    (entry,) = table.firsts
    assert (entry.spread.n, entry.lost["failed"]) == (measured, failed)
    notes = " ".join(map(translate, results(table)))
    assert ("diverged and count" in notes) == (failed == 0)
    assert (f"({failed} failed)" in notes) == (failed > 0)


def test_failed_and_diverged_runs_are_told_apart(frame):
    lost: dict[str, Any] = {"status": "failed", "metrics": {}}
    runs = frame(
        *(run("a", seed) for seed in range(4)),
        run("b", 0, 2.0),
        run("b", 1, error=DIVERGED, **lost),
        run("b", 2, error=DIVERGED, **lost),
        run("b", 3, error="ValueError: no", **lost),
    )
    _, b = table_by(runs, "model").firsts
    assert (b.spread.n, b.lost["failed"]) == (3, 1)
    diverged, left_out, *_ = map(translate, results(table_by(runs, "model")))
    assert diverged.startswith("2 runs diverged")
    assert "(1 failed)" in left_out


def test_a_run_that_failed_otherwise_is_left_out(frame):
    runs = frame(
        run("a", 0, 1.0),
        run("a", 1, None, status="failed", error="ValueError: no", metrics={}),
    )
    assert table_by(runs, "model").firsts[0].spread.n == 1
