"""Sentences about choices have whole names, the nearest first, however long the list is."""

import inspect
import pickle
import re
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
from conftest import choice_names
from hypothesis import given
from hypothesis import strategies as st

from attnexp.core.errors import (
    LONGEST,
    RequestError,
    any_error_as,
    choices_text,
    nearest_text,
    none_of,
    shortened,
    shortened_value,
)

MODELS = choice_names("model")


def names_in(sentence):
    return [word.strip("'.?") for word in re.split(r"[ ,]+", sentence)]


def test_a_long_list_of_choices_is_cut_to_the_nearest(refused):
    (line,) = refused("model=gausian").splitlines()
    assert "Did you mean 'model=gaussian' or 'model=gaussian_learned'?" in line
    assert line.endswith(f"`attnexp --help model` lists all {len(MODELS)}.")
    (line,) = refused("model=zzz").splitlines()
    listed = set(names_in(line)) & set(MODELS)
    assert f"and {len(MODELS) - len(listed)} more, which `attnexp --help model` lists." in line
    assert 3 <= len(listed) <= 12


def test_three_names_at_most_are_suggested_the_nearest_first():
    assert nearest_text("max_epoch", MODELS) == ""
    near = nearest_text("steps", ["step_1", "stops", "steps_", "stepz_", "stop"])
    assert re.fullmatch(r" Did you mean 'steps_', '\w+' or '\w+'\?", near)
    assert none_of("gif", ["svg", "png"]) == "'gif' is not a choice: choose png or svg."


def test_a_very_long_list_ends_in_a_count():
    names = [f"name_{i:03}" for i in range(42)]
    text = choices_text(names)
    assert text == f"{', '.join(names[:30])} and 12 more"
    assert "Did you mean 'name_041'" in none_of("name041", names)
    assert choices_text(["a", "b", "x" * 200_000]) == "a, b and 1 more"


@given(
    st.lists(
        st.text("abcdef_.", min_size=1, max_size=40).filter(lambda name: name.strip(".")),
        min_size=3,
        max_size=60,
        unique=True,
    ),
    st.text("xyz ", max_size=400),
)
def test_no_sentence_is_cut_inside_a_name(names, more):
    listed = choices_text(names)
    sentence = shortened(f"{more} 'gif' is not a choice: choose {listed}. {more}")
    kept = [word for word in re.findall(r"[a-f_.]+", sentence) if word not in (".", "...")]
    whole = {*names, *(f"{name}." for name in names)}
    said = set(re.findall(r"[a-f_.]+", "gif is not a choice choose and more or. more."))
    assert {word for word in kept if word not in whole} <= said


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5000,
        "word " * 1000,
        "one, two " * 1000,
        "1, 2, 3, " * 1000,
        "one, two, three four. " * 1000,
        ", ".join(map(str, range(10_000))),
    ],
)
def test_whatever_else_is_long_is_cut(text):
    found = shortened(text)
    assert len(found) <= LONGEST + 60
    assert " ... " in found or found.startswith("...")
    assert len(shortened_value(text, 60)) <= 60


PACKAGE = Path(__file__).resolve().parents[2] / "attnexp"
ARGUMENTS = {
    str: "model.k",
    int: 15,
    Collection[str]: {"model.j": 1}.keys(),
    Exception | KeyboardInterrupt | SystemExit: ValueError("why"),
}
"""An argument of an error's constructor, by its annotation."""


def error_classes():
    """The exceptions of attnexp: classes whose name or base is one of an exception."""
    kind = r"\w*(?:Error|Exception|Interrupt|Exit|Ended|Stopped)\b"
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in re.findall(rf"^class ((?=\w+\(.*{kind})\w+|{kind})\(", path.read_text(), re.M):
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            yield getattr(import_module(module), name)


def test_each_error_crosses_to_another_process_as_it_is():
    found = set(error_classes())
    assert len(found) > 20
    for kind in found:
        own = "__init__" in vars(kind)
        hints = get_type_hints(kind.__init__) if own else {}
        names = list(inspect.signature(kind).parameters) if own else []
        error = kind(*(ARGUMENTS[hints[name]] for name in names) if own else ["why"])
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert str(again) == str(error)
        assert [*vars(again)] == [*vars(error)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("a"), "'a'"),
        (StopIteration("end"), "end"),
        (SystemExit(3), "sys.exit(3) was called"),
        (RequestError("no file"), "no file"),
    ],
    ids=repr,
)
def test_any_error_of_a_block_is_a_sentence(error, reason):
    with pytest.raises(RequestError) as refused, any_error_as("own.py failed"):
        raise error
    assert str(refused.value) == f"own.py failed: {reason}"
    assert refused.value.__cause__ is error


@pytest.mark.parametrize("error", [RequestError("no file"), KeyboardInterrupt()], ids=repr)
def test_a_sentence_may_stay_and_an_interrupt_always_does(error):
    with pytest.raises(type(error)) as raised, any_error_as("own.py failed", but=RequestError):
        raise error
    assert raised.value is error
