"""Every line of the course does what it says, and every chapter draws its pictures."""

import re
import shlex
from pathlib import Path
from statistics import fmean

import pytest
from conftest import ROOT
from documented import compose, script

from attnexp.course import chapter_file as chapters
from attnexp.select.collect import collect

DOCS = ROOT / "docs"
draw = script("draw")
PAGES = sorted((DOCS / "course").glob("*.md"))
ROWS = re.findall(r"^\|.*\| `(attnexp.*)` \|$", (DOCS / "course.md").read_text(), re.MULTILINE)
"""The last column of each line of the tables in docs/course.md."""

ATTEND = [row for row in ROWS if row.startswith("attnexp attend ")]
PYTHON = [row for row in ROWS if row.startswith("attnexp.")]
RUNS = [row for row in ROWS if row not in {*ATTEND, *PYTHON}]
LITTLE = ["data.num_train=200", "train.max_epochs=1"]
SMALL_TESTS = ["data.num_validation=50", "data.num_test=50"]  # a file's are shares of it


def test_every_line_of_a_table_has_a_command():
    page = (DOCS / "course.md").read_text()
    lines = re.findall(r"^\|(?!---| in the textbook).*\|$", page, flags=re.MULTILINE)
    assert len(lines) == len(ROWS) > 40


@pytest.mark.first(4)
@pytest.mark.parametrize("row", ATTEND)
def test_a_line_about_one_attention(row, succeeds):
    succeeds(*shlex.split(row)[1:])


@pytest.mark.parametrize("row", PYTHON)
def test_a_line_of_python(row):
    import torch

    import attnexp

    result = eval(row, {"torch": torch, "attnexp": attnexp})
    if isinstance(result, torch.Size):
        assert result == (2, 4, 100)
    else:
        assert torch.allclose(result.sum(dim=-1), torch.ones(2, 2))


@pytest.mark.first(3)
@pytest.mark.parametrize("row", RUNS)
def test_a_line_about_runs_composes(row, in_process):
    compose(row, in_process)


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in RUNS if "--cfg" not in row])
def test_a_line_about_runs(row, succeeds, tmp_path):
    """Curves in full, sequences on little training."""
    sequences = re.search(r"data=(?!sine)", row)
    more = [*LITTLE, *([] if "data=pairs" in row else SMALL_TESTS)] if sequences else []
    succeeds(*shlex.split(row)[1:], *more)
    assert list(tmp_path.glob("outputs/**/figures/**/attention*.png"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_the_commands_of_its_chapter_answers_and_pictures(path):
    page = path.read_text()
    commands = [step.command for step in chapters.read_chapter(path.stem).steps]
    assert [command for command in commands if command not in page] == []
    assert page.count("\n**") - page.count("\n**What to see") == page.count("</details>") >= 3
    pictures = draw.pictures(page)
    assert len(pictures) == page.count("![") >= 1
    for picture, _ in pictures:
        assert (path.parent / picture).stat().st_size < 200_000


def test_no_picture_is_left_over():
    drawn = {Path(name).name for page in PAGES for name, _ in draw.pictures(page.read_text())}
    assert drawn == {path.name for path in (DOCS / "images" / "course").glob("*")}


LEARNED: dict[str, object] = {"model": "gaussian_learned", "estimator": "local_constant"}
SCALED: dict[str, object] = {"model": "scaled_dot", "estimator": "local_constant"}
LINEAR = {"estimator": "local_linear", "data.num_train": 200}

FIGURES: dict[str, list[tuple[str, dict[str, object], str, float, float]]] = {
    "pooling": [
        ("kernels", {"model": "gaussian_learned"}, "pooling.score.width", 2.4, 0.1),
        ("points", {"data.num_train": 25}, "test_mse", 0.15, 0.01),
        ("points", {"data.num_train": 100}, "test_mse", 0.04, 0.01),
        ("points", {"data.num_train": 400}, "test_mse", 0.01, 0.005),
        ("points", {"data.num_train": 25}, "bandwidth", 0.28, 0.03),
        ("points", {"data.num_train": 400}, "bandwidth", 0.14, 0.02),
        ("points", {"data.num_train": 25}, "neighbours", 5, 1),
        ("points", {"data.num_train": 400}, "neighbours", 47, 3),
        ("linear", LINEAR, "test_mse", 0.014, 0.001),
        ("linear", {**LINEAR, "estimator": "local_constant"}, "test_mse", 0.019, 0.001),
        ("estimators", LEARNED, "test_mse", 0.106, 0.001),
        ("estimators", {**LEARNED, "estimator": "local_linear"}, "test_mse", 0.070, 0.001),
        ("estimators", {**LEARNED, "model": "average"}, "test_mse", 0.907, 0.001),
        ("estimators", {"model": "average", "estimator": "local_linear"}, "test_mse", 0.969, 0.001),
        ("recall", {"estimator": "delta"}, "exact_match", 1, 0.005),
        ("recall", SCALED, "exact_match", 0.619, 0.25),
        ("recall", {**SCALED, "estimator": "local_linear"}, "exact_match", 1, 0.005),
        ("recall", {**SCALED, "model": "elu"}, "exact_match", 1, 0.005),
        ("epochs", {"train.max_epochs": 25}, "test_mse", 0.10, 0.02),
        ("epochs", {"train.max_epochs": 50}, "test_mse", 0.09, 0.02),
        ("epochs", {"train.max_epochs": 1600}, "test_mse", 0.15, 0.03),
    ],
    "scoring": [
        ("normalizers", {"normalizer": "softmax"}, "support", 50, 0),
        ("normalizers", {"normalizer": "sparsemax"}, "support", 13, 5),
        ("normalizers", {"normalizer": "entmax15"}, "support", 18, 5),
    ],
    "bahdanau": [
        ("reverse", {"model": "average"}, "exact_match", 0.55, 0.1),
        ("reverse", {"model": "average"}, "alignment_accuracy", 0.13, 0.02),
        ("reverse", {"model": "additive"}, "exact_match", 1, 0.005),
        ("reverse", {"model": "additive"}, "alignment_accuracy", 1, 0.01),
        ("dates", {}, "exact_match", 1, 0.02),
        ("dates", {}, "alignment_accuracy", 0.7, 0.1),
        ("pairs", {}, "bleu", 83, 5),
        ("pairs", {}, "exact_match", 0.71, 0.06),
        ("to_english", {"data.level": "word"}, "bleu", 82.6, 5),
        ("to_english", {"data.level": "character"}, "bleu", 56.2, 10),
        ("to_english", {}, "bleu_chance", 3.8, 0.1),
        ("to_chinese", {"data.level": "word"}, "bleu", 87.4, 5),
        ("to_chinese", {"data.level": "character"}, "bleu", 80.0, 5),
        ("to_chinese", {}, "bleu_chance", 4.5, 0.1),
    ],
    "heads": [
        ("pooling", {"model": "additive", "arch.heads": 1}, "test_mse", 0.09, 0.02),
        ("pooling", {"model": "additive", "arch.heads": 4}, "test_mse", 0.11, 0.02),
        ("pooling", {"model": "scaled_dot", "arch.heads": 4}, "test_mse", 0.75, 0.05),
        ("pooling", {"model": "scaled_dot", "arch.heads": 1}, "test_mse", 1.66, 0.02),
        ("reverse", {"model": "additive"}, "alignment_accuracy_mean", 0.98, 0.02),
        ("reverse", {"model": "scaled_dot"}, "alignment_accuracy_mean", 0.98, 0.02),
    ],
    "transformer": [
        ("positions", {"positions": "sinusoidal"}, "exact_match", 1, 0.005),
        ("positions", {"positions": "none"}, "exact_match", 0.04, 0.03),
        ("dropout", {}, "exact_match", 1, 0.005),
        ("window", {"arch.layers": 1, "arch.window": 2}, "exact_match", 0, 0.005),
        ("window", {"arch.layers": 1, "arch.window": 2}, "token_accuracy", 0.06, 0.01),
        ("window", {"arch.layers": 1, "arch.window": 3}, "exact_match", 1, 0.01),
        ("window", {"arch.layers": 2, "arch.window": 2}, "exact_match", 1, 0.01),
        ("kv_heads", {"arch.kv_heads": None}, "exact_match", 0.49, 0.3),
        ("kv_heads", {"arch.kv_heads": 1}, "exact_match", 0.06, 0.1),
        ("gate", {"attention": "plain"}, "exact_match", 0.49, 0.3),
        ("gate", {"attention": "gated"}, "exact_match", 0.33, 0.3),
    ],
}
"""Means that the pages state: folder, runs, metric, mean, and what another processor may change."""


def check_figures(chapter, outputs):
    """Hold what a page states against the runs of its chapter."""
    for part, wanted, metric, stated, reach in FIGURES[chapter]:
        runs = [
            run
            for run in collect([outputs / chapter / part]).runs
            if wanted.items() <= (run.settings | run.choices).items()
        ]
        mean = fmean(run.metrics[metric] for run in runs)
        assert mean == pytest.approx(stated, abs=reach), (part, wanted, metric)


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_chapter_runs_draws_its_pictures_and_reaches_its_figures(path, tmp_path):
    """In full: minutes each."""
    page = tmp_path / "course" / path.name
    page.parent.mkdir()
    page.write_text(path.read_text())
    folder = tmp_path / "folder"
    folder.mkdir()
    draw.draw(page, folder)
    assert all((page.parent / name).exists() for name, _ in draw.pictures(page.read_text()))
    check_figures(path.stem, folder / "outputs")
