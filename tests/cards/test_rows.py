"""The rows of a card."""

import pytest

from attnexp.cards.rows import row_of, rows_of
from attnexp.core.errors import RequestError


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["model=cosine"], "cosine"),
        (["normalizer=sparsemax"], "sparsemax"),
        (["normalizer=sparsemax", "model=cosine"], "sparsemax cosine"),
        (["model=scaled_dot", "normalizer=softmax"], "scaled_dot"),
        (["positions=rotary"], "positions=rotary"),
        (["model=gaussian", "model.width=2"], "gaussian model.width=2"),
    ],
)
def test_a_row_is_named_by_the_choices_that_are_not_usual(words, label):
    row = row_of(words)
    assert sorted(row.label.split()) == sorted(label.split())
    given = {word.partition("=")[0] for word in row.words}
    assert {"model", "normalizer"} <= given


def test_the_same_settings_in_another_order_are_the_same_row():
    assert (
        row_of(["model=dot", "normalizer=relu"]).words
        == row_of(["normalizer=relu", "model=dot"]).words
    )


def test_a_baseline_that_is_the_subject_is_left_out():
    rows = rows_of(["model=additive"], [["model=scaled_dot"], ["model=additive"]])
    assert [row.label for row in rows] == ["additive", "scaled_dot"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cosine"], "'cosine' is not a setting such as model=cosine"),
        (["model="], "'model=' is not a setting such as model=cosine"),
        (["model=dot,cosine"], "a card takes one value of model, got dot,cosine"),
        (["data=copy"], "data=copy: trials set data; a card takes settings of model"),
        (["optim.lr=1"], "optim.lr=1: trials set optim.lr"),
    ],
)
def test_words_that_make_no_row_are_refused(words, message):
    with pytest.raises(RequestError, match=message):
        row_of(words)


def test_a_subject_needs_another_row():
    with pytest.raises(RequestError, match="scaled_dot is its own baseline: name another"):
        rows_of(["model=scaled_dot"], [["model=scaled_dot"]])
