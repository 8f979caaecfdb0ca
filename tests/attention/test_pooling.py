from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hydra.utils import get_object

from attnexp.attention import pooling
from attnexp.attention.multihead import MultiHead, single_or_multihead
from attnexp.attention.pooling import AttentionPooling
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.scaled_dot import ScaledDot

BATCH, QUERIES, KEYS, DIM, VALUE = 2, 3, 5, 7, 11


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    shapes = ((QUERIES, DIM), (KEYS, DIM), (KEYS, VALUE))
    return [torch.randn(BATCH, *shape, generator=generator) for shape in shapes]


@pytest.fixture(params=["additive", "boxcar", "gaussian_learned", "scaled_dot"])
def score_factory(request, settings_of):
    settings = settings_of("model", request.param)
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


@pytest.fixture
def fused(monkeypatch):
    """The calls of the fused kernel, where no batch is too small for it."""
    calls = []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(pooling, "FEW", 0)
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda *arguments, **options: calls.append(1) or kernel(*arguments, **options),
    )
    return calls


@pytest.mark.parametrize("heads", [1, 3])
def test_the_fused_kernel_serves_the_softmax_alone(
    fused, normalizer_name, settings_of, inputs, heads
):
    settings = settings_of("normalizer", normalizer_name)
    normalizer = partial(get_object(settings.pop("_target_")), **settings)
    attention = single_or_multihead(ScaledDot, DIM, DIM, VALUE, heads, 2, normalizer)
    expected, _ = attention(*inputs, MASK)
    context, _ = attention(*inputs, MASK, need_weights=False)
    assert bool(fused) == (normalizer_name == "softmax")
    torch.testing.assert_close(context, expected, atol=2e-6, rtol=2e-5)


def test_the_fused_kernel_does_not_serve_a_subclass_of_the_softmax(fused, inputs):
    class Hotter(Softmax):
        def normalize(self, scores, seen):
            return super().normalize(scores / 2, seen)

    attention = AttentionPooling(ScaledDot(DIM, DIM), VALUE, Hotter)
    expected, _ = attention(*inputs, MASK)
    torch.testing.assert_close(attention(*inputs, MASK, need_weights=False)[0], expected)
    assert not fused


@pytest.mark.parametrize("heads", [1, 3])
def test_dropped_weights_are_those_of_training_and_are_not_returned(fused, inputs, heads):
    torch.manual_seed(0)
    plain = single_or_multihead(ScaledDot, DIM, DIM, VALUE, heads, 2)
    torch.manual_seed(0)
    dropping = single_or_multihead(ScaledDot, DIM, DIM, VALUE, heads, 2, dropout=0.5)
    before = torch.get_rng_state()
    expected, weights = plain(*inputs, MASK)
    context, kept = dropping(*inputs, MASK)
    torch.testing.assert_close(kept, weights)
    assert not torch.allclose(context, expected)
    fused.clear()
    assert not torch.allclose(dropping(*inputs, MASK, need_weights=False)[0], expected)
    assert not fused
    dropping.eval()
    torch.testing.assert_close(dropping(*inputs, MASK)[0], expected)
    torch.testing.assert_close(dropping(*inputs, MASK, need_weights=False)[0], expected)
    assert fused
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("need_weights", [True, False])
def test_half_precision_is_float32_up_to_rounding(model_name, settings_of, dtype, need_weights):
    torch.manual_seed(0)
    settings = settings_of("model", model_name)
    score = get_object(settings.pop("_target_"))(query_dim=DIM, key_dim=DIM, **settings)
    inputs = [0.5 * torch.rand(BATCH, n, DIM) for n in (70, 65, 65)]
    attention = AttentionPooling(score, DIM)
    expected, _ = attention(*inputs, torch.tensor([3, 65]))
    half = [each.to(dtype).requires_grad_() for each in inputs]
    context, weights = attention.to(dtype)(*half, torch.tensor([3, 65]), need_weights=need_weights)
    assert context.dtype == dtype
    assert weights is None or weights.dtype == torch.float32
    error = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(context.float(), expected, atol=error, rtol=error)
    context.sum().backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in half[2:])


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_mask_of_a_row_for_each_example_names_its_axes(inputs, heads, need_weights):
    attention = single_or_multihead(ScaledDot, DIM, DIM, VALUE, heads, 2)
    mask = MASK[:, 0]
    with pytest.raises(
        ValueError, match=r"does not fit 3 queries.*mask.unsqueeze\(1\), \(2, 1, 5\)"
    ):
        attention(*inputs, mask, need_weights=need_weights)
    queries, keys, values = inputs
    same = (queries[:, :2], keys, values)
    with pytest.raises(ValueError, match=r"2 examples of 2 queries.*mask.unsqueeze\(0\)"):
        attention(*same, mask, need_weights=need_weights)
    for clear in (mask.unsqueeze(1), mask.unsqueeze(0)):
        attention(*same, clear, need_weights=need_weights)
