"""Every example in Python or YAML of the documents works; test_commands.py has the commands."""

import json
import shutil

import pytest
from conftest import ROOT, choice_names
from documented import blocks, commands

EXAMPLES = blocks("docs/python.md", "python")
RUN = ROOT / "tests" / "runs" / "stored" / "v2" / "gaussian_learned-sine"


@pytest.mark.parametrize(
    ("page", "name"), [("README.md", "my_laplace"), ("docs/course/pooling.md", "my_cauchy")]
)
def test_a_score_of_ones_own(page, name, succeeds, tmp_path):
    (code,), (choice,) = blocks(page, "python"), blocks(page, "yaml")
    (tmp_path / "my_scores.py").write_text(code)
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    (tmp_path / "my_conf" / "model" / f"{name}.yaml").write_text(choice)
    answer = succeeds("--config-dir", "my_conf", f"model={name}", "figures=false")
    assert "test_mse" in answer.stdout


def test_the_file_of_an_attention(succeeds, tmp_path):
    (content,) = blocks("docs/attend.md", "yaml")
    (tmp_path / "case.yaml").write_text(content)
    answer = succeeds("attend", "--from", "case.yaml", "--format", "json")
    assert json.loads(answer.stdout)["mask"] == [[[True, True, False], [True, True, True]]]


def test_the_page_on_attention_has_every_example():
    examples = {f"attnexp attend example={name}" for name in choice_names("attend")}
    assert examples <= set(commands("docs/attend.md"))


@pytest.mark.parametrize("example", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_the_page_on_python(example, tmp_path, monkeypatch, capsys):
    shutil.copytree(RUN, tmp_path / "outputs" / "RUN")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example.replace('"RUN"', '"outputs/RUN"'), names)
    printed = capsys.readouterr().out
    assert printed
    if "Additive(query_dim" in example:
        assert names["context"].round().tolist() == [[[2, 3, 4, 5]], [[10, 11, 12, 13]]]
    if "trained_model" in example:
        assert float(printed) < 1e-6


@pytest.mark.parametrize("page", ["docs/runs.md", "docs/tables.md"])
def test_the_pages_on_runs(page, regression_run, tmp_path, monkeypatch):
    run = regression_run("outputs/run")
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(page, "python")
    exec(example.replace("RUN", str(run)), {})
