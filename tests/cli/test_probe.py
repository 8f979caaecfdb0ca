"""`attnexp probe`, from the command line to the files and the tables."""

import json
import shutil

import pytest
from imported import python


@pytest.fixture
def run(finished_runs, in_process, tmp_path):
    return shutil.copytree(finished_runs["transformer"], tmp_path / "outputs" / "transformer")


@pytest.fixture
def curve(finished_runs, in_process, tmp_path):
    return shutil.copytree(finished_runs["curve"], tmp_path / "outputs" / "curve")


def test_the_usual_interventions_of_a_run(succeeds, run):
    answer = succeeds("probe", str(run))
    names = [line.split()[0] for line in answer.stdout.splitlines() if line]
    for name in ("uniform", "gold", "hard", "shuffled", "zero=cross"):
        assert name in names
    assert "encoder.2.1" in answer.stdout
    assert "costs most on the validation set" in answer.stdout
    assert answer.stdout.rstrip().endswith("figures/interventions.png")
    assert (run / "figures" / "interventions.png").exists()


@pytest.mark.slow
def test_the_same_interventions_give_the_same_numbers(succeeds, finished_runs, tmp_path):
    run = shutil.copytree(finished_runs["rnn"], tmp_path / "outputs" / "rnn")
    answer = succeeds("probe", str(run))
    stored = (run / "interventions.csv").read_text()
    assert "shuffled" in stored
    again = succeeds("probe", str(run))
    assert again.stdout.partition("intervention")[2] == answer.stdout.partition("intervention")[2]
    assert (run / "interventions.csv").read_text() == stored


def test_interventions_are_metrics_of_results(succeeds, refused, curve):
    succeeds("probe", str(curve), "hard", "topk=3")
    answer = succeeds("results", "--metric", "probe.topk=3.test_mse", "--format", "json")
    (row,) = json.loads(answer.stdout)["rows"]
    assert row["metric"] == "probe.topk=3.test_mse"
    said = refused("results", "--metric", "probe.gold.test_mse")
    assert "`attnexp probe RUN gold` measures what it can" in said


def test_json_is_nothing_but_json(in_process, curve):
    rows = json.loads(in_process("probe", str(curve), "uniform", "--format", "json").stdout)["rows"]
    assert [row["intervention"] for row in rows] == ["learned", "uniform"]
    assert not (curve / "figures" / "interventions.png").exists()


@pytest.mark.slow
def test_a_probed_run_does_not_import_the_compiler(run):
    """An optimizer would, and so would random numbers without memory, in more than two seconds."""
    code = f"""
import sys
from attnexp.cli.main import run
assert run(["probe", {str(run)!r}, "uniform", "--format", "json"]) == 0
assert "torch" in sys.modules
assert "torch._dynamo" not in sys.modules
"""
    answer = python("-c", code, cwd=run.parent)
    assert answer.returncode == 0, answer.stderr


def test_rerunning_a_run_forgets_what_was_probed(succeeds, tmp_path):
    words = ("model=gaussian", "figures=false")
    succeeds(*words)
    (folder,) = (tmp_path / "outputs").glob("gaussian-*")
    succeeds("probe", str(folder), "uniform")
    assert (folder / "interventions.csv").exists()
    succeeds(*words, "rerun=true")
    assert not (folder / "interventions.csv").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gold"], "data=sine does not say it of pooling"),
        (
            ["unifrom"],
            "unifrom is neither a run nor an intervention: 'unifrom' is not",
        ),
        (["zero=cross"], "'cross' is not a choice: choose pooling"),
        (["topk=-1"], "law=topk: count must be at least 1, got -1"),
        (["--metric", "bleu", "uniform"], "metric 'bleu' is not a choice"),
        (["uniform", "--where", "data=reverse"], "none of the 1 runs fits data=reverse"),
        (["uniform", "--output", "rows.xls"], "rows.xls ends with none of"),
    ],
)
def test_wrong_questions(refused, curve, words, sentence):
    assert sentence in refused("probe", str(curve), *words)


def test_a_run_without_parameters_is_refused(refused, curve):
    (curve / "model.safetensors").unlink()
    assert "holds no parameters of its model" in refused("probe", str(curve), "uniform")


def test_a_run_that_is_not_finished_is_refused(refused, write_run):
    write_run("begun", status="failed")
    assert "none of these runs has finished: there is nothing to probe" in refused(
        "probe", "outputs"
    )


def test_the_ending_of_a_file_names_its_format(succeeds, curve, tmp_path):
    succeeds("probe", str(curve), "uniform", "--output", "rows.json")
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["intervention"] for row in rows] == ["learned", "uniform"]


def test_a_head_of_a_regression_is_chosen_on_its_training_points(succeeds):
    words = ("model=scaled_dot", "arch.features=4", "arch.heads=2", "train.max_epochs=2")
    succeeds(*words, "figures=false")
    heads = ("zero=pooling.1.1", "zero=pooling.1.2")
    answer = succeeds("probe", "outputs", *heads, "--metric", "test_mae")
    assert "costs most on the train set (test_mae" in " ".join(answer.stdout.split())
    assert "difference to learned" in answer.stdout


def test_an_adversary_alone_is_told_and_not_drawn(succeeds, curve):
    assert "nats away" in succeeds("probe", str(curve), "adversarial").stdout
    assert (curve / "interventions.csv").exists()
    assert not (curve / "figures").exists()


def test_a_table_for_a_paper(in_process, curve):
    words = ["--columns", "difference", "--label", "tab:probe", "--digits", "2"]
    answer = in_process("probe", str(curve), "uniform", "--format", "latex", *words)
    assert answer.returncode == 0, answer.stderr
    assert r"\label{tab:probe}" in answer.stdout
    assert r"intervention & diff. to learned \\" in answer.stdout
    refused = in_process("probe", str(curve), "uniform", "--label", "tab:probe")
    assert refused.returncode == 2
    assert "--label is for LaTeX" in refused.stderr
