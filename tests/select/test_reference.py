import pytest

from attnexp.core.errors import RequestError
from attnexp.select.reference import path_of


@pytest.fixture
def there(regression_run, tmp_path, monkeypatch):
    """Three runs below outputs/, the second of them started first."""
    monkeypatch.chdir(tmp_path)
    for name, day in (("dot-sine-aa", 2), ("gaussian-sine-bb", 1), ("gaussian-nile-cc", 3)):
        regression_run(f"outputs/{name}", started=f"2026-01-0{day}T00:00:00", key=f"{name[-2:]}12")


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("last", "gaussian-nile-cc"),
        ("1", "gaussian-sine-bb"),
        ("2", "dot-sine-aa"),
        ("dot", "dot-sine-aa"),
        ("gaussian-n", "gaussian-nile-cc"),
        ("bb1", "gaussian-sine-bb"),
    ],
)
def test_a_run_is_named_by_a_word(there, word, name):
    assert path_of(word) == f"outputs/{name}"


@pytest.mark.parametrize("word", ["outputs", "outputs/none", "last/one"])
def test_a_path_is_a_path(there, word):
    assert path_of(word) == word


def test_a_folder_of_that_name_comes_first(there, tmp_path):
    (tmp_path / "last").mkdir()
    assert path_of("last") == "last"


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("gaussian", "'gaussian' is the beginning of 2 runs: gaussian-nile-cc or gaussian-sine-bb"),
        ("dott-sine-aa", "Did you mean 'dot-sine-aa'"),
        ("4", "'4' is neither a folder nor a run below outputs: give a folder, the beginning"),
    ],
)
def test_a_word_that_names_no_run_or_several_is_refused(there, word, sentence):
    with pytest.raises(RequestError, match=sentence):
        path_of(word)


def test_without_outputs_every_word_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert path_of("last") == "last"


def test_runs_of_cards_and_chapters_are_said_to_have_their_paths_as_names(there, regression_run):
    for folder in ("heads", "cards"):
        regression_run(f"outputs/{folder}/boxcar-sine")
    sentence = "below outputs; those below outputs/cards and outputs/heads are left out, and named "
    with pytest.raises(RequestError, match=f"{sentence}as outputs/cards/RUN: give a folder"):
        path_of("boxcar")
    assert path_of("outputs/heads/boxcar-sine") == "outputs/heads/boxcar-sine"
