"""One run that is spoilt is a line in the notes, and all others are shown."""

import json
import re
import shutil

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from stored_runs import change_summary

pytestmark = pytest.mark.check

ATTENTION, SNAPSHOTS = "attention.safetensors", "attention_snapshots.safetensors"
METRICS = "metrics.csv"


def in_tensors(change):
    """Return what makes a change to the tensors of a file and to their description."""

    def spoil(path):
        with safe_open(path, framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            metadata = json.loads(file.metadata()["attnexp"])
        change(arrays, metadata)
        arrays = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
        save_file(arrays, path, metadata={"attnexp": json.dumps(metadata)})

    return spoil


def shorten_vocabulary(arrays, metadata):
    metadata["source_vocab"] = metadata["source_vocab"][:4]


def halve_keys(arrays, metadata):
    arrays["keys"] = arrays["keys"][:, : arrays["keys"].shape[1] // 2]


def rename_weights(arrays, metadata):
    arrays["weights.nobody"] = arrays.pop("weights.pooling")


def lose_epochs(arrays, metadata):
    arrays["epochs"] = arrays["epochs"] * np.nan


def make_metrics_infinite(path):
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *(re.sub("[^,]+", "inf", row) for row in rows), ""]))


NO_FIT = "attention does not fit the examples"
SPOILT = {
    "a short vocabulary": ("rnn", ATTENTION, in_tensors(shorten_vocabulary), f"cross {NO_FIT}"),
    "half of the keys": ("curve", ATTENTION, in_tensors(halve_keys), f"pooling {NO_FIT}"),
    "infinite metrics": ("curve", METRICS, make_metrics_infinite, "not ascending numbers"),
    "an unknown tensor": ("curve", ATTENTION, in_tensors(rename_weights), "attention 'nobody'"),
    "no epochs": ("curve", SNAPSHOTS, in_tensors(lose_epochs), "cannot convert float NaN to int"),
}
"""The run, its file, what is done to it, and what is said."""

LESS = ("half of the keys", "an unknown tensor", "no epochs")
"""Those that are read by the code of the others."""


@pytest.fixture
def outputs(finished_runs, tmp_path):
    """The folder of the six runs."""
    for name, folder in finished_runs.items():
        shutil.copytree(folder, tmp_path / "outputs" / name)
    return tmp_path / "outputs"


@pytest.fixture
def content(succeeds, tmp_path):
    """The content of the page about outputs/, and what was said on the standard error."""

    def read(*words):
        answer = succeeds("report", "outputs", *words, "--output", "page.html")
        text = (tmp_path / "page.html").read_text("utf-8")
        found = re.search(r'id="content">(.*?)</script>', text, re.DOTALL)
        return json.loads(found[1]), answer.stderr

    return read


def labels_of(page):
    """The data and the seeds of what is shown."""
    return {
        (data["name"], one["label"], *one["seeds"])
        for data in page["data"]
        for one in data["configurations"]
    }


@pytest.fixture(scope="module")
def without() -> dict[str, dict]:
    """The contents of the pages without one run, by its name: each is made once."""
    return {}


@pytest.mark.parametrize(
    ("name", "file", "spoil", "why"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.slow if name in LESS else ())
        for name, case in SPOILT.items()
    ],
)
def test_a_spoilt_run_is_a_note_and_the_others_are_on_the_page(
    content, without, succeeds, outputs, tmp_path, name, file, spoil, why
):
    spoil(outputs / name / file)
    page, said = content()
    (note,) = [note for note in page["further"] if str(note).startswith("left out of pictures")]
    for text in (note, said):
        assert f"outputs/{name}" in text
        assert why in text
    shutil.move(outputs / name, tmp_path / "aside")
    if name not in without:
        without[name], _ = content("--static")  # what is compared is not computed by the page
    expected = without[name]
    assert labels_of(page) == labels_of(expected)
    shown = [[chart["title"] for chart in data["charts"]] for data in page["data"]]
    assert shown == [[chart["title"] for chart in data["charts"]] for data in expected["data"]]
    maps = [bool(data["attention"]) for data in page["data"]]
    assert maps == [bool(data["attention"]) for data in expected["data"]]

    shutil.move(tmp_path / "aside", outputs / name)
    assert why in succeeds("plot", "outputs", "--kind", "loss", "--output", "pictures").stderr
    assert {path.stem for path in (tmp_path / "pictures").iterdir()} == {
        *("loss-sine", "loss-table", "loss-reverse")
    }


@pytest.mark.slow
def test_losses_that_are_all_infinite_have_no_chart_and_the_others_have(content, outputs):
    path = outputs / "surface" / "metrics.csv"
    head, *rows = path.read_text().splitlines()
    place = head.split(",").index("loss")
    cells = [row.split(",") for row in rows]
    changed = [",".join([*row[:place], "inf", *row[place + 1 :]]) for row in cells]
    path.write_text("\n".join([head, *changed, ""]))
    page, _ = content()
    shown = {d["name"]: [chart["title"] for chart in d["charts"]] for d in page["data"]}
    assert shown["table"] == []
    for data in ("sine", "reverse"):
        assert "Training loss" in [title["en"] for title in shown[data] if isinstance(title, dict)]


@pytest.mark.slow
def test_an_error_of_runs_together_costs_one_part_of_the_page(content, outputs, monkeypatch):
    def broken(comparison):
        raise ZeroDivisionError("as in a bug")

    monkeypatch.setattr("attnexp.report.content.chart_of_fit", broken)
    page, said = content()
    notes = [note for note in page["further"] if "as in a bug" in str(note)]
    assert notes == [
        f"no fit of {data['name']}: ZeroDivisionError: as in a bug" for data in page["data"]
    ]
    assert all(note in said for note in notes)
    assert all(data["configurations"] for data in page["data"])
    assert any(data["attention"] for data in page["data"])


@pytest.mark.parametrize("verb", ["results", pytest.param("report", marks=pytest.mark.slow)])
def test_settings_that_are_nested_too_deeply_are_skipped(succeeds, outputs, verb):
    nested: object = 1
    for _ in range(400):
        nested = {"a": [nested]}
    change_summary(outputs / "boxcar", lambda s: s["config"]["model"].update(x=nested))
    more = {"report": ("--output", "page.html")}.get(verb, ())
    answer = succeeds(verb, "outputs", *more)
    assert re.search(r"skipped 1 folder: outputs/boxcar/summary\.json .* levels", answer.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("length", [pytest.param(300, marks=pytest.mark.slow), 200_000])
def test_a_very_long_name_is_shortened_in_pictures(succeeds, outputs, tmp_path, length):
    for group in ("model", "data"):
        change_summary(
            outputs / "boxcar", lambda s, group=group: s["choices"].update({group: "x" * length})
        )
    succeeds("plot", "outputs", "--kind", "fit,loss,attention", "--output", "pictures")
    files = [path.name for path in (tmp_path / "pictures").iterdir()]
    assert "fit-sine.png" in files
    assert any(re.fullmatch(r"fit-x+-[0-9a-f]{12}\.png", name) for name in files)
