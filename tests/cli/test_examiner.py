"""A student's code is held against its contract, by a process of its own that ends in time."""

import sys
import time

import pytest

from attnexp.cli import examiner
from attnexp.config import build
from attnexp.course import exercise as exercises

KERNEL = "return -(1 + (self.width**2) * squared).log()"
TRUTH = "return (2 * x).sin() + 2 * (x >= 3)"


@pytest.fixture
def examined(tmp_path, monkeypatch):
    """The sentence of each check that has not passed, by name, of code with a line exchanged."""

    def run_here(name, module, before, after):
        exercises.start(name, tmp_path / name)
        path = tmp_path / name / f"{module}.py"
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setattr(build, "_makers", {})  # another test's class has the same name
        try:
            checks = list(examiner._examined(name))
        finally:
            sys.modules.pop(module, None)
        return {check.name: check.sentence for check in checks if not check.passed}

    return run_here


def score_with(examined, line):
    return examined("new_pooling", "my_scores", "return 0 * self.width * squared", line)


def test_the_right_kernel_passes(examined):
    assert score_with(examined, KERNEL) == {}


def test_the_stub_of_a_score_fails_its_cases_alone(examined):
    failed = score_with(examined, "return 0 * self.width * squared")
    assert set(failed) == {"case 1", "case 2"}
    assert "the weights are 0.3333, 0.3333, 0.3333, expected 0.625" in failed["case 1"]


def test_another_kernel_is_told_by_its_weights(examined):
    assert set(score_with(examined, "return -(self.width**2) * squared")) == {"case 1", "case 2"}


def test_code_that_raises_is_told_with_its_line(examined):
    failed = score_with(examined, "return squared.no_such_thing()")
    assert "no_such_thing" in failed["takes any leading axes"]
    assert "my_scores.py, line " in failed["takes any leading axes"]


def test_code_that_cannot_be_imported_is_one_check(examined):
    failed = examined("new_pooling", "my_scores", "import torch\n", "import torch\n)\n")
    assert set(failed) == {"score"}
    assert "my_scores" in failed["score"]


def test_the_right_curve_passes_and_the_stub_fails_its_case(examined):
    assert examined("own_data", "my_data", "return 0 * x", TRUTH) == {}


def test_a_curve_that_draws_from_anywhere_is_told(examined):
    failed = examined("own_data", "my_data", "return 0 * x", f"{TRUTH} + torch.rand(())")
    assert {"repeats with its seed", "leaves the global generator"} <= set(failed)


def test_code_that_takes_too_long_is_ended(tmp_path):
    exercises.start("new_pooling", tmp_path / "mine")
    start = time.monotonic()
    (check,) = examiner.examine("new_pooling", tmp_path / "mine", 1)
    assert not check.passed
    assert "more than 1 second" in check.sentence
    assert time.monotonic() - start < 30


def test_a_process_of_its_own_gives_the_checks(tmp_path):
    exercises.start("own_data", tmp_path / "mine")
    path = tmp_path / "mine" / "my_data.py"
    path.write_text(path.read_text().replace("return 0 * x", TRUTH))
    checks = examiner.examine("own_data", tmp_path / "mine", 300)
    assert len(checks) == 6
    assert all(check.passed for check in checks), checks


def test_code_that_ends_its_process_is_told(tmp_path):
    exercises.start("own_data", tmp_path / "mine")
    (tmp_path / "mine" / "my_data.py").write_text("import os\nos._exit(3)\n")
    (check,) = examiner.examine("own_data", tmp_path / "mine", 300)
    assert check.sentence == "the process of the code ended by itself, exit code 3"
