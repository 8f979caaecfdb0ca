"""`attnexp import mlflow`: a database and a store of files as MLflow 3.17 leaves them."""

import math
import os
import sqlite3

import pytest

SCHEMA = """
CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, name VARCHAR(250),
  status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20),
  experiment_id INTEGER);
CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL,
  run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL,
  run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL,
  is_nan BOOLEAN DEFAULT '0' NOT NULL,
  PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
"""
BEGIN = 1_767_225_600_000
RUNS = {
    "a" * 32: (
        "first",
        "FINISHED",
        {"model": "rnn", "seed": "0", "optim.lr": "0.1", "tied": "True"},
    ),
    "b" * 32: ("second", "FINISHED", {"model": "rnn", "seed": "1", "optim.lr": "0.1"}),
    "c" * 32: ("third", "FAILED", {"model": "rnn", "seed": "2"}),
    "d" * 32: ("fourth", "RUNNING", {"model": "rnn", "seed": "3"}),
    "e" * 32: ("fifth", "KILLED", {"model": "rnn", "seed": "4"}),
}
NUMBERS = ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")


def losses(seed):
    return [(step, 2.5 - step / 10 + seed) for step in (0, 10, 20)]


@pytest.fixture
def database(tmp_path):
    connection = sqlite3.connect(tmp_path / "mlflow.db")
    connection.executescript(SCHEMA)
    deleted = {"f" * 32: ("gone", "FINISHED", {"seed": "9"})}
    for run, (name, status, params) in {**RUNS, **deleted}.items():
        stage = "deleted" if run in deleted else "active"
        row = (run, name, status, BEGIN, BEGIN + 5000, stage, 1)
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for key, value in params.items():
            connection.execute("INSERT INTO params VALUES (?, ?, ?)", (key, value, run))
        points = [("loss", *point, 0) for point in losses(int(params["seed"]))]
        for key, step, value, nan in [*points, ("val/acc", 0, 0.5, 0), ("odd", 0, 0.0, 1)]:
            point = (key, value, BEGIN + step, run, step, nan)
            connection.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", point)
    connection.commit()
    connection.close()
    return tmp_path / "mlflow.db"


@pytest.fixture
def folder(tmp_path):
    experiment = tmp_path / "mlruns" / "721720630017033477"
    experiment.mkdir(parents=True)
    (experiment / "meta.yaml").write_text("lifecycle_stage: active\nname: e\n")
    deleted = {"f" * 32: ("gone", "FINISHED", {"seed": "9"})}
    for run, (name, status, params) in {**RUNS, **deleted}.items():
        for part in ("params", "metrics/val", "tags", "artifacts"):
            (experiment / run / part).mkdir(parents=True)
        stage = "deleted" if run in deleted else "active"
        (experiment / run / "meta.yaml").write_text(
            f"end_time: {BEGIN + 5000}\nentry_point_name: ''\nlifecycle_stage: {stage}\n"
            f"run_id: {run}\nrun_name: {name}\nstart_time: {BEGIN}\n"
            f"status: {NUMBERS.index(status) + 1}\ntags: []\n"
        )
        for key, value in params.items():
            (experiment / run / "params" / key).write_text(value)
        lines = [f"{BEGIN + step} {value} {step}\n" for step, value in losses(int(params["seed"]))]
        (experiment / run / "metrics" / "loss").write_text("".join(lines))
        (experiment / run / "metrics" / "val" / "acc").write_text(f"{BEGIN} 0.5 0\n")
        (experiment / run / "metrics" / "odd").write_text(f"{BEGIN} nan 0\n")
    return experiment.parent


@pytest.mark.parametrize("source", ["database", "folder"])
def test_parameters_metrics_and_statuses_come_over(source, request, succeeds):
    from attnexp import load_results
    from attnexp.runs.folder import load_run

    path = request.getfixturevalue(source).name
    said = succeeds("import", "mlflow", path).stdout
    assert said.startswith("imported 5 runs into imported\n")
    frame = load_results("imported").sort_values("seed").reset_index(drop=True)
    assert list(frame["seed"]) == [0, 1, 2, 3, 4]
    assert list(frame["status"]) == ["finished"] * 2 + ["failed"] + ["interrupted"] * 2
    assert set(frame["model"]) == {"rnn"}
    assert list(frame["optim.lr"])[:2] == [0.1, 0.1]
    assert frame["tied"][0] is True
    assert list(frame["loss"]) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert list(frame["val/acc"]) == [0.5] * 5
    assert set(frame["started"]) == {"2026-01-01T00:00:00+00:00"}
    assert set(frame["ended"]) == {"2026-01-01T00:00:05+00:00"}
    assert "killed" in frame["error"][4]
    epochs = load_run(frame["folder"][1]).epochs
    assert list(epochs["loss"]) == [3.5, 2.5, 1.5]
    assert math.isnan(epochs["val/acc"][1])
    assert "and 5 were there" in succeeds("import", "mlflow", path).stdout
    for words in (["results"], ["results", "--runs"], ["results", "--by", "model"], ["status"]):
        assert succeeds(*words, "imported").stdout
    drawn = succeeds("plot", "imported", "--kind", "loss", "--output", "pictures").stdout
    assert "pictures/loss.png\n" in drawn


def test_one_run_of_a_store_of_files_can_be_named(folder, succeeds):
    run = next(folder.glob("*/" + "a" * 32))
    assert "imported 1 run into" in succeeds("import", "mlflow", str(run)).stdout


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("meta.yaml", "status: [", "holds no settings in YAML"),
        ("meta.yaml", "!!python/object/apply:os.system ['true']", "holds no settings in YAML"),
        ("meta.yaml", "- 1", "holds no settings in YAML"),
        ("metrics/loss", "1 low 2\n", "the run first of mlruns is damaged: loss has '1 low 2'"),
        ("metrics/loss", "1\n", "is damaged: loss has '1'"),
        ("metrics/loss", "1 2 3 4 x\n1 2 x", "is damaged: loss has '1 2 x'"),
    ],
)
def test_damaged_files_cost_a_sentence(file, text, sentence, folder, refused, tmp_path):
    next(folder.glob("*/" + "a" * 32)).joinpath(file).write_text(text)
    assert sentence in refused("import", "mlflow", "mlruns")
    assert not (tmp_path / "imported").exists()


def test_links_are_not_followed(folder, succeeds, tmp_path):
    (tmp_path / "mine").write_text("hush")
    run = next(folder.glob("*/" + "a" * 32))
    os.symlink(tmp_path / "mine", run / "params" / "stolen")
    succeeds("import", "mlflow", str(run))
    (summary,) = (tmp_path / "imported").glob("*/summary.json")
    assert "hush" not in summary.read_text()


def test_other_databases_and_empty_folders_cost_a_sentence(database, refused, tmp_path):
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE metrics SET value = 'low'")
    connection.close()
    assert "loss is not a number" in refused("import", "mlflow", "mlflow.db")
    (tmp_path / "none").mkdir()
    assert "holds no runs" in refused("import", "mlflow", "none")
    (tmp_path / "text").write_text("loss\n" * 99)
    assert "cannot be read as an SQLite database" in refused("import", "mlflow", "text")
