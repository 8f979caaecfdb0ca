"""Several runs as a sequence with a table and pictures."""

import re

import pytest

import attnexp
from attnexp.core.errors import RequestError


@pytest.fixture
def runs(regression_run, tmp_path):
    for seed in (0, 1):
        regression_run(f"all/{seed}", seed=seed)
    (tmp_path / "all" / "broken").mkdir()
    (tmp_path / "all" / "broken" / "summary.json").write_text("{")
    return attnexp.load_runs(tmp_path / "all")


def test_a_sequence_of_runs(runs):
    assert [run.seed for run in runs] == [0, 1]
    assert [run.seed for run in runs[1:]] == [1]
    assert runs.table["seed"].tolist() == [0, 1]
    assert ["broken" in sentence for sentence in runs.skipped] == [True]
    assert repr(runs) == "NotebookRuns(2 runs)"
    assert [run.seed for run in runs.where("seed > 0")] == [1]
    with pytest.raises(RequestError, match="none of the 2 runs fits model=dot"):
        runs.where("model=dot")
    with pytest.raises(RequestError, match="sed"):
        runs.where("sed > 0")


def test_a_picture_of_all(runs, sequence_run, tmp_path):
    assert runs.plot("attention")
    sequence_run("all/words")
    both = attnexp.load_runs(tmp_path / "all")
    with pytest.raises(RequestError, match=r"these are on .*choose some by runs\.where"):
        both.plot()
    assert both.where("data=reverse").plot()


def test_the_html_has_a_table_and_pictures(runs, regression_run, tmp_path):
    html = runs._repr_html_()
    assert html.count("<tr>") == 3
    pictures = re.findall(r'<img alt="(\w+)" src="data:image/png;base64,iVBOR', html)
    assert pictures == ["attention", "loss"]
    regression_run("all/2", seed=2, choices={"model": "<script>x"})
    other = attnexp.load_runs(tmp_path / "all")._repr_html_()
    assert "&lt;script&gt;x" in other
    assert "<script>" not in other


def test_no_runs(tmp_path):
    assert len(attnexp.load_runs(tmp_path)) == 0
    assert attnexp.load_runs(tmp_path)._repr_html_()
    with pytest.raises(RequestError, match="is not there"):
        attnexp.load_runs(tmp_path / "none")
