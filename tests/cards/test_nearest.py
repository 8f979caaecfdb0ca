"""The nearest relative of a subject."""

import pytest

from attnexp.cards import nearest as module
from attnexp.cards.nearest import nearest, nearest_relative, with_products
from attnexp.cards.rows import row_of
from attnexp.core.errors import RequestError, RunFailedError

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


def test_a_setting_that_trials_have_does_not_hinder_the_search():
    found = nearest_relative(row_of(["normalizer=log_length", "arch.kv_heads=2"]), [])
    assert found is not None
    assert "arch.kv_heads=2" in found


def test_an_unknown_choice_is_said_as_elsewhere():
    with pytest.raises(RequestError, match="'cosin' is not one of the choices for 'model'"):
        nearest_relative(row_of(["model=cosin"]), [])


SCORE = """
import os, time
from attnexp.scores.dot import Dot

class Mine(Dot):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        {body}
"""


@pytest.mark.parametrize("asked", [with_products, nearest_relative])
@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        ("self.nonsense", RequestError, "AttributeError: .*nonsense"),
        ("os._exit(0)", RunFailedError, "mine .*: its process ended with exit code 0"),
        ("time.sleep(60)", RunFailedError, r"mine .*: no answer after \d s"),
    ],
)
def test_nothing_is_decided_where_a_score_is_not_built(
    own_choice, in_process, tmp_path, monkeypatch, asked, body, error, text
):
    if "sleep" in body:
        monkeypatch.setattr(module, "SECONDS", 1.0)
    option, folder, word = own_choice("model", "mine_near.Mine", SCORE.format(body=body))
    with pytest.raises(error, match=text):
        asked(row_of([word]), [option, str(tmp_path / folder)])


def test_a_score_knows_whether_it_is_made_of_products():
    products = {name: with_products(row_of([f"model={name}"]), []) for name in ("dot", "gaussian")}
    assert [row.of_products for row in products.values()] == [True, False]
