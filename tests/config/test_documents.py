"""YAML files that would end a parser: nested without end, or aliased beyond memory."""

import json

import pytest
import yaml

from attnexp.config.documents import MOST_LEVELS, read_bounded, read_document
from attnexp.core.errors import RequestError

DEEP = "a: " + "[" * 100_000
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
LEVELS = f"lists or mappings in more than {MOST_LEVELS} levels inside each other"
ALIASES = "aliases (*NAME) stand for more than 100,000 values"
HOSTILE = [(DEEP, LEVELS), (BOMB, ALIASES)]


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "file.yaml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(("text", "sentence"), HOSTILE)
def test_a_file_is_bounded_before_it_is_parsed(written, text, sentence):
    with pytest.raises(RequestError, match=sentence.replace("(*NAME)", r"\(\*NAME\)")):
        read_document(written(text), dict)


def test_levels_are_counted_through_aliases(written):
    inside = "[" * 60 + "]" * 60
    around = "[" * 60 + "*a" + "]" * 60
    assert read_bounded(written(f"a: &a {inside}\n"))
    with pytest.raises(RequestError, match=LEVELS):
        read_bounded(written(f"a: &a {inside}\nb: {around}\n"))


def test_a_list_that_holds_itself_is_refused(written):
    with pytest.raises(RequestError, match=r"\*a lies inside the value that it names"):
        read_bounded(written("a: &a [1, *a]\n"))


def test_ordinary_aliases_are_read(written):
    text = "a: &a {x: 1, y: [2, 3]}\nb: [*a, *a]\n"
    assert read_document(written(text), dict) == yaml.safe_load(text)


@pytest.mark.parametrize(("text", "sentence"), HOSTILE)
@pytest.mark.parametrize("kind", ["attend", "config", "exercise", "computed"])
def test_commands_say_so_and_end(attnexp, tmp_path, kind, text, sentence):
    (tmp_path / "my_conf" / "model").mkdir(parents=True)
    (tmp_path / "my_conf" / "model" / "mine.yaml").write_text(f"# Mine\n{text}")
    (tmp_path / "file.yaml").write_text(text)
    words = {
        "attend": ("attend", "--from", "file.yaml"),
        "config": ("--config-dir", "my_conf", "model=mine"),
        "exercise": ("exercise", "check", "bandwidth", "--json"),
        "computed": ("claims",),
    }[kind]
    if kind == "exercise":
        begun = attnexp("exercise", "start", "bandwidth")
        assert begun.returncode == 0, begun.stderr
        (tmp_path / "bandwidth" / "answer.yaml").write_text(text)
    if kind == "computed":
        folder = tmp_path / "outputs" / "claims" / "rank_collapse"
        folder.mkdir(parents=True)
        (folder / "computed.json").write_text(text)
    answer = attnexp(*words)
    if kind == "computed":  # a damaged file of points counts as none
        assert answer.returncode == 0, answer.stderr
        return
    assert answer.returncode in (1, 2), answer.stderr
    said = " ".join((answer.stderr + answer.stdout).split())
    assert sentence in said
    assert "Traceback" not in said
    if kind == "exercise":
        assert json.loads(answer.stdout)["passed"] is False
