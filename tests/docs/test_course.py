"""Every line of the course does what it says, and every chapter draws its pictures."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from attnexp.course import chapter

DOCS = Path(__file__).resolve().parents[2] / "docs"
CHAPTERS = sorted((DOCS / "course").glob("*.md"))
LITTLE = ["data.num_train=200", "train.max_epochs=1"]
SMALL_TESTS = ["data.num_validation=50", "data.num_test=50"]  # a file's are shares of it


def rows() -> list[str]:
    """What stands in the last column of each line of the tables in docs/course.md."""
    return re.findall(r"^\|.*\| `(attnexp.*)` \|$", (DOCS / "course.md").read_text(), re.MULTILINE)


ATTEND = [row for row in rows() if row.startswith("attnexp attend ")]
PYTHON = [row for row in rows() if row.startswith("attnexp.")]
SEQUENCES = [row for row in rows() if re.search(r"data=(?!sine)", row)]
CURVES = [row for row in rows() if row not in {*ATTEND, *PYTHON, *SEQUENCES}]


def first_job(line: str) -> list[str]:
    """The words of a command; of a sweep, those of a run in it."""
    words = [word for word in shlex.split(line)[1:] if word != "-m" and "range(" not in word]
    return [word.partition(",")[0] for word in words]


@pytest.fixture(scope="module")
def draw() -> ModuleType:
    """The script docs/draw.py, as a module."""
    spec = importlib.util.spec_from_file_location("draw", DOCS / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_line_of_a_table_has_a_command():
    page = (DOCS / "course.md").read_text()
    lines = re.findall(r"^\|(?!---| in the textbook).*\|$", page, flags=re.MULTILINE)
    assert len(lines) == len(rows()) > 40
    assert ATTEND
    assert PYTHON
    assert SEQUENCES
    assert CURVES


@pytest.mark.parametrize("row", ATTEND)
def test_a_line_about_one_attention(row, in_process, tmp_path):
    answer = in_process(*shlex.split(row)[1:])
    assert answer.returncode == 0, answer.stderr
    if "--output" in row:
        assert (tmp_path / row.split()[-1]).stat().st_size > 1000


@pytest.mark.parametrize("row", PYTHON)
def test_a_line_of_python(row):
    import torch

    import attnexp

    result = eval(row, {"torch": torch, "attnexp": attnexp})
    if isinstance(result, torch.Size):
        assert result == (2, 4, 100)
    else:
        assert torch.allclose(result.sum(dim=-1), torch.ones(2, 2))


@pytest.mark.parametrize("row", CURVES)
def test_a_line_about_a_curve(row, in_process):
    """On two epochs, of a sweep one run."""
    answer = in_process(*first_job(row), "train.max_epochs=2", "figures=false")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize("row", CURVES)
def test_a_line_about_a_curve_in_full(row, in_process):
    answer = in_process(*shlex.split(row)[1:])
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("row", SEQUENCES)
def test_a_line_about_sequences_composes(row, in_process):
    assert in_process(*first_job(row), "--cfg", "job").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in SEQUENCES if "--cfg" not in row])
def test_a_line_about_sequences(row, in_process, tmp_path):
    """On little training, with its pictures."""
    more = [] if "data=pairs" in row else SMALL_TESTS
    answer = in_process(*shlex.split(row)[1:], *LITTLE, *more)
    assert answer.returncode == 0, answer.stderr
    assert list(tmp_path.glob("outputs/*/figures/attention.png"))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_commands_and_answers(chapter, draw, in_process):
    page = chapter.read_text()
    assert len(draw.commands(page)) >= 4
    assert page.count("\n**") - page.count("\n**What to see") == page.count("</details>") >= 3
    for line in draw.commands(page):
        if not line.startswith(("attnexp attend", "attnexp plot", "attnexp results")):
            assert in_process(*first_job(line), "--cfg", "job").returncode == 0, line


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_the_pictures_of_a_chapter_are_there_and_say_where_they_come_from(chapter, draw):
    page = chapter.read_text()
    pictures = draw.pictures(page)
    assert len(pictures) == page.count("![") >= 1
    for picture, _ in pictures:
        assert (chapter.parent / picture).stat().st_size < 200_000


def test_no_picture_is_left_over(draw):
    drawn = {Path(name).name for page in CHAPTERS for name, _ in draw.pictures(page.read_text())}
    assert drawn == {path.name for path in (DOCS / "images" / "course").glob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_and_draws_its_pictures(chapter, draw, tmp_path):
    """In full: minutes each."""
    page = tmp_path / "course" / chapter.name
    page.parent.mkdir()
    page.write_text(chapter.read_text())
    folder = tmp_path / "folder"
    folder.mkdir()
    draw.draw(page, folder)
    assert all((page.parent / name).exists() for name, _ in draw.pictures(page.read_text()))


def test_the_score_of_an_answer_is_taken_by_every_data_set(in_process, tmp_path):
    """The learned pooling of one's own that the first chapter writes."""
    page = (DOCS / "course" / "pooling.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (choice,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "my_scores.py").write_text(code)
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    (tmp_path / "my_conf" / "model" / "cauchy.yaml").write_text(choice)
    answer = in_process("--config-dir", "my_conf", "model=cauchy", "figures=false")
    assert answer.returncode == 0, answer.stderr
    assert "pooling.score.width" in next(tmp_path.glob("outputs/*/summary.json")).read_text()


@pytest.mark.parametrize("name", chapter.names())
def test_what_a_chapter_runs_stands_on_its_page(name):
    """`attnexp chapter` and the page have the same commands."""
    found = chapter.read_chapter(name)
    page = (DOCS.parent / found.page).read_text()
    assert [step.command for step in found.steps if step.command not in page] == []
