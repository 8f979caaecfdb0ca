"""The steps of attention against attention pooling and against PyTorch's fused attention."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.pooling import AttentionPooling
from attnexp.attention.steps import Stepwise
from attnexp.estimators.delta import Delta
from attnexp.estimators.forgetting import Forgetting
from attnexp.estimators.gated_delta import GatedDelta
from attnexp.estimators.local_constant import LocalConstant
from attnexp.estimators.local_linear import LocalLinear
from attnexp.estimators.path import Path
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


def test_effective_weights_follow_from_what_is_printed(tensors):
    """Of forgetting, gated delta and path, by their recurrences over one sequence."""
    _, keys, values = tensors
    mask = torch.ones(2, 5, 5).tril().bool()

    def printed(estimator):
        pooling = AttentionPooling(Dot(4, 4), value_dim=6, estimator=estimator).double()
        found = steps(pooling, keys, keys, values, mask=mask)
        return {name: one[1] for name, one in found.items()}

    found = printed(partial(Forgetting, start=0.0))
    faded = torch.zeros(5, 5, dtype=torch.float64)
    for i in range(5):
        for j in range(i + 1):
            faded[i, j] = found["weights"][i, j] * found["gates"][j + 1 : i + 1].prod()
    torch.testing.assert_close(found["effective"], faded / faded.sum(dim=-1, keepdim=True))

    found, lengths = printed(partial(GatedDelta, start=0.0)), keys[1].norm(dim=-1, keepdim=True)
    unit, state = keys[1] / lengths, torch.zeros(6, 4, dtype=torch.float64)
    for t in range(5):
        state = found["gates"][t] * state
        error = values[1, t] - state @ unit[t]
        state = state + found["shares"][t] * torch.outer(error, unit[t])
        torch.testing.assert_close(found["context"][t], state @ keys[1, t])

    found = printed(Path)
    for i in range(5):
        products = []
        for j in range(i + 1):
            query = keys[1, i]
            for t in range(i, j, -1):
                way = found["directions"][t]
                query = query - found["shares"][t] * way * (way @ query)
            products.append(keys[1, j] @ query)
        own = torch.stack(products).softmax(dim=0)
        torch.testing.assert_close(found["effective"][i, : i + 1], own)


@pytest.mark.parametrize("estimator", [Forgetting, GatedDelta, Delta, Path])
def test_a_key_that_no_query_sees_has_no_influence(tensors, estimator):
    _, keys, values = tensors
    pooling = AttentionPooling(Dot(4, 4), value_dim=6, estimator=estimator).double()
    seen, mask = torch.tensor([True, True, False, True, True]), torch.ones(2, 5, 5).tril().bool()
    found = steps(pooling, keys, keys, values, mask=mask & seen)
    four = (keys[:, seen], values[:, seen])
    without = steps(pooling, four[0], *four, mask=mask[:, :4, :4])
    torch.testing.assert_close(found["context"][:, seen], without["context"])
    assert "effective" in found


def test_without_values_there_is_no_context(tensors):
    scores = tensors[0] @ tensors[1].mT
    estimator = LocalConstant(heads=1, query_dim=1, key_dim=1, input_dim=1)
    given = {"scores": scores, "mask": MASKS["none"]}
    found = Stepwise(None, Softmax(heads=1), estimator)(given)
    assert list(found) == ["scores", "weights"]
    torch.testing.assert_close(found["weights"], F.softmax(scores, dim=-1))
