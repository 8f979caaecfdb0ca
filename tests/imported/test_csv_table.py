"""`attnexp import csv`: one row of a table is one run."""

import csv
import json
import os
import re

import pandas as pd
import pytest

ROWS = [
    {"model": model, "lr": lr, "seed": seed, "accuracy": 0.5 + lr + seed / 100, "loss": 2 - seed}
    for model in ("rnn", "mamba")
    for lr in (0.1, 0.25)
    for seed in range(3)
]


@pytest.fixture
def table(tmp_path):
    """Writes rows as runs.csv."""

    def write(rows=ROWS, name="runs.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return name

    return write


@pytest.fixture
def imported(succeeds, table, tmp_path):
    """Imports the rows and returns what was said, and the folder."""
    table()
    words = ("--settings", "model,lr", "--metrics", "accuracy,loss")
    return lambda: (succeeds("import", "csv", "runs.csv", *words).stdout, tmp_path / "imported")


def test_each_row_becomes_a_run_with_its_numbers(imported, tmp_path):
    from attnexp import load_results

    said, folder = imported()
    assert said.splitlines() == [
        "imported 12 runs into imported",
        "accuracy: higher is better (by its name; --better says otherwise); it ranks",
        "loss: lower is better (by its name; --better says otherwise)",
    ]
    frame = load_results(folder)
    assert frame.attrs["better"] == {"accuracy": "higher", "loss": "lower"}
    assert set(frame["status"]) == {"finished"}
    assert set(frame["primary"]) == {"accuracy"}
    columns = ["model", "lr", "seed", "accuracy", "loss"]
    found = frame[columns].sort_values(columns[:3]).reset_index(drop=True)
    wanted = pd.DataFrame(ROWS).sort_values(columns[:3]).reset_index(drop=True)
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False)


def test_results_and_plot_take_them(imported, succeeds):
    imported()
    shown = succeeds("results", "imported", "--by", "model").stdout
    assert "mamba" in shown
    assert "12 runs" in shown
    drawn = succeeds("plot", "imported", "--kind", "metric", "--output", "pictures").stdout
    assert drawn == "pictures/metric.png\n"


def test_a_repeat_changes_nothing_and_adds_new_rows(imported, succeeds, table):
    _, folder = imported()

    def content():
        texts = {path: path.read_text() for path in folder.rglob("*.*")}
        return {path: re.sub('"imported_at": .*', "", text) for path, text in texts.items()}

    before = content()
    said, _ = imported()
    assert said.startswith("imported 0 runs into imported, and 12 were there\n")
    assert content() == before
    table([*ROWS, {**ROWS[0], "seed": 3}])
    words = ("--settings", "model,lr", "--metrics", "accuracy,loss")
    said = succeeds("import", "csv", "runs.csv", *words).stdout
    assert said.startswith("imported 1 run into imported, and 12 were there\n")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("3", 3),
        ("-0.5", -0.5),
        ("1e-3", 0.001),
        ("007", "007"),
        ("00e1", "00e1"),
        ("1234e56", "1234e56"),
        ("12e-3", 0.012),
        ("2.5E+3", 2500.0),
        ("None", None),
        ("True", True),
        ("nan", "nan"),
        ("1e999", "1e999"),
        ("1_000", "1_000"),
        (" a b ", "a b"),
        ("9" * 5000, "9" * 5000),
        ("1234567890123456789", 1234567890123456789),
        ("-9223372036854775807", -9223372036854775807),
        ("9223372036854775808", "9223372036854775808"),
        ("1\N{ARABIC-INDIC DIGIT TWO}", "1\N{ARABIC-INDIC DIGIT TWO}"),
    ],
)
def test_a_cell_of_a_setting_has_the_type_of_its_text(cell, value, table, succeeds, tmp_path):
    table([{"width": cell, "loss": 1.0}])
    succeeds("import", "csv", "runs.csv", "--settings", "width", "--metrics", "loss")
    (summary,) = (tmp_path / "imported").glob("*/summary.json")
    found = json.loads(summary.read_text())["config"].get("width")
    assert found == value
    assert type(found) is type(value)


def test_a_quote_may_follow_a_blank(succeeds, tmp_path):
    text = 'lr, "name", "loss"\n0.1, "a, b", 1.5\n0.2, c, "2.5"\n'
    (tmp_path / "runs.csv").write_text(text)
    succeeds("import", "csv", "runs.csv", "--settings", "lr,name", "--metrics", "loss")
    found = [json.loads(path.read_text()) for path in tmp_path.glob("imported/*/summary.json")]
    assert sorted((each["config"]["name"], each["metrics"]["loss"]) for each in found) == [
        ("a, b", 1.5),
        ("c", 2.5),
    ]


def test_names_that_tell_runs_apart_replace_no_setting(table, succeeds, refused, tmp_path):
    table([{"Name": name, "run": 1, "run_name": 2, "loss": 1} for name in ("a", "b")])
    words = ("import", "csv", "runs.csv", "--settings", "run,run_name", "--metrics", "loss")
    succeeds(*words)
    found = [
        json.loads(path.read_text()) for path in (tmp_path / "imported").glob("*/summary.json")
    ]
    config = {"run": 1, "run_name": 2, "seed": 0}
    assert sorted((each["config"] for each in found), key=str) == [
        {**config, "run_name_name": name} for name in ("a", "b")
    ]
    assert "'seed' is a setting or a metric already" in refused(*words, "--name-as", "seed")


def test_an_empty_metric_has_no_value_and_an_empty_setting_is_left_out(table, succeeds, tmp_path):
    row = {"a": "", "loss": "None", "hits": "inf", "s": "7.0"}
    table([row, {**row, "loss": 1, "s": 8}, {**row, "loss": "", "s": 9}])
    words = ("--settings", "a", "--metrics", "loss,hits", "--seed", "s")
    succeeds("import", "csv", "runs.csv", *words, "--better", "hits=higher")
    (summary,) = (tmp_path / "imported").glob("csv-seed7-*/summary.json")
    content = json.loads(summary.read_text())
    assert content["config"] == {"seed": 7}
    assert content["metrics"] == {"hits": None}
    assert content["better"] == {"hits": "higher"}
    assert content["imported"] == "line 2 of runs.csv"


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("", "--metrics loss", "is empty"),
        ("loss\n1\n", "", "add --metrics A,B"),
        ("loss,a\n1,2\n", "--metrics los", "Did you mean 'loss'?"),
        ("loss,a\n1,2\n", "--metrics loss --settings b", "--settings: there is no column 'b'"),
        ("loss,a\n1,2\n", "--metrics loss --seed s", "--seed: there is no column 's'"),
        ("loss,a\n1,2\n", "--metrics loss,a --settings a", "'a' is a setting or the seed already"),
        ("loss,loss\n1,2\n", "--metrics loss", "line 1: 2 columns are named 'loss'"),
        ("loss,a\n1,2\n3\n", "--metrics loss", "line 3: it has 1 cells, and the first line 2"),
        ("loss\nlow\n", "--metrics loss", "line 2: loss is 'low', and not a number"),
        ("loss,seed\n1,-1\n", "--metrics loss", "line 2 of runs.csv has -1"),
        ("loss,seed\n1,0.5\n", "--metrics loss", "line 2 of runs.csv has 0.5"),
        ("loss,seed\n1,true\n", "--metrics loss", "line 2 of runs.csv has True"),
        ("loss,seed\n1,\n", "--metrics loss", "line 2 of runs.csv has none"),
        ("loss\n1\n2\n", "--metrics loss", "have the same settings and seed 0"),
        ("loss\n", "--metrics loss", "holds no runs"),
        ("loss\n1\n", "--metrics loss --better los=lower", "'los' is not among the metrics"),
        ("loss\n1\n", "--metrics loss --better loss=up", "is not NAME=higher or NAME=lower"),
        ("loss\n\0\n", "--metrics loss", "line 2: not a text file"),
        ('loss\n"1\n', "--metrics loss", "line 2: it cannot be read"),
        ("Step,a\n1,1\n", "--metrics a --seed Step", "'Step' says how far a run is, and is not"),
        ("State,a\nok,1\nbad,2\n", "--metrics a", "State says how runs ended, and has 'bad'"),
        ("loss;a\n0,5;2\n", "--metrics loss", "separated by semicolons: save it with commas"),
        ("loss\ta\n1\t2\n", "--metrics loss", "separated by tabs: save it with commas"),
        ("Wall time,Step,Value\n1,0,2\n", "", "is one curve that TensorBoard exported"),
    ],
)
def test_a_wrong_table_costs_a_sentence_and_writes_nothing(
    text, words, sentence, refused, tmp_path
):
    (tmp_path / "runs.csv").write_text(text)
    assert sentence in refused("import", "csv", "runs.csv", *words.split())
    assert not (tmp_path / "imported").exists()


def test_a_name_with_a_comma_is_given_in_quotes(succeeds, tmp_path):
    (tmp_path / "runs.csv").write_text('model,"f1, macro", seed\ndot,0.5,0\n')
    words = ("--settings", "model", "--metrics", '"f1, macro"')
    assert "f1, macro: higher is better" in succeeds("import", "csv", "runs.csv", *words).stdout


def test_bytes_that_are_not_text_and_a_folder_cost_a_sentence(refused, tmp_path):
    (tmp_path / "runs.csv").write_bytes(b"loss\n\xff\n")
    assert "line 2: it is not UTF-8, perhaps it is Latin-1" in refused(
        "import", "csv", "runs.csv", "--metrics", "a"
    )
    assert "is not a file" in refused("import", "csv", ".", "--metrics", "a")
    assert "is not there" in refused("import", "csv", "no.csv", "--metrics", "a")


def test_files_of_others_are_not_overwritten(imported, refused, tmp_path):
    _, folder = imported()
    first = min(folder.iterdir())
    (first / "summary.json").write_text("mine")
    words = ("--settings", "model,lr", "--metrics", "accuracy,loss")
    assert "move it away" in refused("import", "csv", "runs.csv", *words)
    assert (first / "summary.json").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    assert "--output" in refused("import", "csv", "runs.csv", *words, "--output", "file")
    assert (tmp_path / "file").read_text() == "mine"
    inside = ("--output", str(max(folder.iterdir()) / "more"))
    assert "would lie inside the run" in refused("import", "csv", "runs.csv", *words, *inside)


def test_a_run_that_cannot_be_written_leaves_nothing(imported, refused, monkeypatch, tmp_path):
    from attnexp.runs.summary import Summary

    def full(self, folder):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Summary, "write", full)
    words = ("--settings", "model,lr", "--metrics", "accuracy,loss")
    assert "the disk is full" in refused("import", "csv", "runs.csv", *words)
    assert list((tmp_path / "imported").iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["verify", "{}"], ["probe", "{}"], ["decode", "{}", "x"], ["show", "{}", "--head", "1"]],
)
def test_verbs_that_need_a_model_say_that_it_was_imported(words, imported, refused):
    _, folder = imported()
    path = str(min(folder.iterdir()))
    said = refused(*(word.format(path) for word in words))
    assert "was imported, from line" in said
    assert "no model and no attention" in said


@pytest.mark.parametrize("kind", ["attention", "loss", "fit"])
def test_pictures_that_need_more_say_that_it_was_imported(kind, imported, refused):
    _, folder = imported()
    for path in (folder, min(folder.iterdir())):
        assert "runs that were imported" in refused("plot", str(path), "--kind", kind)
    assert "there is nothing to draw" in refused("plot", str(min(folder.iterdir())))


@pytest.mark.parametrize("tool", ["wandb", "tensorboard", "mlflow", "trackio"])
def test_a_tool_that_was_read_before_leads_to_the_lines_of_its_own_reader(tool, refused, tmp_path):
    for words in ([tool, "X"], ["--metrics", "a", tool, str(tmp_path)]):
        said = refused("import", *words)
        assert "reads CSV alone: `attnexp docs outside` has the lines" in said
        assert said.strip().endswith(f"make one from {tool}")
    assert not (tmp_path / "imported").exists()


def test_a_metric_of_the_tool_itself_is_in_no_curve(succeeds, tmp_path):
    names = (f"dot - {metric}{end}" for metric in ("_t", "acc") for end in ("", "__MIN", "__MAX"))
    lines = f"Step,{','.join(names)}", "1,7,7,7,.25,.25,.25", "2,8,8,8,.5,.5,.5"
    (tmp_path / "chart.csv").write_text("\n".join(lines))
    succeeds("import", "csv", "chart.csv")
    (summary,) = (tmp_path / "imported").glob("*/summary.json")
    assert json.loads(summary.read_text())["metrics"] == {"acc": 0.5}
    assert "_t" not in (summary.parent / "metrics.csv").read_text()
