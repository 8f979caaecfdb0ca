"""The nearest relative of a subject."""

import pytest

from attnexp.cards.nearest import nearest, nearest_relative
from attnexp.cards.rows import row_of


def test_the_relative_of_log_length_is_ssmax_whose_scale_begins_at_one():
    """softmax(s log(n) a) with s = 1 is softmax(log(n) a)."""
    words = ["model=scaled_dot", "normalizer=log_length"]
    assert nearest([], words, "normalizer", ["entmax15", "ssmax", "topk"]) == "ssmax"


def test_the_same_function_by_another_name_is_no_relative():
    """The cosine times a learned strength is query_key_norm around the dot product. A sink begins
    as softmax_one, but learns."""
    words = ["model=cosine", "normalizer=softmax"]
    assert nearest([], words, "model", ["query_key_norm", "dot"]) == "dot"
    words = ["model=scaled_dot", "normalizer=sink"]
    assert nearest([], words, "normalizer", ["softmax_one", "topk"]) == "softmax_one"


def test_a_relative_keeps_the_other_settings_of_the_subject():
    row = row_of(["normalizer=log_length", "positions=alibi", "normalizer.factor=2"])
    relative = ["positions=alibi", "model=scaled_dot", "normalizer=ssmax"]
    assert nearest_relative(row, []) in (relative, None)


@pytest.mark.parametrize("words", [["model=scaled_dot"], ["positions=rotary"]])
def test_what_has_the_usual_choices_has_no_relative(words):
    assert nearest_relative(row_of(words), []) is None
