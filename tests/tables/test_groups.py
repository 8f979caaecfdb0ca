"""Rows, what they gather, and what is missing from them."""

import pytest

from attnexp.runs import lock
from attnexp.runs.frame import Frame, make_frame, varying
from attnexp.runs.run import load_run
from attnexp.tables.groups import EXAMPLES, Gathered, gather, is_share


def run(model: str, seed: int, value: float | None = 1.0, **extra):
    settings = {"seed": seed, "model._target_": model, **extra.pop("settings", {})}
    fields = {"choices": {"model": model, **extra.pop("choices", {})}}
    return settings, fields | {"metrics": {"test_mse": value}} | extra


def gather_by(runs: Frame, by: list[str], apart: tuple[str, ...] = ()) -> Gathered:
    return gather(runs, by, varying(runs), apart)


def test_settings_of_a_choice_do_not_tell_rows_apart(frame):
    runs = frame(
        ({"model": {"_target_": "a", "width": 1}}, {"choices": {"model": "gaussian"}}),
        ({"model": {"_target_": "b", "hidden_dim": 64}}, {"choices": {"model": "additive"}}),
    )
    assert varying(runs) == ["model"]


def test_settings_that_differ_within_a_choice_do(frame):
    runs = frame(
        ({"model.width": 1}, {}),
        ({"model.width": 2}, {}),
        ({"model": {"_target_": "b"}}, {"choices": {"model": "additive"}}),
    )
    assert varying(runs) == ["model", "model.width"]


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
    rows = gather_by(runs, ["model"]).rows
    assert [row.labels for row in rows] == [{"model": "b"}, {"model": "a"}]
    assert [row.index.tolist() for row in rows] == [[0, 1], [2, 3]]


def test_the_newest_finished_run_of_a_seed_counts(frame):
    runs = frame(
        run("a", 0, 1.0, started="2026-01-02"),
        run("a", 0, 2.0, started="2026-01-03"),
        run("a", 0, None, started="2026-01-04", status="failed"),
        run("a", 1, None, started="2026-01-01", status="failed"),
    )
    found = gather_by(runs, ["model"])
    assert found.repeats == 2
    assert found.values(found.rows[0], "test_mse") == {0: {0: 2.0}}
    assert found.rows[0].lost["failed"] == 1


def test_runs_without_a_result_are_counted(frame):
    runs = frame(
        run("a", 0),
        run("a", 1, None, status="failed"),
        run("a", 2, None, status="running"),
        run("a", 3, None, status="interrupted"),
        run("b", 4),
    )
    # Nothing holds the lock of the one that is said to be running: its process is gone.
    a, b = gather_by(runs, ["model"]).rows
    none = {"failed": 0, "interrupted": 0, "died": 0, "running": 0}
    assert a.lost == none | {"failed": 1, "interrupted": 1, "died": 1, "missing": 1}
    assert b.lost == none | {"missing": 4}


def test_a_run_that_a_process_works_on_is_running(write_run):
    folder = write_run("a", status="running")
    with lock.hold(folder):
        (row,) = gather_by(make_frame([load_run(folder)]), ["model"]).rows
    assert (row.lost["running"], row.lost["died"]) == (1, 0)


def test_seeds_of_other_data_are_not_missing(frame):
    runs = frame(
        run("a", 0, choices={"data": "sine"}),
        run("a", 1, choices={"data": "copy"}),
    )
    assert all(not row.lost["missing"] for row in gather_by(runs, ["model", "data"]).rows)


def test_a_value_that_is_no_number_is_no_value(frame):
    found = gather_by(frame(run("a", 0, None), run("a", 1, 2.0)), ["model"])
    assert found.values(found.rows[0], "test_mse") == {1: {0: 2.0}}


def test_rows_that_gather_settings_keep_them_apart_within_a_seed(frame):
    heads = ({"arch.heads": 1}, {"arch.heads": 2})
    runs = frame(
        *(run("a", seed, seed + i, settings=own) for seed in (0, 1) for i, own in enumerate(heads))
    )
    found = gather_by(runs, ["model"])
    assert found.within == ["arch.heads"]
    assert found.values(found.rows[0], "test_mse") == {
        0: {0: 0.0, 1: 1.0},
        1: {0: 1.0, 1: 2.0},
    }


def test_settings_of_the_rows_own_choice_are_averaged(frame):
    runs = frame(
        run("a", 0, 1.0, settings={"model.width": 1}),
        run("a", 0, 3.0, settings={"model.width": 2}),
        run("b", 0, 5.0),
    )
    found = gather_by(runs, ["model"])
    assert found.within == ["model.width"]
    assert found.values(found.rows[0], "test_mse") == {0: {0: 2.0}}


@pytest.mark.parametrize(("apart", "panels"), [((), 1), (("arch.heads",), 2)])
def test_rows_are_compared_within_panels(frame, apart, panels):
    runs = frame(*(run("a", 0, settings={"arch.heads": heads}) for heads in (1, 2)))
    rows = gather_by(runs, ["model", "arch.heads"], apart).rows
    assert len({row.panel for row in rows}) == panels


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"units": {"m": "share"}, "better": {"m": "lower"}}, True),
        ({"units": {"m": "keys"}, "better": {"m": "higher"}}, False),
        ({"better": {"m": "higher"}}, True),
        ({"better": {"m": "higher"}, "metrics": {"m": 1.5}}, False),
        ({"better": {"m": "lower"}}, False),
        ({}, False),
    ],
)
def test_a_share_is_known_by_its_unit_or_in_older_runs_by_its_values(frame, fields, expected):
    runs = frame(({}, {"metrics": {"m": 0.5}} | fields), ({"seed": 1}, {"metrics": {"m": 1.0}}))
    assert is_share(runs, "m") is expected


def test_a_row_knows_on_how_many_examples_it_was_tested(frame):
    runs = frame(
        run("a", 0, settings={"data.num_test": 500}),
        run("a", 1, settings={"data.num_test": 200}),
        run("b", 0),
    )
    found = gather_by(runs, ["model"])
    assert [found.examples(row) for row in found.rows] == [200, EXAMPLES]
    assert gather_by(frame(run("a", 0)), ["model"]).examples(found.rows[0]) == EXAMPLES
