"""Runs that nothing but a name tells apart stay as many as they were."""

import json

import pytest

from attnexp import load_results
from attnexp.imported.outside import ImportRequest, OutsideRun
from attnexp.imported.selection import select


def counted(succeeds, column):
    """What the table of results has: the mean and the number of seeds by a column."""
    succeeds("results", "imported", "--output", "rows.json")
    with open("rows.json") as file:
        return {row.get(column): (row["mean"], row["n"]) for row in json.load(file)["rows"]}


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


def test_names_that_are_alike_without_their_seeds_are_whole(succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("Name,acc\ndot_seed01,1\ndot_seed1,2\n")
    succeeds("import", "csv", "r.csv", "--metrics", "acc")
    assert counted(succeeds, "run") == {"dot_seed01": (1, 1), "dot_seed1": (2, 1)}
    words = ("--metrics", "acc", "--name-as", "model", "--output", "other")
    assert "so these are the setting model (" in succeeds("import", "csv", "r.csv", *words).stdout


def test_a_seed_in_some_names_is_not_read_and_that_is_said(succeeds, tmp_path):
    (tmp_path / "r.csv").write_text("Name,acc\ndot_seed0,1\nbig,2\n")
    said = succeeds("import", "csv", "r.csv", "--metrics", "acc").stdout
    assert "1 of 2 names end in a seed, which is not read: name all runs so, or none" in said
