"""Runs that are imported again: a corrected or grown run takes the place of what it was."""

import csv
import json
import os

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
    assert "imported 0 runs into imported, replaced 1 that had changed, and 1 were" in said
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


def chart(*steps, run="dot"):
    """A chart of wandb in which a run has a loss at each step."""
    lines = [f"Step,{run} - loss,{run} - loss__MIN,{run} - loss__MAX"]
    return "\n".join([*lines, *(f"{step}{f',{10.0 - step}' * 3}" for step in steps)])


@pytest.mark.parametrize("run", [f"dot-{n}" for n in range(4)])
def test_a_run_that_has_grown_has_its_new_curve(run, succeeds, tmp_path):
    def summary():
        (path,) = tmp_path.glob("imported/*/summary.json")
        return json.loads(path.read_text())

    (tmp_path / "c.csv").write_text(chart(0, 1, 2, run=run))
    succeeds("import", "csv", "c.csv")
    before = summary()
    assert (before["metrics"], before["last_step"]) == ({"loss": 8.0}, 2)
    (tmp_path / "c.csv").write_text(chart(0, 1, 2, 3, 4, run=run))
    assert "replaced 1" in succeeds("import", "csv", "c.csv").stdout
    assert (summary()["metrics"], summary()["last_step"]) == ({"loss": 6.0}, 4)
    assert summary()["imported_at"] > before["imported_at"]
    (curve,) = tmp_path.glob("imported/*/metrics.csv")
    rows = list(csv.DictReader(curve.read_text().splitlines()))
    assert [(float(row["epoch"]), float(row["loss"])) for row in rows] == [
        (step, 10.0 - step) for step in range(5)
    ]


def test_a_chart_that_goes_back_costs_a_sentence(refused, tmp_path):
    (tmp_path / "c.csv").write_text(chart(0, 1, 2, 1))
    said = refused("import", "csv", "c.csv")
    assert "c.csv, line 5: dot - loss goes back from Step 2 to 1" in said
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize("step", ["nan", "inf", str(2**53)])
def test_a_step_that_is_no_number_of_a_step_costs_a_sentence(step, refused, tmp_path):
    (tmp_path / "c.csv").write_text(chart(0) + f"\n{step},1,1,1\n")
    assert f"c.csv, line 3: Step is '{step}'" in refused("import", "csv", "c.csv")


def test_a_name_is_a_column_and_is_shown(table, succeeds, tmp_path):
    (tmp_path / "w.csv").write_text("Name,seed,acc\nmy run,0,1\nother,1,2\n")
    succeeds("import", "csv", "w.csv", "--metrics", "acc")
    succeeds("results", "imported", "--runs", "--output", "runs.csv")
    with open("runs.csv", newline="") as file:
        assert {row["name"] for row in csv.DictReader(file)} == {"my run", "other"}
    assert "my run" in succeeds("results", "imported", "--runs").stdout
    folder = next(tmp_path.glob("imported/*seed0*"))
    assert "my run" in succeeds("show", str(folder)).stdout


def test_a_run_that_would_be_taken_for_an_earlier_one_is_refused(succeeds, refused, tmp_path):
    """One by one, nothing but their names tells them apart."""
    (tmp_path / "a.csv").write_text(chart(1, run="dot"))
    (tmp_path / "b.csv").write_text(chart(2, run="add"))
    succeeds("import", "csv", "a.csv")
    said = refused("import", "csv", "b.csv")
    assert "the curve of add in b.csv has the settings and seed 0 of the curve of dot in" in said
    assert "--name-as SETTING" in said
    assert len(list((tmp_path / "imported").iterdir())) == 1
    for name in ("a.csv", "b.csv"):
        succeeds("import", "csv", name, "--name-as", "model")
    assert "2 rows" in succeeds("results", "imported").stdout


def test_a_part_that_is_imported_again_keeps_the_names_of_runs(succeeds, tmp_path):
    from attnexp import load_results

    (tmp_path / "a.csv").write_text("Name,acc\ndot,1\nadd,2\n")
    words = ("import", "csv", "a.csv", "--metrics", "acc")
    succeeds(*words, "--name-as", "model")
    assert succeeds(*words).stdout.startswith("imported 0 runs into imported, and 2 were there\n")
    assert set(load_results("imported")["model"]) == {"dot", "add"}


@pytest.mark.parametrize("state", ["crashed,0.9", "finished,nan"])
def test_a_later_bad_end_counts_and_an_earlier_good_one_does_not(state, succeeds, tmp_path):
    (tmp_path / "a.csv").write_text("state,acc,model,seed\nfinished,0.5,dot,0\n")
    (tmp_path / "b.csv").write_text(f"state,acc,model,seed\n{state},dot,0\n")
    for name in ("a.csv", "b.csv"):
        succeeds("import", "csv", name, *WORDS)
    succeeds("results", "imported", "--output", "t.json")
    with open("t.json") as file:
        (record,) = json.load(file)["rows"]
    assert record["n"] == 0
    succeeds("import", "csv", "a.csv", *WORDS)  # put back in force
    succeeds("results", "imported", "--output", "t.json")
    with open("t.json") as file:
        (record,) = json.load(file)["rows"]
    assert (record["n"], record["mean"]) == (1, 0.5)


def test_a_setting_with_the_name_of_a_secret_is_refused(succeeds, refused, tmp_path):
    (tmp_path / "a.csv").write_text("api_key,seed,acc\ndot,0,1\ncos,0,2\n")
    said = refused("import", "csv", "a.csv", "--metrics", "acc", "--settings", "api_key")
    assert "'api_key' has the name of a secret, which a run does not store" in said


def test_true_is_not_1(refused, tmp_path):
    (tmp_path / "a.csv").write_text("x,seed,acc\nTrue,0,1\n1,1,2\n")
    said = refused("import", "csv", "a.csv", "--settings", "x", "--metrics", "acc")
    assert "x is true or false in some runs and 1 or 0 in others: write one of both" in said


def test_folders_of_a_killed_import_are_removed_later(table, succeeds, tmp_path):
    table(("a", 0, 1))
    names = [f".a-seed0-0123456789.{end}.tmp" for end in ("01234567", "89abcdef")]
    for name in names:
        (tmp_path / "imported" / name).mkdir(parents=True)
    (tmp_path / "imported" / ".mine.tmp").mkdir()
    long_ago = 1_700_000_000
    for name in (names[0], ".mine.tmp"):
        os.utime(tmp_path / "imported" / name, (long_ago, long_ago))
    succeeds("import", "csv", "runs.csv", *WORDS)
    left = {path.name for path in (tmp_path / "imported").glob(".*")}
    assert left == {names[1], ".mine.tmp"}
