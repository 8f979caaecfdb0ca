import pytest
import torch
from hydra.utils import get_object

from attnexp.attention import pooling
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.scores.average import Average
from attnexp.scores.scaled_dot import ScaledDot

BATCH, QUERIES, KEYS, DIM, VALUE = 2, 3, 5, 7, 11


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    shapes = ((QUERIES, DIM), (KEYS, DIM), (KEYS, VALUE))
    return [torch.randn(BATCH, *shape, generator=generator) for shape in shapes]


@pytest.fixture
def score_factory(model_name, settings_of):
    settings = settings_of("model", model_name)
    target = get_object(settings.pop("_target_"))
    return lambda **sizes: target(**sizes, **settings)


@pytest.fixture(params=["pooling", "multihead"])
def attention(request, score_factory):
    torch.manual_seed(0)
    if request.param == "pooling":
        return AttentionPooling(score_factory(query_dim=DIM, key_dim=DIM), VALUE)
    return MultiHead(score_factory, DIM, DIM, VALUE, VALUE, heads=3, head_dim=2)


MASK = torch.tensor([[True, True, True, False, False], [True, False, True, True, True]])[:, None]


def test_context_is_the_weighted_average_of_the_values(inputs):
    queries, keys, values = inputs
    context, weights = AttentionPooling(ScaledDot(DIM, DIM), VALUE)(queries, keys, values, MASK)
    for example in range(BATCH):
        for query in range(QUERIES):
            oracle = sum(
                weights[example, 0, query, key] * values[example, key] for key in range(KEYS)
            )
            torch.testing.assert_close(context[example, query], oracle)


def test_weights_are_shares_of_the_valid_keys(attention, inputs):
    _, weights = attention(*inputs, MASK)
    assert ((weights >= 0) & (weights <= 1)).all()
    sums = weights.sum(dim=-1)
    assert ((sums - 1).abs().lt(1e-5) | (sums == 0)).all()
    assert (weights.masked_select(~MASK[:, None].expand_as(weights)) == 0).all()


def test_a_masked_key_has_no_influence_whatever_it_holds(attention, inputs):
    queries, keys, values = inputs
    unseen = ~MASK.transpose(-1, -2)
    expected, _ = attention(queries, keys, values, MASK)
    for junk in (float("nan"), float("inf"), 1e9):
        attention.zero_grad()
        context, _ = attention(
            queries, keys.masked_fill(unseen, junk), values.masked_fill(unseen, junk), MASK
        )
        torch.testing.assert_close(context, expected)
        if context.requires_grad:
            context.sum().backward()
            assert all(p.grad is None or p.grad.isfinite().all() for p in attention.parameters())


@pytest.fixture(params=[0, pooling.FEW], ids=["fused", "plain"])
def kernel(request, monkeypatch):
    """Which way weights that nobody asked for are gone without."""
    monkeypatch.setattr(pooling, "FEW", request.param)


@pytest.mark.usefixtures("kernel")
def test_without_weights_the_context_is_the_same(attention, inputs):
    for mask in (None, MASK, torch.tensor([3, 1])):
        expected, weights = attention(*inputs, mask)
        context, nothing = attention(*inputs, mask, need_weights=False)
        assert weights is not None
        assert nothing is None
        torch.testing.assert_close(context, expected, atol=2e-6, rtol=2e-5)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_row_with_nothing_left_gives_zero_and_finite_gradients(attention, inputs, need_weights):
    context, _ = attention(*inputs, torch.tensor([0, 5]), need_weights=need_weights)
    assert (context[0] == 0).all()
    if context.requires_grad:
        context.square().sum().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in attention.parameters())


def test_remembering_once_equals_asking_at_once(attention, inputs):
    queries, keys, values = inputs
    memory = attention.remember(keys, values, MASK)
    steps = [attention.attend(queries[:, step, None], memory)[0] for step in range(QUERIES)]
    torch.testing.assert_close(torch.cat(steps, dim=1), attention(*inputs, MASK)[0])


def test_valid_lens_are_the_mask_they_describe(attention, inputs):
    mask = torch.arange(KEYS) < torch.tensor([2, 4])[:, None, None]
    expected, _ = attention(*inputs, mask)
    torch.testing.assert_close(attention(*inputs, torch.tensor([2, 4]))[0], expected)


def test_average_of_equal_values_is_that_value(inputs):
    queries, keys, _ = inputs
    context, _ = AttentionPooling(Average(DIM, DIM), 1)(queries, keys, torch.full((2, 5, 1), 3.5))
    torch.testing.assert_close(context, torch.full((2, 3, 1), 3.5))
