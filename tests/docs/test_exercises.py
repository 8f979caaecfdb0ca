"""docs/exercises.md lists every chapter and exercise, and its commands and its example work."""

import re
import shlex
from pathlib import Path

import pytest

from attnexp.course import chapter, exercise
from attnexp.tables.statistics import spread

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "exercises.md").read_text()
COMMANDS = re.findall(r"^(attnexp .*?)(?:  +#.*)?$", PAGE, flags=re.MULTILINE)


def test_every_chapter_and_every_exercise_is_on_the_page():
    assert re.findall(r"^\| `(\w+)` \| .* \| \d+ \|$", PAGE, re.MULTILINE) == chapter.names()
    listed = re.findall(r"^\| `(\w+)` \| [^|]* \|$", PAGE, re.MULTILINE)
    assert sorted(listed) == exercise.names()


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line, in_process, monkeypatch):
    """What is checked has nothing in it yet, so the verdict is `not yet`."""
    words = shlex.split(line)[1:]
    if words[0] == "chapter" and len(words) == 2:
        words.append("--dry-run")
    if words[:2] == ["exercise", "check"]:
        in_process("exercise", "start", words[2])
        words = [word for word in words if word != "--trust"]
    answer = in_process(*words)
    assert answer.returncode == (1 if "check" in words else 0), answer.stderr


def test_the_example_gives_the_interval_that_is_checked(write_run, tmp_path, monkeypatch, capsys):
    differences = [0.5, 0.4, 0.45, 0.6, 0.3, 0.35, 0.42, 0.55]
    for seed, difference in enumerate(differences):
        for model, error in (("gaussian", 1 + difference), ("gaussian_learned", 1)):
            chosen = {"choices": {"model": model}, "metrics": {"test_mse": error}}
            write_run(f"{model}-{seed}", {"seed": seed}, **chosen)
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(example, {})
    ours = spread(differences)
    printed = [float(word) for word in capsys.readouterr().out.split()]
    assert printed == pytest.approx([ours.mean, ours.low, ours.high], rel=1e-3)
