"""The nearest relative of a subject."""

import pytest

from attnexp.cards.nearest import nearest, nearest_relative
from attnexp.cards.rows import row_of

pytestmark = pytest.mark.check


def nearest_of(words, group, names):
    """Return the word of the nearest of the choices of a group."""
    kept = [word for word in words if not word.startswith(group)]
    *_, found = nearest([], words, [[*kept, f"{group}={name}"] for name in names], group)
    return found


def test_the_relative_of_log_length_is_ssmax_whose_scale_begins_at_one():
    """softmax(s log(n) a) with s = 1 is softmax(log(n) a)."""
    words = ["model=scaled_dot", "normalizer=log_length"]
    assert nearest_of(words, "normalizer", ["entmax15", "ssmax", "topk"]) == "normalizer=ssmax"


def test_the_same_function_by_another_name_is_no_relative():
    """The cosine times a learned strength is query_key_norm around the dot product. A sink begins
    as softmax_one, but learns."""
    words = ["model=cosine", "normalizer=softmax"]
    assert nearest_of(words, "model", ["query_key_norm", "dot"]) == "model=dot"
    words = ["model=scaled_dot", "normalizer=sink"]
    found = nearest_of(words, "normalizer", ["softmax_one", "topk"])
    assert found == "normalizer=softmax_one"


def test_a_relative_keeps_the_other_settings_of_the_subject():
    row = row_of(["normalizer=topk", "positions=alibi", "normalizer.k=2"])
    found = nearest_relative(row, [])
    assert found is not None
    assert {"positions=alibi", "model=scaled_dot"} < {*found}
    assert not any(word.startswith("normalizer.") for word in found)


def test_the_relative_of_an_estimator_has_the_nearest_effective_weights():
    """With a ridge that allows no slope the line is level, and its weights are those of softmax."""
    words = ["estimator=local_linear", "estimator.ridge=1000", "model=scaled_dot"]
    level = ["model=scaled_dot", "normalizer=softmax"]
    sharp, causal = ["model=scaled_dot", "normalizer=topk"], ["model=scaled_dot", "estimator=delta"]
    assert nearest([], words, [sharp, level, causal], "estimator") == level


def test_a_candidate_that_does_not_fit_the_score_is_left_out():
    words = ["model=additive", "estimator=local_linear"]
    unfit, sharp = ["model=additive", "estimator=delta"], ["model=additive", "normalizer=topk"]
    assert nearest([], words, [unfit, sharp], "estimator") == sharp


def test_the_relative_of_a_causal_estimator_is_sought_behind_a_causal_mask():
    found = nearest_relative(row_of(["estimator=delta"]), [])
    assert found is not None
    assert "estimator=delta" not in found
    assert "model=scaled_dot" in found


@pytest.mark.parametrize("words", [["model=scaled_dot"], ["positions=rotary"], ["attention=gated"]])
def test_what_has_the_usual_choices_has_no_relative(words):
    assert nearest_relative(row_of(words), []) is None
