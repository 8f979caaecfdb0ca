from typing import Any

import pytest
import torch

from attnexp import d2l
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.core.masks import (
    FirstKeys,
    LeaveOneOut,
    as_mask,
    causal_mask,
    hide,
    length_mask,
    over_heads,
    seen_keys,
    select_queries,
)
from attnexp.normalizers.softmax import masked_softmax
from attnexp.scores.scaled_dot import ScaledDot

SHOWN = torch.tensor([[True, True, False, True], [True, False, False, True]])
LENS = torch.tensor([[0, 2, 4, 1], [3, 3, 2, 1]])
TRIANGLE = torch.ones(4, 4, dtype=torch.bool).tril()
FIRST = {
    "causal": (causal_mask(4, torch.device("cpu")), TRIANGLE),
    "causal, padded": (causal_mask(4, torch.device("cpu"), SHOWN), TRIANGLE & SHOWN[:, None]),
    "lengths": (FirstKeys(LENS, 4), length_mask(LENS, 4)),
    "lengths, padded": (FirstKeys(LENS, 4, SHOWN), length_mask(LENS, 4) & SHOWN[:, None]),
}


@pytest.mark.parametrize(("mask", "matrix"), FIRST.values(), ids=FIRST)
def test_the_first_keys_are_their_matrix(mask, matrix):
    assert mask.matrix.equal(matrix)
    assert mask.matrix is mask.matrix
    scores = torch.randn(2, 4, 4)
    assert hide(scores, mask).equal(hide(scores, matrix))
    seen = seen_keys(mask)
    padding = torch.ones(4, dtype=torch.bool) if seen is None else seen
    assert padding.expand(2, 4).equal(seen_keys(matrix).expand(2, 4))


@pytest.mark.parametrize(("mask", "matrix"), FIRST.values(), ids=FIRST)
def test_a_part_of_the_first_keys(mask, matrix):
    for queries in (slice(1, 3), torch.tensor([3, 0])):
        assert mask.select(queries).matrix.equal(matrix[..., queries, :])
        expected = matrix.expand(2, 4, 4)[1:2, queries]
        assert mask.select(queries, slice(1, 2)).matrix.expand_as(expected).equal(expected)
        assert not mask.select(queries).triangle


@pytest.mark.parametrize(("mask", "matrix"), FIRST.values(), ids=FIRST)
def test_all_heads_share_the_first_keys(mask, matrix):
    assert over_heads(mask) is over_heads(mask)
    of_first: Any = over_heads(mask)
    scores = torch.randn(2, 3, 4, 4)
    of_all = over_heads(matrix.expand(2, 4, 4))
    assert hide(scores, of_first).equal(hide(scores, of_all))
    part = of_first.select(slice(2, 4), slice(0, 1))
    assert hide(scores[:1, :, 2:], part).equal(hide(scores[:1, :, 2:], of_all[:1, :, 2:]))


def test_the_first_keys_are_made_of_their_tensors():
    mask = FirstKeys(LENS, 4, SHOWN)
    assert set(mask.tensors()) == {"limits", "shown"}
    again = mask.with_tensors({"limits": LENS[:1], "shown": SHOWN[:1]})
    assert again.matrix.equal(mask.matrix[:1])
    assert set(causal_mask(4, torch.device("cpu")).tensors()) == {"limits"}


def test_lengths_of_queries_are_structured_and_those_of_sequences_one_row():
    assert as_mask(LENS, 4).limits is LENS
    assert as_mask(torch.tensor([1, 3]), 4).shape == (2, 1, 4)
    with pytest.raises(ValueError, match="between 0 and the number of keys, 3"):
        as_mask(LENS, 3)


def test_leave_one_out_hides_the_own_key():
    mask = LeaveOneOut(torch.tensor([2, 0]), keys=3)
    expected = torch.tensor([[True, True, False], [False, True, True]])
    assert mask.matrix.equal(expected)
    scores = torch.zeros(4, 2, 3)
    assert (mask.hide(scores) == 0).equal(expected.expand(4, -1, -1))
    assert (scores == 0).all()


def test_leave_one_out_of_some_keys():
    mask = LeaveOneOut(torch.tensor([2, 0, 4, 3]), keys=5)
    chosen = torch.tensor([0, 2, 3])
    part = mask.select_keys(chosen)
    assert part.matrix.equal(mask.matrix[:, chosen])
    scores = torch.randn(2, 4, 3)
    assert hide(scores, part).equal(hide(scores, part.matrix))


def test_some_queries_of_a_mask():
    structured = LeaveOneOut(torch.arange(5), keys=5)
    matrix = structured.matrix[None]
    for index in (slice(1, 3), torch.tensor([4, 0])):
        expected = matrix[:, index]
        assert select_queries(matrix, index).equal(expected)
        assert select_queries(structured, index).matrix.equal(expected[0])
    shared = matrix[:, :1]
    assert select_queries(shared, slice(3, 4)) is shared
    assert select_queries(None, slice(3, 4)) is None


def test_a_structured_mask_is_the_same_for_all_heads():
    structured = LeaveOneOut(torch.arange(2), keys=2)
    assert over_heads(structured) is structured
    assert over_heads(structured.matrix[None]).shape == (1, 1, 2, 2)
    assert over_heads(None) is None


def self_attention(attention):
    return lambda x, mask: attention(x, x, x, mask)


SELF_ATTENTION = {
    "pooling": self_attention(AttentionPooling(ScaledDot(8, 8), 8)),
    "heads": self_attention(MultiHead(ScaledDot, 8, heads=2)),
    "softmax": lambda x, mask: masked_softmax(x @ x.mT, mask),
    "d2l": self_attention(d2l.DotProductAttention(0.0)),
}
OF_TOKENIZER = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
"""The attention_mask of a tokenizer: true or false for each key, in whole numbers."""


@pytest.mark.parametrize("attend", SELF_ATTENTION.values(), ids=SELF_ATTENTION)
@pytest.mark.parametrize(
    "mask", [OF_TOKENIZER, OF_TOKENIZER.flip(-1), torch.ones_like(OF_TOKENIZER)]
)
def test_a_mask_of_0_and_1_is_not_read_as_lengths(attend, mask):
    x = torch.randn(2, 4, 8)
    with pytest.raises(ValueError, match="would be read as a length for each query: give the mask"):
        attend(x, mask)


def test_the_two_right_forms_of_a_mask_of_0_and_1_agree():
    x = torch.randn(2, 4, 8)
    lengths = masked_softmax(x @ x.mT, OF_TOKENIZER.sum(-1))
    assert torch.equal(lengths, masked_softmax(x @ x.mT, OF_TOKENIZER.bool().unsqueeze(1)))
    assert lengths.count_nonzero(dim=-1).tolist() == [[3] * 4, [2] * 4]


def test_lengths_of_0_and_1_of_the_same_shape_stay_if_no_row_has_several_ones():
    x = torch.randn(2, 4, 8)
    lengths = torch.tensor([[1, 0, 0, 0], [0, 0, 0, 1]])
    weights = masked_softmax(x @ x.mT, lengths)
    assert weights.sum(dim=-1).tolist() == lengths.tolist()


@pytest.mark.parametrize(
    "lengths", [[[1, 2, 1, 1], [1, 1, 1, 1]], [[0, 1, 2, 3], [1, 2, 3, 4]], [[1, 1, 1], [1, 0, 0]]]
)
def test_other_lengths_of_queries_stay(lengths):
    """Also those of 0 and 1 if there are more keys than queries."""
    queries = torch.randn(2, len(lengths[0]), 8)
    weights = masked_softmax(queries @ torch.randn(2, 8, 4), torch.tensor(lengths))
    assert weights.count_nonzero(dim=-1).tolist() == lengths
