"""docs/exercises.md lists every chapter and exercise, and its examples work."""

import math
import re

import numpy as np
import pytest
from conftest import ROOT
from documented import blocks
from scipy import stats

from attnexp.course import chapter_file as chapter
from attnexp.course import exercise_file as exercise

PAGE = (ROOT / "docs" / "exercises.md").read_text()


def test_every_chapter_and_every_exercise_is_on_the_page():
    assert re.findall(r"^\| `(\w+)` \| .* \| \d+ \|$", PAGE, re.MULTILINE) == chapter.names()
    section = PAGE[PAGE.index("## Exercises") : PAGE.index("## What is checked")]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == exercise.names()


def test_the_seconds_of_a_chapter_are_the_minutes_that_it_says():
    measured = dict(re.findall(r"^\| `(\w+)` \| .* \| (\d+) \|$", PAGE, re.MULTILINE))
    for name, seconds in measured.items():
        assert chapter.read_chapter(name).minutes == math.ceil(int(seconds) / 60)


def test_the_example_gives_students_interval(write_run, tmp_path, monkeypatch, capsys):
    differences = [0.5, 0.4, 0.45, 0.6, 0.3, 0.35, 0.42, 0.55]
    for seed, difference in enumerate(differences):
        for model, error in (("gaussian", 1 + difference), ("gaussian_learned", 1)):
            chosen = {"choices": {"model": model}, "metrics": {"test_mse": error}}
            write_run(f"{model}-{seed}", {"seed": seed}, **chosen)
    monkeypatch.chdir(tmp_path)
    exec(blocks("docs/exercises.md", "python")[0], {})
    mean, error = np.mean(differences), stats.sem(differences)
    printed = [float(word) for word in capsys.readouterr().out.split()]
    expected = [mean, *stats.t.interval(0.95, 7, loc=mean, scale=error)]
    assert printed == pytest.approx(expected, rel=1e-3)


def test_the_exercise_on_the_page_is_the_shipped_one():
    shipped = exercise.FOLDER / "new_pooling"
    assert blocks("docs/exercises.md", "yaml") == [(shipped / "exercise.yaml").read_text()]
