"""The code of an exercise is tested by pytest in a process of its own, which ends in time."""

import pytest

from attnexp.core.errors import RequestError
from attnexp.course import code as code_module
from attnexp.course import exercise_file as exercises
from attnexp.course.code import check_code
from attnexp.data.contract import DATA_CONTRACT
from attnexp.scores.contract import SCORE_CONTRACT

pytestmark = pytest.mark.check


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Spares each process the import of the plugins that are installed for attnexp's own tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def sentences(tmp_path, in_english):
    """The sentences about the checks of a file of tests that have not passed, by their names."""

    def failed(tests, mine="", seconds=120):
        (tmp_path / "mine.py").write_text(mine)
        (tmp_path / "test_mine.py").write_text(tests)
        checks = check_code(tmp_path, "test_mine.py", seconds)
        return {check.name: in_english(check.sentence) for check in checks if not check.passed}

    return failed


@pytest.mark.slow
def test_the_stub_of_a_score_fails_its_worked_cases_alone(tmp_path):
    checks = check_code(exercises.start("new_pooling", tmp_path / "mine"), "test_my_scores.py", 300)
    wrong = {check.name: check.sentence for check in checks if not check.passed}
    assert set(wrong) == {"worked case 1", "worked case 2"}
    assert wrong["worked case 1"].startswith("with the width 1.0 the weights are [0.333333,")
    assert len({check.name for check in checks}) == len(checks) == len(SCORE_CONTRACT) + 3


def test_the_solution_of_a_data_set_passes(tmp_path):
    path = exercises.start("own_data", tmp_path / "mine") / "my_data.py"
    path.write_text(path.read_text().replace("0 * x", "(2 * x).sin() + 2 * (x >= 3)"))
    checks = check_code(path.parent, "test_my_data.py", 300)
    assert len(checks) == len(DATA_CONTRACT) + 1
    assert all(check.passed for check in checks), checks


def test_what_fails_is_said_in_a_sentence_with_its_line(sentences):
    tests = (
        "import mine, pytest\n"
        "def test_sum():\n    assert 1 + 1 == 2\n"
        "def test_message():\n    assert 1 == 2, 'one is not two'\n"
        "def test_bare():\n    assert 1 + 1 == 3\n"
        "@pytest.mark.parametrize('one', ['keeps_the_dtype'])\n"
        "def test_contract(one):\n    mine.act()\n"
        "def test_skipped():\n    pytest.skip('no reason')\n"
    )
    assert sentences(tests, mine="def act():\n    return None.unknown\n") == {
        "message": "one is not two",
        "bare": "assert (1 + 1) == 3 (test_mine.py, line 7)",
        "keeps the dtype": "AttributeError: 'NoneType' object has no attribute 'unknown' "
        "(mine.py, line 2)",
        "skipped": "no reason (test_mine.py, line 12)",
    }
    assert sentences("import mine", mine="\n)\n") == {
        "mine": "SyntaxError: unmatched ')' (mine.py, line 2)"
    }


@pytest.mark.parametrize(
    ("line", "seconds", "sentence"),
    [
        ("import os; os._exit(3)", 120, "`pytest test_mine.py` ended with exit code 3"),
        ("import time; time.sleep(60)", 1, "the tests were stopped after 1 seconds"),
        ("", 120, "`pytest test_mine.py` ended with exit code 5"),
    ],
)
def test_tests_that_end_their_process_take_too_long_or_are_missing(
    sentences, line, seconds, sentence
):
    (found,) = sentences(line, seconds=seconds).values()
    assert found.startswith(sentence)


def test_settings_of_pytest_around_the_folder_have_no_effect(sentences, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts='--unknown'\n")
    assert sentences("def test_it():\n    pass\n") == {}


def test_without_pytest_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(code_module, "find_spec", lambda name: None)
    with pytest.raises(RequestError, match=r"pip install 'attnexp\[exercises\]'"):
        check_code(tmp_path, "test_mine.py", 1)
