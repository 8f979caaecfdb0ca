"""Runs that nothing but a name tells apart stay as many as they were, whatever the tool."""

import json
import sqlite3
from typing import Any

import pytest

from attnexp import load_results
from attnexp.imported.attempts import LoggedPoint
from attnexp.imported.outside import ImportRequest, OutsideRun
from attnexp.imported.selection import Selection, select
from attnexp.imported.tracked import Tracked, outside_runs

MLFLOW = """
CREATE TABLE experiments (experiment_id INTEGER, name TEXT);
CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INTEGER, end_time INTEGER,
  lifecycle_stage TEXT, experiment_id INTEGER);
CREATE TABLE params (run_uuid TEXT, key TEXT, value TEXT);
CREATE TABLE tags (run_uuid TEXT, key TEXT, value TEXT);
CREATE TABLE metrics (run_uuid TEXT, key TEXT, value FLOAT, timestamp INTEGER, step INTEGER,
  is_nan INTEGER);
"""


@pytest.fixture
def mlflow(tmp_path):
    """Writes runs (experiment, name, params, accuracy, parent) as both stores of MLflow."""

    def write(*runs):
        connection = sqlite3.connect(tmp_path / "m.db")
        connection.executescript(MLFLOW)
        for number in {run[0] for run in runs}:
            connection.execute("INSERT INTO experiments VALUES (?, ?)", (number, f"exp{number}"))
            folder = tmp_path / "mlruns" / str(number)
            folder.mkdir(parents=True)
            (folder / "meta.yaml").write_text(f"name: exp{number}\n")
        for i, (experiment, name, params, value, parent) in enumerate(runs):
            uuid = f"{i:032x}"
            row = (uuid, name, "FINISHED", i, i + 1, "active", experiment)
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            folder = tmp_path / "mlruns" / str(experiment) / uuid
            for part in ("params", "metrics", "tags"):
                (folder / part).mkdir(parents=True)
            (folder / "meta.yaml").write_text(f"run_name: {name}\nstatus: 3\nstart_time: {i}\n")
            for key, each in params.items():
                connection.execute("INSERT INTO params VALUES (?, ?, ?)", (uuid, key, each))
                (folder / "params" / key).write_text(each)
            if parent is not None:
                tag = ("mlflow.parentRunId", f"{parent:032x}")
                connection.execute("INSERT INTO tags VALUES (?, ?, ?)", (uuid, *tag))
                (folder / "tags" / tag[0]).write_text(tag[1])
            point = (uuid, "acc", value, i, 0, 0)
            connection.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", point)
            (folder / "metrics" / "acc").write_text(f"{i} {value} 0\n")
        connection.commit()
        connection.close()

    return write


def counted(succeeds, column):
    """What the table of results has: the mean and the number of seeds by a column."""
    succeeds("results", "imported", "--output", "rows.json")
    with open("rows.json") as file:
        return {row.get(column): (row["mean"], row["n"]) for row in json.load(file)["rows"]}


@pytest.mark.parametrize("store", ["m.db", "mlruns"])
def test_two_experiments_with_equal_parameters_are_two_rows(store, mlflow, succeeds):
    params = [{"lr": "0.1", "seed": str(seed)} for seed in range(2)]
    mlflow(
        *((1, f"a{s}", params[s], 0.25 + s / 2, None) for s in range(2)),
        *((2, f"b{s}", params[s], 0.125, None) for s in range(2)),
    )
    said = succeeds("import", "mlflow", store).stdout
    assert "imported 4 runs" in said
    assert "so these are the setting experiment (--name-as" in said
    assert counted(succeeds, "experiment") == {"exp1": (0.5, 2), "exp2": (0.125, 2)}


@pytest.mark.parametrize("store", ["m.db", "mlruns"])
def test_a_run_that_contains_others_is_left_out(store, mlflow, succeeds):
    mlflow(
        (1, "study", {}, 0.9, None),
        (1, "one", {"lr": "0.1", "seed": "0"}, 0.5, 0),
        (1, "two", {"lr": "0.2", "seed": "0"}, 0.75, 0),
    )
    done = succeeds("import", "mlflow", store)
    assert "imported 2 runs" in done.stdout
    assert f"left out: the run study of {store}: they contain other runs" in (
        done.stdout + done.stderr
    )
    assert counted(succeeds, "lr") == {0.1: (0.5, 1), 0.2: (0.75, 1)}


def test_groups_of_trackio_are_rows(succeeds, tmp_path):
    connection = sqlite3.connect(tmp_path / "p.db")
    connection.execute("CREATE TABLE metrics (run_id TEXT, run_name TEXT, step INT, metrics TEXT)")
    connection.execute("CREATE TABLE configs (run_id TEXT, run_name TEXT, config TEXT)")
    for group in ("dot", "cosine"):
        for seed in range(2):
            name = f"run{seed}"
            values = json.dumps({"acc": len(group) + seed / 2})
            row = (f"{group}{seed}", name, 0, values)
            connection.execute("INSERT INTO metrics VALUES (?, ?, ?, ?)", row)
            config = json.dumps({"_Group": group, "seed": seed})
            settings = (f"{group}{seed}", name, config)
            connection.execute("INSERT INTO configs VALUES (?, ?, ?)", settings)
    connection.commit()
    connection.close()
    assert "imported 4 runs" in succeeds("import", "trackio", "p.db").stdout
    assert counted(succeeds, "group") == {"dot": (3.25, 2), "cosine": (6.25, 2)}


def test_runs_of_one_name_are_told_apart_by_what_the_tool_calls_them(succeeds, tmp_path):
    connection = sqlite3.connect(tmp_path / "p.db")
    connection.execute("CREATE TABLE metrics (run_id TEXT, run_name TEXT, step INT, metrics TEXT)")
    for number in "ab":
        row = (number, "same", 0, json.dumps({"acc": ord(number)}))
        connection.execute("INSERT INTO metrics VALUES (?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    succeeds("import", "trackio", "p.db")
    assert counted(succeeds, "id") == {"a": (97, 1), "b": (98, 1)}


def test_the_runs_of_wandbs_table_are_told_apart_by_name_and_count_as_they_ended(
    succeeds, tmp_path
):
    lines = ["Name,State,Notes,acc"]
    for model, values in {"dot": (0.5, 0.75, 0.1), "cos": (0.25, 0.5, 0.2)}.items():
        states = ("finished", "finished", "crashed")
        lines += [
            f"{model}_seed{seed},{states[seed]},x{seed},{value}"
            for seed, value in enumerate(values)
        ]
    (tmp_path / "w.csv").write_text("\n".join(lines) + "\n")
    succeeds("import", "csv", "w.csv", "--metrics", "acc", "--name-as", "model")
    assert counted(succeeds, "model") == {"dot": (0.625, 2), "cos": (0.375, 2)}
    frame = load_results("imported")
    assert dict(frame["status"].value_counts()) == {"finished": 4, "failed": 2}
    assert set(frame["name"]) == {f"{m}_seed{s}" for m in ("dot", "cos") for s in range(3)}


def test_a_state_that_is_no_word_for_an_end_is_a_column(succeeds, tmp_path):
    (tmp_path / "s.csv").write_text("State,seed,acc\nOhio,0,1\nTexas,1,2\n")
    succeeds("import", "csv", "s.csv", "--metrics", "acc")
    assert set(load_results("imported")["status"]) == {"finished"}


@pytest.mark.parametrize("setting", ["device", "experiment", "tracker", "figures", "output_dir"])
def test_a_setting_that_would_change_nothing_here_tells_runs_of_others_apart(
    setting, succeeds, tmp_path
):
    (tmp_path / "r.csv").write_text(f"{setting},seed,acc\none,0,1\ntwo,0,2\n")
    succeeds("import", "csv", "r.csv", "--settings", setting, "--metrics", "acc")
    succeeds("results", "imported", "--output", "rows.json")
    with open("rows.json") as file:
        assert sorted(row["mean"] for row in json.load(file)["rows"]) == [1, 2]


def test_a_final_number_decides_over_the_last_of_a_curve():
    points = [LoggedPoint(step, {"acc": step / 8, "loss": 2.0 - step}) for step in (1, 2)]
    ((run,), _) = outside_runs([Tracked("run a", "a", {}, points=points, final={"acc": 0.75})])
    assert run.metrics == {"acc": 0.75, "loss": 0.0}
    assert [row["acc"] for row in run.epochs] == [0.125, 0.25]


def test_a_choice_is_text_and_a_setting_is_what_it_was():
    run = OutsideRun("line 2", {"model": 3, "lr": 3}, {"acc": 1.0})
    (one,) = select([run], ImportRequest())[0]
    assert one.settings == {"model": "3", "lr": 3}


def test_a_setting_called_seed_beside_another_seed_stays(succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("seed,trial,acc\n7,0,1\n8,0,2\n")
    words = ("--settings", "seed", "--seed", "trial", "--metrics", "acc")
    succeeds("import", "csv", "r.csv", *words)
    assert counted(succeeds, "config.seed") == {7: (1, 1), 8: (2, 1)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seed,acc,Step\n0,1,1\n0,2,2\n", "differ in Step: they are steps of one curve"),
        ("epoch,acc,loss\n0,1,1\n1,2,2\n", "differ in epoch: they are steps of one curve"),
        ("seed,acc,lr\n0,1,1\n0,2,2\n", "differ in lr: name the column that tells"),
        ("seed,acc,width\n0,1,1\n0,2,2\n", "differ in width: name the column that tells"),
        ("seed,acc\n0,1\n0,2\n", "keep the one that counts, or add a column"),
    ],
)
def test_rows_that_nothing_tells_apart_cost_a_sentence(text, sentence, refused, tmp_path):
    (tmp_path / "r.csv").write_text(text)
    said = refused("import", "csv", "r.csv", "--metrics", "acc")
    assert "line 2 of r.csv and line 3 of r.csv have the same settings and seed 0" in said
    assert sentence in said
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("cell", "seed"),
    [("42", 42), ("42.0", 42), ('"43"', 43), (" 44", 44), ("0", 0), (str(2**60 + 1), 2**60 + 1)],
)
def test_a_seed_may_be_written_as_text(cell, seed, succeeds, tmp_path):
    (tmp_path / "r.csv").write_text(f"seed,acc\n{cell},1\n")
    succeeds("import", "csv", "r.csv", "--metrics", "acc")
    assert list(load_results("imported")["seed"]) == [seed]


def test_a_run_without_a_seed_is_left_out_where_others_have_one(succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("seed,acc\n0,1\n-1,2\n,3\n1,4\n")
    said = succeeds("import", "csv", "r.csv", "--metrics", "acc").stdout
    assert (
        "left out 2 runs: the seed (seed) is a whole number from 0 on; line 3 of r.csv has -1, "
        "line 4 of r.csv has none"
    ) in said
    assert sorted(load_results("imported")["acc"]) == [1, 4]


@pytest.mark.parametrize("words", [["results"], ["report", "--static", "--output", "p.html"]])
def test_runs_without_any_setting_are_shown(words, succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("seed,acc\n0,1\n1,2\n")
    succeeds("import", "csv", "r.csv", "--metrics", "acc")
    assert succeeds(words[0], "imported", *words[1:]).stdout
    assert len(load_results("imported")) == 2


def test_experiments_and_names_tell_runs_apart_together(mlflow, succeeds):
    mlflow(
        *(
            (number, f"{model}_seed{seed}", {}, number + len(model) + seed / 2, None)
            for number in (1, 2)
            for model in ("dot", "cosine")
            for seed in range(2)
        )
    )
    said = succeeds("import", "mlflow", "m.db").stdout
    assert "so these are the setting experiment, run (" in said
    succeeds("results", "imported", "--output", "rows.json")
    with open("rows.json") as file:
        rows = {(r["experiment"], r["run"]): (r["mean"], r["n"]) for r in json.load(file)["rows"]}
    assert rows == {
        ("exp1", "dot"): (4.25, 2),
        ("exp1", "cosine"): (7.25, 2),
        ("exp2", "dot"): (5.25, 2),
        ("exp2", "cosine"): (8.25, 2),
    }


def test_names_that_are_alike_without_their_seeds_are_whole(succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("Name,acc\ndot_seed01,1\ndot_seed1,2\n")
    succeeds("import", "csv", "r.csv", "--metrics", "acc")
    assert counted(succeeds, "run") == {"dot_seed01": (1, 1), "dot_seed1": (2, 1)}


def test_a_seed_in_some_names_is_not_read_and_that_is_said(succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("Name,acc\ndot_seed0,1\nbig,2\n")
    said = succeeds("import", "csv", "r.csv", "--metrics", "acc").stdout
    assert "1 of 2 names end in a seed, which is not read: name all runs so, or none" in said


def test_the_metric_that_a_run_recorded_ranks_unless_another_was_asked_for():
    run = OutsideRun("line 1", {}, {"a": 1.0, "b": 2.0}, primary="b")
    parts: dict[str, Any] = {
        "runs": [run],
        "settings": [],
        "metrics": ["a", "b"],
        "better": {},
        "seed": None,
    }
    for headline, primary in (([], "b"), (["a"], "a")):
        found = Selection(**parts, headline=headline, primary="a", seed_in_name=False)
        assert [each.primary for each in found] == [primary]
