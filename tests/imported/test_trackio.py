"""`attnexp import trackio`: a database with the tables that Trackio makes."""

import json
import sqlite3

import pytest

OLD = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL,
  project_name TEXT NOT NULL, run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL);
"""
NEW = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,
  timestamp TEXT NOT NULL, run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL,
  log_id TEXT, space_id TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,
  run_name TEXT NOT NULL, config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
"""


@pytest.fixture
def database(tmp_path):
    """Fills tables of a new database and returns it, open."""
    connections = []

    def make(schema, name="project.db"):
        connections.append(sqlite3.connect(tmp_path / name))
        connections[-1].executescript(schema)
        return connections[-1]

    yield make
    for connection in connections:
        connection.close()


def log(connection, run, step, values, at="2026-01-01T00:00:00"):
    if not isinstance(values, str):
        values = json.dumps(values).encode()  # newer versions store bytes
    if connection.execute(
        "SELECT 1 FROM pragma_table_info('metrics') WHERE name = 'run_id'"
    ).fetchall():
        first, columns = f"id-{run}", "run_id, timestamp, run_name, step, metrics"
        row = (first, at, run, step, values)
    else:
        columns, row = (
            "project_name, timestamp, run_name, step, metrics",
            ("p", at, run, step, values),
        )
    connection.execute(f"INSERT INTO metrics ({columns}) VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()


def configure(connection, run, config):
    row = (f"id-{run}", run, json.dumps(config), "2026-01-01T00:00:00")
    connection.execute(
        "INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)", row
    )
    connection.commit()


@pytest.fixture
def project(database):
    """Two models at two seeds, with a loss at each of three steps and an accuracy at the last."""
    connection = database(NEW)
    for model in ("rnn", "mamba"):
        for seed in (0, 1):
            run = f"{model}-{seed}"
            configure(
                connection,
                run,
                {
                    "model": model,
                    "seed": seed,
                    "optim": {"lr": 0.1, "betas": [0.9, 0.99]},
                    "_Username": "me",
                    "api_key": "hush",
                },
            )
            for step in range(3):
                values = {"loss": 3.0 - step - seed / 10, "note": "x", "ok": True}
                if step == 2:
                    values["eval"] = {"accuracy": 0.5 + seed / 10}
                    values = {**values, "odd": None}
                log(connection, run, step * 10, values, f"2026-01-01T00:00:0{step}")
    return connection


def test_configs_metrics_and_curves_come_over(project, succeeds, tmp_path):
    from attnexp import load_results
    from attnexp.runs.folder import load_run

    said = succeeds("import", "trackio", "project.db").stdout
    assert said.startswith("imported 4 runs into imported\n")
    frame = load_results("imported").sort_values(["model", "seed"]).reset_index(drop=True)
    assert list(frame["model"]) == ["mamba", "mamba", "rnn", "rnn"]
    assert list(frame["seed"]) == [0, 1, 0, 1]
    assert set(frame["optim.lr"]) == {0.1}
    assert set(frame["optim.betas"]) == {"[0.9, 0.99]"}
    assert set(frame["api_key"]) == {"***"}
    assert not {"_Username", "note", "ok"} & set(frame.columns)
    assert list(frame["loss"]) == pytest.approx([1.0, 0.9, 1.0, 0.9])
    assert list(frame["eval.accuracy"]) == pytest.approx([0.5, 0.6, 0.5, 0.6])
    assert set(frame["started"]) == {"2026-01-01T00:00:00"}
    assert set(frame["ended"]) == {"2026-01-01T00:00:02"}
    curves = load_run(frame["folder"][1]).epochs
    assert list(curves["epoch"]) == [0, 10, 20]
    assert list(curves["loss"]) == pytest.approx([2.9, 1.9, 0.9])
    drawn = succeeds("plot", "imported", "--kind", "loss", "--output", "pictures").stdout
    assert drawn == "pictures/loss.png\n"
    succeeds("plot", "imported", "--metric", "eval.accuracy", "--output", "pictures")
    assert "4 runs" in succeeds("results", "imported").stdout
    succeeds("report", "imported", "--static", "--output", "page.html")
    assert "and 4 were there" in succeeds("import", "trackio", "project.db").stdout


def test_names_choose_and_the_first_metric_ranks(project, succeeds, tmp_path):
    words = ("--settings", "model", "--metrics", "eval.accuracy,loss")
    succeeds("import", "trackio", "project.db", *words)
    (first, *_) = sorted((tmp_path / "imported").glob("*/summary.json"))
    summary = json.loads(first.read_text())
    assert summary["config"] == {"seed": 0}
    assert summary["primary"] == "eval.accuracy"
    assert summary["better"] == {"eval.accuracy": "higher", "loss": "lower"}
    succeeds("import", "trackio", "project.db", "--metrics", "eval.accuracy", "--output", "ends")
    assert not [*tmp_path.glob("ends/*/metrics.csv")]  # one number is no curve


def test_the_older_tables_without_configurations_are_read(database, succeeds, tmp_path):
    from attnexp import load_results

    connection = database(OLD)
    log(connection, "a", 0, {"loss": 1})
    log(connection, "a", 1, {"loss": "NaN"})
    log(connection, "b", 0, {"loss": 2, "big": 10**400, "inf": "Infinity"})
    succeeds("import", "trackio", "project.db")
    frame = load_results("imported").sort_values("loss").reset_index(drop=True)
    assert list(frame["seed"]) == [0, 0]
    assert frame["loss"][0] == 2
    assert frame["loss"].isna()[1]
    assert list(frame["status"]) == ["finished", "failed"]
    (curve,) = tmp_path.glob("imported/*/metrics.csv")
    assert curve.read_text() == "epoch,loss\n0,1.0\n1,nan\n"


def test_a_whole_number_of_any_size_is_that_number(database, succeeds, tmp_path):
    log(database(NEW), "a", 0, {"loss": 2**70, "low": -(10**300), "none": 10**309})
    succeeds("import", "trackio", "project.db")
    (summary,) = (tmp_path / "imported").glob("*/summary.json")
    found = json.loads(summary.read_text())
    assert found["metrics"] == {"loss": 2.0**70, "low": -1e300, "none": None}
    assert found["status"] == "finished"


def test_a_database_that_is_written_meanwhile_is_left_as_it_is(project, succeeds, tmp_path):
    before = (tmp_path / "project.db").read_bytes()
    project.execute("PRAGMA journal_mode = WAL")
    log(project, "rnn-0", 30, {"loss": 0.25})
    succeeds("import", "trackio", "project.db")
    assert 0.25 in [
        json.loads(path.read_text())["metrics"]["loss"]
        for path in (tmp_path / "imported").glob("*/summary.json")
    ]
    assert len((tmp_path / "project.db").read_bytes()) == len(before)


@pytest.mark.parametrize(
    ("values", "words", "sentence"),
    [
        ('{"loss": ', "", "the run a of project.db is damaged"),
        ("[1]", "", "is not an object of JSON"),
        ('{"a":' * 100_000, "", "is not an object of JSON"),
        ('{"loss": 1}', "--metrics los", "Did you mean 'loss'?"),
        ('{"loss": 1}', "--seed run", "--seed: there is no setting 'run'"),
        ('{"loss": 1}', "--settings lr", "--settings: there is no setting 'lr'"),
    ],
)
def test_damage_and_wrong_names_cost_a_sentence(
    values, words, sentence, database, refused, tmp_path
):
    log(database(NEW), "a", 0, values)
    assert sentence in refused("import", "trackio", "project.db", *words.split())
    assert not (tmp_path / "imported").exists()


def test_a_seed_that_is_none_costs_a_sentence(database, refused):
    connection = database(NEW)
    configure(connection, "a", {"seed": "first"})
    said = refused("import", "trackio", "project.db")
    assert "the run a of project.db has 'first'" in said


def test_other_files_cost_a_sentence(database, project, refused, tmp_path):
    whole = (tmp_path / "project.db").read_bytes()
    for name, content in {"text": b"loss\n1\n" * 99, "cut": whole[: len(whole) // 2]}.items():
        (tmp_path / name).write_bytes(content)
        assert "cannot be read as an SQLite database" in refused("import", "trackio", name)
    (tmp_path / "empty").write_bytes(b"")
    assert "has no table metrics" in refused("import", "trackio", "empty")
    assert "is not a file" in refused("import", "trackio", ".")
    view = "CREATE VIEW metrics AS SELECT 'a' AS run_name, 0 AS step, '{\"loss\": 1}' AS metrics;"
    database(view, "view.db")
    assert "has no table metrics" in refused("import", "trackio", "view.db")
