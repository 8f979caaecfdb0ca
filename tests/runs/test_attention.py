"""Stored attention as maps."""

from dataclasses import replace

import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.runs.attention import as_attention
from attnexp.runs.folder import load_run


def test_a_regression_map_is_sorted_on_both_sides(regression_run):
    attention = load_run(regression_run()).attention
    one = attention.map("pooling", example=0, layer=0, head=0)
    order = np.argsort(attention.batch["keys"][0, :, 0])
    assert one.columns.numbers.tolist() == attention.batch["keys"][0, order, 0].tolist()
    assert np.array_equal(one.weights, attention.weights["pooling"][0, 0, 0][:, order])
    assert one.gold is None


def test_a_sequence_map_leaves_padding_out_and_has_its_symbols(sequence_run):
    attention = load_run(sequence_run()).attention
    one = attention.map("cross", example=0, layer=0, head=0)
    assert one.weights.shape == (4, 4)
    assert one.columns.symbols[:3] == one.rows.symbols[2::-1]
    assert one.columns.symbols[3] == one.rows.symbols[3] == "<eos>"
    assert one.gold.tolist() == [2, 1, 0, -1]


def test_without_a_head_a_map_is_the_mean_over_heads(sequence_run):
    attention = load_run(sequence_run(heads=3)).attention
    heads = [attention.map("cross", 1, 0, head).weights for head in range(3)]
    assert np.allclose(attention.map("cross", 1, 0, None).weights, np.mean(heads, axis=0))


def test_self_attention_has_one_side_twice_and_no_gold_path(sequence_run):
    attention = load_run(sequence_run()).attention
    weights = attention.weights["cross"]
    both = replace(attention, weights={"cross": weights, "encoder": weights, "decoder": weights})
    encoder, decoder = (both.map(name, 0, 0, 0) for name in ("encoder", "decoder"))
    assert encoder.rows.symbols == encoder.columns.symbols
    assert decoder.rows.symbols == decoder.columns.symbols
    assert decoder.rows.symbols[0] == "<bos>"
    assert encoder.gold is decoder.gold is None


def test_the_input_of_a_decoder_only_model_is_a_part_behind_the_source(sequence_run):
    attention = load_run(sequence_run()).attention
    both = np.tile(np.tril(np.ones((12, 12))), (4, 1, 1, 1, 1))
    one = replace(attention, weights={**attention.weights, "self": both}).map("self", 0, 0, 0)
    assert one.rows.symbols[3:5] == ("<eos>", "<bos>")
    assert one.rows.parts == one.columns.parts == (4,)
    assert one.hidden is not None
    assert one.hidden.tolist() == (~np.tri(8, dtype=bool)).tolist()


def test_later_places_are_hidden_if_no_head_looks_at_them(sequence_run):
    """The first example has three letters and an end symbol, in the source and in the input."""
    attention = load_run(sequence_run(heads=2)).attention
    causal = np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]
    weights = np.tile(causal, (4, 1, 2, 1, 1))
    names = dict.fromkeys(("cross", "encoder", "decoder"), weights)
    one = replace(attention, weights=names)
    hidden = [[False] * (1 + i) + [True] * (3 - i) for i in range(4)]
    assert one.map("decoder", 0, 0, 0).hidden.tolist() == hidden
    assert not one.map("encoder", 0, 0, 0).hidden.any()
    assert not one.map("cross", 0, 0, 0).hidden.any()
    ahead = weights.copy()
    ahead[0, 0, 1, 0, 5] = 0.5
    assert not replace(one, weights={"decoder": ahead}).map("decoder", 0, 0, 0).hidden.any()


def test_keys_that_the_data_hide_are_hidden_unless_they_have_weight(regression_run):
    attention = load_run(regression_run()).attention
    mask, weights = np.ones((1, 7, 5), bool), attention.weights["pooling"].copy()
    mask[0, 0, [1, 3]] = False
    weights[..., 0, 1] = 0
    one = replace(attention, batch={**attention.batch, "mask": mask}, weights={"pooling": weights})
    shown = one.map("pooling", 0, 0, 0)
    assert shown.hidden is not None
    assert np.argwhere(shown.hidden).tolist() == [[0, shown.columns.order.tolist().index(1)]]


def test_attention_without_its_examples_is_refused():
    with pytest.raises(RequestError, match="has no keys and no mask and no queries"):
        as_attention({"weights.cross": np.zeros((1, 1, 1, 2, 2))}, {})


def test_weights_that_do_not_fit_their_examples_are_refused(sequence_run):
    attention = load_run(sequence_run()).attention
    shorter = {"cross": attention.weights["cross"][..., :2]}
    with pytest.raises(RequestError, match="cross attention does not fit the examples"):
        replace(attention, weights=shorter).map("cross", 0, 0, 0)


def test_given_input_is_shown_up_to_the_last_target_due(sequence_run):
    """Targets due at the second and the first of four inputs: the two behind do not matter."""
    attention = load_run(sequence_run()).attention
    batch = {name: array.copy() for name, array in attention.batch.items()}
    batch["target_mask"][0] = np.arange(len(batch["target_mask"][0])) < 2
    batch["asked"] = np.zeros_like(batch["targets"])
    batch["asked"][0, :2] = [1, 0]
    weights = attention.weights["cross"]
    given = replace(attention, batch=batch, weights={"cross": weights, "decoder": weights})
    assert given.map("decoder", 0, 0, 0).weights.shape == (2, 2)
    assert given.map("decoder", 0, 0, 0).rows.symbols[0] == "<bos>"
    assert len(given.map("cross", 0, 0, 0).rows) == 2


def test_self_attention_of_a_joint_sequence_has_sources_and_then_inputs(sequence_run):
    attention = load_run(sequence_run(examples=3)).attention
    weights = np.arange(3 * 12 * 12, dtype=np.float64).reshape(3, 1, 1, 12, 12)
    joint = replace(attention, weights={"cross": attention["cross"], "self": weights})
    one = joint.map("self", 0, 0, 0)
    source, given = joint.map("cross", 0, 0, 0).columns.symbols, one.rows.symbols[4:]
    assert source[-1] == "<eos>"
    assert given == ("<bos>", *source[-2::-1])
    assert one.rows.symbols == one.columns.symbols == source + given
    kept = [0, 1, 2, 3, 6, 7, 8, 9]
    assert one.weights.tolist() == weights[0, 0, 0][np.ix_(kept, kept)].tolist()
    assert one.gold is None


def test_a_gold_path_that_is_not_finite_is_refused(sequence_run):
    attention = load_run(sequence_run()).attention
    gold = attention.batch["alignment"].astype(float)
    gold[0, 0] = np.nan
    spoilt = replace(attention, batch={**attention.batch, "alignment": gold})
    with pytest.raises(RequestError, match="does not fit the examples stored with it"):
        spoilt.map("cross", example=0, layer=0, head=0)
    assert spoilt.map("cross", example=1, layer=0, head=0).gold is not None
