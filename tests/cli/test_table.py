"""A run of a table knows the content of its file."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from stored_runs import change_summary

from attnexp.runs import files

CONTENT = "a,b\n" + "".join(f"{i},{i % 4}\n" for i in range(12))
SMALL = ("data=table", "data.path=my.csv", "data.x=[a]", "data.y=b", "train.max_epochs=2")


@pytest.fixture
def run(succeeds, tmp_path):
    """Fits the table, and returns the folder of the run and what was printed."""

    def fit(content=CONTENT, *more):
        (tmp_path / "my.csv").write_text(content)
        answer = succeeds(*SMALL, "figures=false", *more)
        return Path(answer.stdout.split()[-1]), answer.stdout

    return fit


def test_a_width_for_each_input_is_a_metric_and_shown(run, in_process):
    content = "a,b,c d\n" + "".join(f"{i},{i % 4},{i * i % 7}\n" for i in range(12))
    folder, _ = run(content, "data.x=[a,c d]", "model.per_dimension=true")
    summary = json.loads((folder / files.SUMMARY).read_text())
    widths = {name: v for name, v in summary["metrics"].items() if ".width." in name}
    assert list(widths) == ["pooling.score.width.a", "pooling.score.width.c d"]
    assert set(summary["details"]) == {"mean", "deviation"}
    shown = in_process("show", str(folder)).stdout
    assert re.search(r"width of each input: a [\d.e-]+, c d [\d.e-]+\n", shown)
    assert (folder / files.RESPONSE).exists()


def test_a_digest_on_the_command_line_pins_the_content(run, refused, tmp_path):
    folder, _ = run()
    pinned = f"data.sha256={hashlib.sha256(CONTENT.encode()).hexdigest()}"
    assert run(CONTENT, pinned)[0] == folder
    (tmp_path / "my.csv").write_text(CONTENT + "12,0\n")
    assert "my.csv is not the file that was asked for" in refused(
        *SMALL, "figures=false", pinned, "seed=1"
    ).replace("\n", " ")


@pytest.mark.parametrize("name", ["later.csv", "${oc.env:LATER}"])
def test_a_run_knows_the_content_of_its_file_for_the_test(
    run, succeeds, refused, tmp_path, monkeypatch, name
):
    monkeypatch.setenv("LATER", "later.csv")
    later = tmp_path / "later.csv"
    later.write_text("a,b\n20,1\n21,2\n")
    folder, _ = run(CONTENT, f"data.test_path={name}")
    summary = json.loads((folder / files.SUMMARY).read_text())
    assert summary["config"]["data"]["test_sha256"] == (
        hashlib.sha256(later.read_bytes()).hexdigest()
    )
    assert (summary["fixed_by"], summary["overlap"]) == ("data.test_path", 0)
    assert "bit-identical" in succeeds("verify", str(folder)).stdout
    later.write_text("a,b\n20,1\n21,3\n")
    assert "later.csv is not the file that was asked for" in refused("verify", str(folder)).replace(
        "\n", " "
    )


def test_a_foreign_run_reads_no_file_without_its_digest(run, refused):
    folder, _ = run()
    for digest in ("${sha256:my.csv}", None):
        change_summary(folder, lambda s, digest=digest: s["config"]["data"].update(sha256=digest))
        assert "data.sha256" in refused("verify", str(folder))
