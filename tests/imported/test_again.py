"""Runs that are imported again: a corrected or grown run takes the place of what it was."""

import csv
import json
import sqlite3

import pytest

WORDS = ("--settings", "model", "--metrics", "acc")


@pytest.fixture
def table(tmp_path):
    def write(*rows, name="runs.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([("model", "seed", "acc"), *rows])

    return write


@pytest.mark.parametrize("corrected", [f"0.{n}" for n in range(51, 57)])
def test_a_corrected_number_is_the_only_one(corrected, table, succeeds):
    from attnexp import load_results

    table(("a", 0, "0.10"), ("a", 1, "0.5"))
    succeeds("import", "csv", "runs.csv", *WORDS)
    table(("a", 1, "0.5"), ("a", 0, corrected))
    said = succeeds("import", "csv", "runs.csv", *WORDS).stdout
    assert "imported 0 runs into imported, replaced 1 that had other numbers, and 1 were" in said
    found = load_results("imported")
    assert dict(zip(found["seed"], found["acc"], strict=True)) == {0: float(corrected), 1: 0.5}
    assert "older" not in succeeds("results", "imported").stdout


def test_the_later_of_two_files_counts(table, succeeds):
    """Whatever the hashes of their folders are: the files have the same settings and seed."""
    for number in range(6):
        table(("a", 0, number / 10), name=f"{number}.csv")
        succeeds("import", "csv", f"{number}.csv", *WORDS)
        shown = succeeds("results", "imported", "--output", "t.json").stdout
        assert "Traceback" not in shown
        with open("t.json") as file:
            (record,) = json.load(file)["rows"]
        assert record["mean"] == number / 10


def test_rows_that_are_gone_are_named_and_left(table, succeeds, tmp_path):
    table(("a", 0, 1), ("b", 0, 2))
    succeeds("import", "csv", "runs.csv", *WORDS)
    table(("a", 0, 1), name="other.csv")
    assert "earlier" not in succeeds("import", "csv", "other.csv", *WORDS).stdout
    table(("a", 0, 1))
    said = succeeds("import", "csv", "runs.csv", *WORDS)
    assert "1 earlier imported run of runs.csv is not among these" in said.stdout + said.stderr
    assert len(list((tmp_path / "imported").glob("b-*/summary.json"))) == 1


def test_files_of_the_user_in_a_folder_stay(table, succeeds, tmp_path):
    table(("a", 0, 1))
    succeeds("import", "csv", "runs.csv", *WORDS)
    (folder,) = (tmp_path / "imported").iterdir()
    (folder / "notes.txt").write_text("mine")
    table(("a", 0, 2))
    succeeds("import", "csv", "runs.csv", *WORDS)
    assert (folder / "notes.txt").read_text() == "mine"
    assert json.loads((folder / "summary.json").read_text())["metrics"] == {"acc": 2.0}


@pytest.mark.parametrize("run", [f"dot-{n}" for n in range(4)])
def test_a_run_that_has_grown_has_its_new_curve(run, succeeds, tmp_path):
    connection = sqlite3.connect(tmp_path / "p.db")
    connection.execute("CREATE TABLE metrics (run_name TEXT, step INTEGER, metrics TEXT)")

    def log(*steps):
        for step in steps:
            row = (run, step, json.dumps({"loss": 10.0 - step}))
            connection.execute("INSERT INTO metrics VALUES (?, ?, ?)", row)
        connection.commit()

    def summary():
        (path,) = tmp_path.glob("imported/*/summary.json")
        return json.loads(path.read_text())

    log(0, 1, 2)
    succeeds("import", "trackio", "p.db")
    before = summary()
    assert (before["metrics"], before["last_step"]) == ({"loss": 8.0}, 2)
    log(3, 4)
    assert "replaced 1" in succeeds("import", "trackio", "p.db").stdout
    assert (summary()["metrics"], summary()["last_step"]) == ({"loss": 6.0}, 4)
    assert summary()["imported_at"] > before["imported_at"]
    (curve,) = tmp_path.glob("imported/*/metrics.csv")
    assert curve.read_text() == "epoch,loss\n0,10.0\n1,9.0\n2,8.0\n3,7.0\n4,6.0\n"
    connection.close()


def test_a_run_of_ones_own_counts_before_its_copy(succeeds, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    succeeds("model=average", "figures=false", "tracker=tensorboard")
    succeeds("import", "tensorboard", "outputs")
    said = succeeds("results", "outputs", "imported").stdout
    assert "1 configuration, 1 run" in said
    assert "means leave out 1 older run of the same settings and seed" in said


def test_a_name_is_a_column_and_is_shown(table, succeeds, tmp_path):
    (tmp_path / "w.csv").write_text("Name,seed,acc\nmy run,0,1\nother,1,2\n")
    succeeds("import", "csv", "w.csv", "--metrics", "acc")
    succeeds("results", "imported", "--runs", "--output", "runs.csv")
    with open("runs.csv", newline="") as file:
        assert {row["name"] for row in csv.DictReader(file)} == {"my run", "other"}
    assert "my run" in succeeds("results", "imported", "--runs").stdout
    folder = next(tmp_path.glob("imported/*seed0*"))
    assert "my run" in succeeds("show", str(folder)).stdout
