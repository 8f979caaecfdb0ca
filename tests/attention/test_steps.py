"""The steps of attention against attention pooling and against PyTorch's fused attention."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.pooling import AttentionPooling
from attnexp.attention.steps import Stepwise
from attnexp.estimators.delta import Delta
from attnexp.estimators.local_constant import LocalConstant
from attnexp.estimators.local_linear import LocalLinear
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.additive import Additive
from attnexp.scores.dot import Dot

KEYS = torch.arange(5)
MASKS = {
    "none": torch.ones(2, 3, 5, dtype=torch.bool),
    "of sequences": (torch.tensor([[2], [5]]) > KEYS).unsqueeze(1).expand(2, 3, 5),
    "of queries": torch.tensor([[[1], [2], [3]], [[5], [4], [0]]]) > KEYS,
}


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return [torch.randn(2, *shape).double() for shape in ((3, 4), (5, 4), (5, 6))]


def steps(pooling, queries, keys, values, *, mask):
    given = {"queries": queries, "keys": keys, "values": values, "mask": mask}
    with torch.no_grad():
        return Stepwise(pooling.score, pooling.normalizer, pooling.estimator)(given)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("estimator", [LocalConstant, LocalLinear])
def test_they_are_those_of_attention_pooling(tensors, mask, estimator):
    score = Additive(4, 4, hidden_dim=7)
    pooling = AttentionPooling(score, value_dim=6, estimator=estimator).double()
    context, weights = pooling(*tensors, mask)
    found = steps(pooling, *tensors, mask=mask)
    shown = found.get("effective", found["weights"])
    torch.testing.assert_close(shown, weights.squeeze(1).detach())
    torch.testing.assert_close(found["context"], context.detach())
    assert not shown[~mask].any()
    assert ("effective" in found) == (estimator is LocalLinear)


def test_weights_follow_from_the_mean_key_and_the_tilt(tensors):
    exact = partial(LocalLinear, ridge=0.0)
    pooling = AttentionPooling(Dot(4, 4), value_dim=6, estimator=exact).double()
    found = steps(pooling, *tensors, mask=MASKS["none"])
    for b in range(2):
        for q in range(3):
            away = tensors[1][b] - found["mean_key"][b, q]
            factors = torch.stack([1 + away[i] @ found["tilt"][b, q] for i in range(5)])
            torch.testing.assert_close(found["effective"][b, q], found["weights"][b, q] * factors)


def test_the_answer_of_delta_is_the_products_times_the_inverse_times_the_values(tensors):
    _, keys, values = tensors
    pooling = AttentionPooling(Dot(4, 4), value_dim=6, estimator=Delta).double()
    mask = torch.ones(2, 5, 5).tril().bool()
    context, _ = pooling(keys, keys, values, mask)
    found = steps(pooling, keys, keys, values, mask=mask)
    torch.testing.assert_close(found["context"], context.detach())
    torch.testing.assert_close(found["weights"] @ found["inverse"] @ values, context.detach())


def test_without_values_there_is_no_context(tensors):
    scores = tensors[0] @ tensors[1].mT
    estimator = LocalConstant(heads=1, query_dim=1, key_dim=1, input_dim=1)
    given = {"scores": scores, "mask": MASKS["none"]}
    found = Stepwise(None, Softmax(heads=1), estimator)(given)
    assert list(found) == ["scores", "weights"]
    torch.testing.assert_close(found["weights"], F.softmax(scores, dim=-1))
