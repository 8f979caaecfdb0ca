"""`attnexp probe`, from the command line to the files and the tables."""

import json
import shutil

import pytest


@pytest.fixture
def run(finished_runs, in_process, tmp_path):
    return shutil.copytree(finished_runs["transformer"], tmp_path / "outputs" / "transformer")


@pytest.fixture
def curve(finished_runs, in_process, tmp_path):
    return shutil.copytree(finished_runs["curve"], tmp_path / "outputs" / "curve")


def test_the_usual_interventions_of_a_run(in_process, run):
    answer = in_process("probe", str(run))
    assert answer.returncode == 0, answer.stderr
    names = [line.split()[0] for line in answer.stdout.splitlines() if line]
    for name in ("uniform", "gold", "hard", "shuffled", "zero=cross"):
        assert name in names
    assert "encoder.2.1" in answer.stdout
    assert "costs most on the validation set" in answer.stdout
    assert answer.stdout.rstrip().endswith("figures/interventions.png")
    assert (run / "figures" / "interventions.png").exists()
    again = in_process("probe", str(run))
    stored = (run / "interventions.csv").read_text()
    assert again.stdout.partition("intervention")[2] == answer.stdout.partition("intervention")[2]
    assert stored == (run / "interventions.csv").read_text()


def test_interventions_are_metrics_of_results(in_process, curve):
    assert in_process("probe", str(curve), "hard", "topk=3").returncode == 0
    answer = in_process("results", "--metric", "probe.topk=3.test_mse", "--format", "json")
    (row,) = json.loads(answer.stdout)["rows"]
    assert row["metric"] == "probe.topk=3.test_mse"
    refused = in_process("results", "--metric", "probe.gold.test_mse")
    assert refused.returncode == 2
    assert "`attnexp probe RUN gold` measures what it can" in refused.stderr


def test_json_is_nothing_but_json(in_process, curve):
    answer = in_process("probe", str(curve), "uniform", "--format", "json")
    rows = json.loads(answer.stdout)["rows"]
    assert [row["intervention"] for row in rows] == ["learned", "uniform"]
    assert not (curve / "figures" / "interventions.png").exists()


def test_rerunning_a_run_forgets_what_was_probed(in_process, tmp_path):
    words = ("model=gaussian", "figures=false")
    assert in_process(*words).returncode == 0
    (folder,) = (tmp_path / "outputs").glob("gaussian-*")
    assert in_process("probe", str(folder), "uniform").returncode == 0
    assert (folder / "interventions.csv").exists()
    assert in_process(*words, "rerun=true").returncode == 0
    assert not (folder / "interventions.csv").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gold"], "data=sine does not say it of pooling"),
        (["unifrom"], "unifrom is neither a folder nor an intervention"),
        (["zero=cross"], "'cross' is not a choice: choose pooling"),
        (["topk=-1"], "law=topk: count must be at least 1, got -1"),
        (["--metric", "bleu", "uniform"], "metric 'bleu' is not a choice"),
        (["uniform", "--where", "data=reverse"], "none of the 1 runs fits data=reverse"),
    ],
)
def test_wrong_questions(in_process, curve, words, sentence):
    answer = in_process("probe", str(curve), *words)
    assert answer.returncode == 2
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_run_without_parameters_is_refused(in_process, curve):
    (curve / "model.safetensors").unlink()
    answer = in_process("probe", str(curve), "uniform")
    assert answer.returncode == 2
    assert "holds no parameters of its model" in answer.stderr


def test_a_run_that_is_not_finished_is_refused(in_process, write_run):
    write_run("begun", status="failed")
    answer = in_process("probe", "outputs")
    assert answer.returncode == 2
    assert "none of these runs has finished: there is nothing to probe" in answer.stderr


def test_the_ending_of_a_file_names_its_format(in_process, curve, tmp_path):
    assert in_process("probe", str(curve), "uniform", "--output", "rows.json").returncode == 0
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["intervention"] for row in rows] == ["learned", "uniform"]
    refused = in_process("probe", str(curve), "uniform", "--output", "rows.xls")
    assert refused.returncode == 2
    assert "rows.xls ends with none of" in refused.stderr


def test_a_head_of_a_regression_is_chosen_on_its_training_points(in_process):
    words = ("model=scaled_dot", "arch.features=4", "arch.heads=2", "train.max_epochs=2")
    assert in_process(*words, "figures=false").returncode == 0
    heads = ("zero=pooling.1.1", "zero=pooling.1.2")
    answer = in_process("probe", "outputs", *heads, "--metric", "test_mae")
    assert answer.returncode == 0, answer.stderr
    assert "costs most on the train set (test_mae" in " ".join(answer.stdout.split())
    assert "difference to learned" in answer.stdout


def test_an_adversary_alone_is_told_and_not_drawn(in_process, curve):
    answer = in_process("probe", str(curve), "adversarial")
    assert answer.returncode == 0, answer.stderr
    assert "nats away" in answer.stdout
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
