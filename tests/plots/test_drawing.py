"""Each kind of picture is drawn as it was when the pictures of README and the course were made.

Digests are of the texts, shapes, colours and pixels of one small picture of fixed numbers per kind.
"""

import base64
import hashlib
import io
import re
from importlib.metadata import version
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from conftest import ROOT
from matplotlib.image import imread
from safetensors.numpy import load_file

from attnexp.plots.base import no_figures
from attnexp.plots.catalogue import PICTURES, drawn
from attnexp.plots.style import STYLE
from attnexp.runs.files import ATTENTION, write_tensors
from attnexp.runs.probed import LEARNED, Probed, write_probed
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons

pytestmark = pytest.mark.check

(PINNED,) = re.findall(r"^matplotlib==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
of_pinned = pytest.mark.skipif(
    version("matplotlib") != PINNED, reason=f"digests are of matplotlib {PINNED}"
)

AGAIN = (
    "{} is drawn otherwise than in the documents. If that is meant, `make snapshots` keeps the new "
    "digest, and `make course` draws the pictures again."
)


def rounded(text: str) -> str:
    """Coordinates in whole points, so that the last digits of a processor do not count."""
    return re.sub(r"-?\d+\.\d+", lambda found: str(round(float(found[0]))), text)


def pixels(link: str) -> str:
    """The colours of an embedded picture, in 16 steps."""
    colours = imread(io.BytesIO(base64.b64decode(link.partition(",")[2])))
    return str((colours * 15).round().astype(int).tolist())


def content(svg: str) -> list[str]:
    """The elements that show something: texts, shapes and their styles, without names and dates."""
    lines = []
    for element in ElementTree.fromstring(svg).iter():
        tag = element.tag.rpartition("}")[2]
        if tag in ("path", "use", "text", "image", "rect", "svg"):
            told = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
            shown = {name: told[name] for name in SHOWN if name in told}
            lines.append(rounded(f"{tag} {shown} {element.text or ''}".strip()))
            lines += [pixels(told["href"])] if tag == "image" else []
    return lines


SHOWN = ("d", "style", "x", "y", "width", "height", "transform")


@pytest.fixture
def runs(regression_run, sequence_run, width_check, tmp_path):
    """Writes the runs of which each kind of picture is drawn, and returns the folder."""

    def curves():
        for model, error in (("boxcar", 0.2), ("gaussian", 0.1)):
            for seed in range(3):
                more = {"choices": {"model": model, "data": "sine"}, "snapshots": (0, 1, 2)}
                metrics = {"test_mse": error * (seed + 1)}
                regression_run(f"{model}{seed}", seed=seed, metrics=metrics, **more)

    def lengths():
        by_length = {"3": 1.0, "4": 0.9, "5": 0.8, "8": 0.1}
        trained = {"shortest": 3.0, "longest": 5.0}
        told = {"exact_match_by_length": by_length, "lengths_in_training": trained}
        sequence_run(details=told)

    def sizes():
        for size in (10, 100, 1000):
            metrics = {"test_mse": 1 / size, "loo_mse": 1.0}
            regression_run(f"{size}", settings={"data.num_train": size}, metrics=metrics)

    def sets():
        for number in range(6):
            for model, error in (("boxcar", 0.2), ("gaussian", 0.1)):
                regression_run(
                    f"{model}{number}",
                    choices={"model": model, "data": f"d{number}"},
                    metrics={"test_mse": error},
                )

    def replaced():
        for seed in (0, 1):
            folder = sequence_run(f"{seed}", seed=seed, heads=2)
            values = {LEARNED: 1.0, "uniform": 0.1 + seed / 10, "hard": 0.6}
            probed = [Probed("test", "decoded", name, {"exact": v}) for name, v in values.items()]
            write_probed(folder, probed)

    def widths():
        for seed in (0, 1):
            learned = (1.0 + seed, 0.4 + seed / 10)
            check = msgspec.structs.replace(width_check, learned=learned)
            regression_run(f"{seed}", seed=seed, width_check=check)

    def positions():
        named = {"model": "additive", "data": "reverse", "arch": "rnn"}
        sequence_run(choices={**named, "positions": "sinusoidal"}, settings={"arch.dim": 16})

    write = {
        "lengths": lengths,
        "consistency": sizes,
        "ranks": sets,
        "interventions": replaced,
        "widths": widths,
        "encoding": positions,
    }

    def written(kind):
        write.get(kind, curves)()
        return tmp_path

    return written


def drawn_of(kind, folder):
    found = collect([folder]).runs
    (picture,) = (each for each in PICTURES if each.name == kind)
    compares = {picture.of_comparison, picture.of_comparisons} != {no_figures}
    subjects = comparisons(found) if compares else found
    (file, *_) = drawn(subjects, folder / "pictures", kinds=[kind], formats=["svg"])
    return content(file.read_text())


@of_pinned
@pytest.mark.parametrize("kind", [picture.name for picture in PICTURES])
def test_a_picture_is_drawn_as_it_was(kind, runs, snapshot):
    shown = drawn_of(kind, runs(kind))
    assert any(line.startswith("text") for line in shown)
    assert hashlib.sha256("\n".join(shown).encode()).hexdigest() == snapshot, AGAIN.format(kind)


@pytest.mark.parametrize(
    "change", [("xtick.labelsize", 12), ("font.size", 14), ("text.color", "red")]
)
def test_the_content_changes_with_what_is_drawn(regression_run, tmp_path, monkeypatch, change):
    regression_run()
    before = drawn_of("fit", tmp_path)
    monkeypatch.setitem(STYLE, *change)
    assert drawn_of("fit", tmp_path) != before


def test_the_content_has_the_pixels_of_maps(regression_run, tmp_path):
    """Runs of other weights, and the same texts."""
    regression_run()
    first = drawn_of("attention", tmp_path)
    write_tensors(tmp_path / "run" / ATTENTION, *even(tmp_path / "run" / ATTENTION))
    other = drawn_of("attention", tmp_path)
    assert [line for line in first if line.startswith("[")] != [
        line for line in other if line.startswith("[")
    ]


def even(file):
    """The tensors of a run in which every query looks everywhere alike."""
    tensors = load_file(file)
    weights = tensors["weights.pooling"]
    return {**tensors, "weights.pooling": np.full_like(weights, 1 / weights.shape[-1])}, {}


def test_the_content_is_without_names_of_parts_and_dates():
    one = '<svg><path id="a" d="M 1.2 2"/><text id="b">x</text><date>1</date></svg>'
    other = '<svg><path id="c" d="M 1.4 2"/><text id="d">x</text><date>2</date></svg>'
    assert content(one) == content(other) == ["svg {}", "path {'d': 'M 1 2'}", "text {} x"]
