import base64
import json
import re
import shlex
from functools import partial

import numpy as np
import pytest
from pages import content_of

from attnexp.cli.parser import run_verb
from attnexp.core.errors import RequestError
from attnexp.report.page import Page
from attnexp.report.render import page, script_json
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.origin.command_line import command
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons

main = partial(run_verb, "report")

HOSTILE = "</script><script>document.title='taken'</script>\u2028&amp;"


@pytest.fixture
def written(tmp_path):
    """What `attnexp report` writes about a folder of runs."""

    def write(*arguments) -> str:
        file = tmp_path / "page" / "report.html"
        file.parent.mkdir(exist_ok=True)
        main([*map(str, arguments), "--output", str(file)])
        return file.read_text("utf-8")

    return write


def test_the_page_holds_tables_curves_fits_and_attention(regression_run, tmp_path, written):
    for seed in (0, 1):
        regression_run(f"a{seed}", seed=seed, heads=2, losses=(4.0, 2.0 + seed), snapshots=(0, 2))
    content = content_of(written(tmp_path))
    (data,) = content["data"]
    loss, fit = data["charts"]
    assert (loss["title"], fit["title"]) == ("Training loss", "Fit")
    (line,) = loss["lines"]
    found = [line[name] for name in ("x", "low", "mean", "high")]
    assert found == [[1, 2], [4, 2], [4, 2.5], [4, 3]]
    kept = data["attention"]["configurations"][0]["attentions"]["pooling"]
    assert (kept["layers"], kept["heads"]) == (1, 2)
    assert [frame["epoch"] for frame in kept["frames"]] == [0, 2, None]
    (result,), (each,) = content["results"], content["every"]
    assert [column["title"] for column in result["table"]["columns"]][:2] == ["model", "test_mse"]
    assert result["table"]["rows"][0][0]["text"] == "gaussian"
    assert (data["result"], len(each["rows"])) == (0, 2)


def test_the_page_has_the_other_names_of_settings_and_metrics(regression_run, tmp_path, written):
    for width in (1.0, 2.0):
        settings = {"model.width": width}
        regression_run(f"a{width:g}", losses=(4.0, 2.0), settings=settings)
    asked = ("--name", "width=h", "--name", "test_mse=MSE", "--name", "loss=NLL")
    content = content_of(written(tmp_path, *asked))
    (data,), (result,), (every,) = content["data"], content["results"], content["every"]
    assert [one["title"] for one in data["charts"]][:1] == ["NLL"]
    assert {line["label"] for line in data["charts"][0]["lines"]} == {"h=1", "h=2"}
    assert result["dots"]["metric"] == "MSE"
    for table in (result["table"], every):
        assert {"h", "MSE"} <= {column["title"] for column in table["columns"]}
    assert "MSE" in content["verdicts"][0]


def test_what_was_compared_is_said_and_drawn_in_the_order_of_the_table(
    regression_run, tmp_path, written
):
    for seed in (0, 1, 2):
        for width, mse in ((1.0, 4.0), (2.0, 0.25)):
            settings = {"model.width": width, "seed": seed}
            metrics = {"test_mse": mse * 2**seed}
            told = {"metrics": metrics, "units": {"test_mse": "y^2"}}
            regression_run(f"w{width}-{seed}", settings=settings, **told)
    content = content_of(written(tmp_path))
    (result,) = content["results"]
    assert result["compared"] == (
        "sine: 2 configurations, 6 runs; seeds 0 to 2; test_mse, lower is better"
    )
    dots = result["dots"]
    assert [row["name"] for row in dots["rows"]] == ["model.width=2", "model.width=1"]
    assert [row["seeds"] for row in dots["rows"]] == [[0.25, 0.5, 1.0], [4.0, 8.0, 16.0]]
    assert [round(row["mean"], 4) for row in dots["rows"]] == [0.5833, 9.3333]
    assert (dots["log"], dots["better"]) == (True, "lower")
    assert [cells[0]["text"] for cells in result["table"]["rows"]] == [
        "model.width=2",
        "model.width=1",
    ]
    titles = [column["title"] for column in result["table"]["columns"]]
    assert titles[:3] == ["model.width", "test_mse", "standing"]


@pytest.mark.parametrize(
    ("rows", "above"),
    [
        ([(1, 5), (2, 5)], ["", ""]),
        ([(1, 5), (2, 5), (1, 6)], ["", "", "not compared: other data"]),
        ([(1, 5), (2, 5), (1, 6), (1, 7)], ["", "", "not compared: other data", ""]),
        ([(1, 5), (2, 5), (1, 6), (2, 6)], ["", "", "other data: compared with each other", ""]),
        ([(1, 5), (1, 6)], ["not compared: each row has other data", ""]),
    ],
    ids=str,
)
def test_rows_on_other_data_are_told_apart(regression_run, tmp_path, written, rows, above):
    for width, points in rows:
        for seed in (0, 1):
            settings = {"model.width": width, "data.num_train": points, "seed": seed}
            metrics = {"test_mse": width + points + seed / 10}
            regression_run(f"w{width}-{points}-{seed}", settings=settings, metrics=metrics)
    (result,) = content_of(written(tmp_path))["results"]
    assert [row["above"] for row in result["dots"]["rows"]] == above


def test_the_notes_of_the_table_are_with_the_verdicts_and_the_further_ones_are_not(
    regression_run, tmp_path, written, succeeds
):
    for seed in (0, 1):
        for width in (1.0, 2.0):
            settings = {"model.width": width, "seed": seed}
            metrics = {"test_mse": width + seed / 10}
            regression_run(
                f"w{width}-{seed}", settings=settings, metrics=metrics, losses=(2.0, 1.0)
            )
    lines = succeeds("results", str(tmp_path)).stdout.splitlines()
    told = [line.removeprefix("note: ") for line in lines if line.startswith("note: ")]
    (tmp_path / "w1.0-0" / files.ATTENTION).write_text("no tensors")
    content = content_of(written(tmp_path))
    assert content["notes"] == told
    assert 0 < len(told) <= 3
    assert any(note.startswith("left out of pictures") for note in content["further"])


def test_every_run_has_what_differs_and_the_headline_metric_first(
    regression_run, tmp_path, written
):
    for seed in (0, 1):
        regression_run(f"a{seed}", seed=seed, metrics={"test_mse": 1.0 + seed})
    (each,) = content_of(written(tmp_path))["every"]
    shown = [column["title"] for column in each["columns"] if not column["spare"]]
    spare = {column["title"] for column in each["columns"] if column["spare"]}
    assert shown == ["seed", "test_mse"]
    assert {"model", "data"} <= spare


def test_a_row_that_several_settings_tell_apart_has_one_name(regression_run, tmp_path, written):
    for width, points in ((1.0, 5), (2.0, 6)):
        settings = {"model.width": width, "optim.lr": points / 100}
        regression_run(f"w{width}", settings=settings, metrics={"test_mse": width})
    (result,) = content_of(written(tmp_path))["results"]
    titles = [column["title"] for column in result["table"]["columns"]]
    assert (titles[0], titles[-2:]) == ("configuration", ["model.width", "optim.lr"])
    names = [cells[0]["text"] for cells in result["table"]["rows"]]
    assert names == ["model.width=1, optim.lr=0.05", "model.width=2, optim.lr=0.06"]


def test_a_page_holds_24_configurations_8_examples_and_8_epochs_of_attention(
    regression_run, sequence_run, tmp_path, written
):
    for i in range(25):
        kept = range(0, 90, 10) if i == 0 else ()
        regression_run(f"w{i}", settings={"model.width": i + 1.0}, losses=(), snapshots=kept)
    sequence_run("words", examples=9)
    by_name = {data["name"]: data for data in content_of(written(tmp_path))["data"]}
    curves, words = by_name["sine"], by_name["reverse"]
    assert len(curves["configurations"]) == 25
    assert len(curves["attention"]["configurations"]) == 24
    assert curves["attention"]["omitted"] == 1
    frames = curves["attention"]["configurations"][0]["attentions"]["pooling"]["frames"]
    assert [frame["epoch"] for frame in frames] == [0, 10, 20, 30, 50, 60, 70, 80, None]
    assert ["model.width", "1"] in curves["configurations"][0]["settings"]
    (shown,) = words["attention"]["configurations"]
    assert len(shown["attentions"]["cross"]["frames"][0]["maps"]) == 8


def test_weights_arrive_to_one_part_in_255(sequence_run, tmp_path, written):
    folder = sequence_run(layers=2, heads=3)
    attention = content_of(written(tmp_path))["data"][0]["attention"]
    frame = attention["configurations"][0]["attentions"]["cross"]["frames"][0]
    one = frame["maps"][1]
    rows, columns = (attention["axes"][one[side]]["symbols"] for side in ("rows", "columns"))
    cells = np.frombuffer(base64.b64decode(one["weights"]), np.uint8).astype(float)
    cells = cells.reshape(2, 3, len(rows), len(columns)) / 255 * frame["largest"]
    expected = load_run(folder).attention.map("cross", example=1, layer=1, head=2)
    assert np.allclose(cells[1, 2], expected.weights, atol=0.004)
    assert tuple(rows) == expected.rows.symbols
    assert one["gold"] == expected.gold.tolist()


def test_the_page_loads_nothing(sequence_run, tmp_path, written):
    sequence_run()
    text = written(tmp_path)
    assert set(re.findall(r"https?://[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|img|script)[^>]*(src|href)=\"(?!data:)", text)
    assert "default-src 'none'" in text


def test_no_content_can_end_its_element():
    text = script_json({"a": HOSTILE})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": HOSTILE}
    whole = page(Page(HOSTILE, further=[HOSTILE]))
    assert whole.count("<script") == 3
    assert "<script>document.title" not in whole


def test_a_command_composes_the_same_configuration(in_process, succeeds, regression_run, tmp_path):
    words = (
        *("model=gaussian", "model.width=2", "data.num_train=7", "optim=adam", "seed=3"),
        "optim.betas=[0.8, 0.9]",
    )
    regression_run(seed=3, overrides=list(words))
    (comparison,) = comparisons(collect([tmp_path]).runs)
    (run,) = comparison.configurations[0].runs
    line = command([run.summary], [3])
    again = succeeds(*shlex.split(line)[1:], "--cfg", "job")
    assert again.stdout == in_process(*words, "--cfg", "job").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is not there"),
        (["."], "there are no runs below"),
        (["--titel", "x"], r"unrecognized arguments: --titel. Did you mean '--title'"),
    ],
)
def test_wrong_requests_are_said(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match=message):
        main(arguments)


def test_runs_that_failed_are_in_the_table_alone(regression_run, tmp_path, written):
    regression_run("good")
    failed = regression_run("bad", status="failed", settings={"seed": 1, "model.width": 2.0})
    (failed / files.ATTENTION).unlink()
    content = content_of(written(tmp_path))
    assert len(content["every"][0]["rows"]) == 2
    assert len(content["data"][0]["configurations"]) == 1


@pytest.mark.parametrize(
    "place", ["nowhere/a.html", "folder.html", "file/a.html", f"{'x' * 300}.html"]
)
def test_a_page_that_cannot_be_written_is_refused_before_models_are_traced(
    regression_run, tmp_path, monkeypatch, place
):
    folder = regression_run("runs/a")
    (tmp_path / "file").touch()
    (tmp_path / "folder.html").mkdir()
    before = sorted(tmp_path.rglob("*"))
    traced = []
    monkeypatch.setattr("attnexp.cli.report._programs", traced.append)
    with pytest.raises(RequestError, match=r"--output: .* cannot be written"):
        main([str(folder), "--output", str(tmp_path / place)])
    assert traced == []
    assert sorted(tmp_path.rglob("*")) == before
