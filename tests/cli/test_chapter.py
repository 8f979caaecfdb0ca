"""`attnexp chapter` lists the chapters, prints their commands and runs them one after the other."""

import pytest

from attnexp.course import chapter_file as chapters

SMALL = """# A small chapter.
number: 1
page: docs/course/small.md
minutes: 1
steps:
  - command: attnexp attend example=kernel --output kernel.png
    shows: a kernel
    pictures: [kernel.png]
  - command: attnexp attend --scores '1,2;3,4'
    shows: two queries
    pictures: [none.png]
"""


@pytest.fixture
def write_chapter(tmp_path, monkeypatch):
    def write(text):
        folder = tmp_path / "chapters"
        folder.mkdir()
        (folder / "small.yaml").write_text(text)
        monkeypatch.setattr(chapters, "FOLDER", folder)

    return write


def test_a_dry_run_prints_the_commands_and_runs_nothing(in_process, tmp_path):
    answer = in_process("chapter", "pooling", "--dry-run")
    assert "attnexp plot outputs/pooling/kernels\n    " in answer.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_chapter_runs_and_names_its_pictures_and_its_page(succeeds, tmp_path, write_chapter):
    write_chapter(SMALL)
    answer = succeeds("chapter", "small")
    assert (tmp_path / "kernel.png").is_file()
    assert "attnexp attend --scores '1,2;3,4'\n    two queries\n" in answer.stdout
    assert "The pictures:\n  kernel.png\n" in answer.stdout
    assert "  none.png (not drawn)\n" in answer.stdout
    assert answer.stdout.endswith("What to see in them: attnexp docs small\n")


def test_a_chapter_stops_at_a_command_that_fails_with_its_exit_code(
    in_process, tmp_path, write_chapter
):
    write_chapter(SMALL.replace("example=kernel", "example=kernl"))
    with pytest.raises(SystemExit) as ended:
        in_process("chapter", "small")
    assert ended.value.code == 2
    assert not (tmp_path / "kernel.png").exists()
