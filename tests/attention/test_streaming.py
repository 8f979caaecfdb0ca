import math
from functools import partial

import pytest
import torch
from hydra.utils import get_object

from attnexp.attention import pooling, streaming
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.core.masks import FirstKeys, LeaveOneOut, causal_mask
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.additive import Additive
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot

BATCH, POINTS, DIM, VALUE = 2, 7, 4, 3

MASKS = {
    "everything": None,
    "leave-one-out": LeaveOneOut(torch.arange(POINTS), POINTS),
    "valid_lens": torch.tensor([3, 6]),
    "a row with nothing left": torch.ones(BATCH, POINTS, POINTS).tril(-1).bool(),
    "causal": causal_mask(POINTS, torch.device("cpu")),
    "causal, padded": causal_mask(
        POINTS, torch.device("cpu"), torch.arange(POINTS) < torch.tensor([[POINTS], [4]])
    ),
    "a length a query": torch.tensor([[0, 3, 6, 7, 1, 2, 4], [5, 5, 5, 1, 0, 0, 7]]),
}


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]


@pytest.fixture
def small_tiles(monkeypatch):
    """From one query on, attention goes by tiles of two or three queries of one example."""
    for name in ("FEW", "LARGE"):
        monkeypatch.setattr(pooling, name, 0)
    monkeypatch.setattr(streaming, "TILE", 3 * POINTS * DIM)


def inputs():
    generator = torch.Generator().manual_seed(1)
    shape = (BATCH, POINTS, DIM)
    draws = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]
    draws.append(torch.randn(*shape[:2], VALUE, generator=generator, dtype=torch.float64))
    return [draw.requires_grad_() for draw in draws]


def made(group, name, settings_of):
    settings = settings_of(group, name)
    return partial(get_object(settings.pop("_target_")), **settings)


def results(attention, mask, need_weights):
    """The context, and its gradient by the inputs and by the parameters, as float64."""
    tensors = inputs()
    context, _ = attention(*tensors, mask, need_weights=need_weights)
    targets = [*tensors, *(p for p in attention.parameters() if p.requires_grad)]
    factor = torch.arange(context.numel()).view_as(context).cos()
    found = torch.autograd.grad((context * factor).sum(), targets, allow_unused=True)
    zeros = (torch.zeros_like(target) for target in targets)
    return [context, *(z if g is None else g for g, z in zip(found, zeros, strict=True))]


def same(attention, mask):
    plain = results(attention.double(), mask, need_weights=True)
    tiled = results(attention, mask, need_weights=False)
    for one, other in zip(tiled, plain, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-7)


@pytest.fixture
def calls(monkeypatch):
    """The names of the ways by tiles that were gone."""
    gone = []
    for name in ("stream", "stream_products"):
        way = getattr(pooling, name)
        monkeypatch.setattr(
            pooling, name, lambda *a, way=way, name=name: gone.append(name) or way(*a)
        )
    return gone


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("kind", ["a row with nothing left", "causal, padded"])
def test_every_score_is_the_same_by_tiles(model_name, settings_of, kind, calls):
    torch.manual_seed(0)
    score = made("model", model_name, settings_of)(query_dim=DIM, key_dim=DIM)
    same(AttentionPooling(score, VALUE), MASKS[kind])
    assert calls


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("kind", ["leave-one-out", "a length a query"])
def test_every_normalizer_is_the_same_by_tiles(normalizer_name, settings_of, kind, calls):
    torch.manual_seed(0)
    normalizer = made("normalizer", normalizer_name, settings_of)
    same(AttentionPooling(Additive(DIM, DIM, 5), VALUE, normalizer), MASKS[kind])
    same(MultiHead(Additive, DIM, DIM, VALUE, VALUE, 2, 3, normalizer), MASKS[kind])
    assert set(calls) == {"stream"}


@pytest.mark.parametrize("kind", ["causal", "causal, padded", "a length a query"])
def test_a_structured_mask_is_the_same_by_the_fused_kernel(kind, monkeypatch):
    monkeypatch.setattr(pooling, "FEW", 0)
    torch.manual_seed(0)
    same(MultiHead(ScaledDot, DIM, DIM, VALUE, VALUE, 2, 3, Softmax), MASKS[kind])


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("score", [ScaledDot, Additive])
def test_a_bias_is_added_and_has_its_gradient(score, calls):
    torch.manual_seed(0)
    attention = MultiHead(score, DIM, DIM, VALUE, VALUE, 2, 5, Softmax).double()
    bias = torch.randn(2, POINTS, POINTS, dtype=torch.float64, requires_grad=True)
    found = []
    for need_weights in (True, False):
        queries, keys, values = inputs()
        memory = attention.remember(keys, values, MASKS["leave-one-out"])
        context, _ = attention.attend(queries, memory, need_weights, bias=bias)
        found.append([context, *torch.autograd.grad(context.square().sum(), [bias, queries])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
    assert calls


@pytest.mark.usefixtures("small_tiles")
def test_parameters_that_are_swapped_for_a_call_keep_their_own_gradient():
    """The backward pass comes after the call, when the module has its own parameters again."""
    torch.manual_seed(0)
    attention = AttentionPooling(Additive(DIM, DIM, 5), VALUE).double()
    other = {name: torch.randn_like(p).requires_grad_() for name, p in attention.named_parameters()}
    found = []
    for need_weights in (True, False):
        arguments = (*inputs(), None, need_weights)
        context, _ = torch.func.functional_call(attention, other, arguments)
        found.append(torch.autograd.grad(context.square().sum(), list(other.values())))
    for one, another in zip(*found, strict=True):
        torch.testing.assert_close(one, another)


@pytest.mark.usefixtures("small_tiles")
def test_a_width_is_learned_in_one_pass(mask, monkeypatch):
    """Keys and values that are data need no gradient: nothing is computed twice."""
    monkeypatch.setattr(streaming, "_streamed", None)
    width = Gaussian(DIM, DIM, width="learned", initial_width=0.7).double()
    attention = AttentionPooling(width, VALUE)
    found = []
    for need_weights in (True, False):
        queries, keys, values = (tensor.detach() for tensor in inputs())
        context, _ = attention(queries, keys, values, mask, need_weights=need_weights)
        loss = (context * torch.arange(context.numel()).view_as(context).cos()).sum()
        found.append([context, *torch.autograd.grad(loss, list(width.parameters()))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-7)


LARGE_MASKS = {
    "leave-one-out": lambda points: LeaveOneOut(torch.arange(points), points),
    "causal": lambda points: causal_mask(
        points, torch.device("cpu"), torch.arange(points)[None] < points - 3
    ),
    "a length a query": lambda points: FirstKeys(torch.arange(points)[None], points),
}


@pytest.mark.parametrize(
    ("score", "kind"),
    [(Additive, "causal"), *((partial(Gaussian, width="learned"), kind) for kind in LARGE_MASKS)],
)
def test_large_attention_holds_no_matrix_of_weights(score, kind, monkeypatch):
    """No tensor that is made, forward or backward, has more numbers than the tile or the keys."""
    points = 80
    monkeypatch.setattr(pooling, "LARGE", points**2)
    monkeypatch.setattr(streaming, "TILE", 4 * points)
    largest = 0

    class Sizes(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            out = function(*args, **(kwargs or {}))
            for each in out if isinstance(out, tuple | list) else (out,):
                if isinstance(each, torch.Tensor):
                    largest = max(largest, each.numel())
            return out

    x = torch.linspace(0, 1, points)[None, :, None]
    model = AttentionPooling(score(1, 1), 1)
    mask = LARGE_MASKS[kind](points)
    with Sizes():
        model(x, x, x, mask, need_weights=False)[0].square().sum().backward()
    inner = 64 if score is Additive else 8
    assert largest <= inner * points


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    ("width", "kind"),
    [(0.5, torch.float32), (40.0, torch.float32), (40.0, torch.float64), (400.0, torch.float64)],
)
def test_keys_without_weight_are_left_out(hidden, width, kind, monkeypatch):
    """Points in no order, some of them the same, have the context and slope of the formula."""
    monkeypatch.setattr(pooling, "LARGE", 0)
    generator = torch.Generator().manual_seed(2)
    x = (5 * torch.rand(1, 600, 1, generator=generator)).to(kind)
    x[:, :20] = x[:, 20:40]
    y, own = x.sin(), torch.randperm(600, generator=generator)
    monkeypatch.setattr(streaming, "LEAST", 16)
    compared = []
    near_keys = streaming._near_keys
    monkeypatch.setattr(
        streaming, "_near_keys", lambda *a: compared.append(near_keys(*a)) or compared[-1]
    )
    attention = AttentionPooling(Gaussian(1, 1, width="learned", initial_width=width).to(kind), 1)
    mask = LeaveOneOut(own, 600) if hidden else None
    found = []
    for need_weights in (True, False):
        queries = (x[:, own] if hidden else x[:, :200]).clone().requires_grad_()
        context, _ = attention(queries, x, y, mask, need_weights)
        context.sin().sum().backward()
        found.append([context, queries.grad])
    with torch.no_grad():
        found[1].append(attention(queries, x, y, mask, need_weights=False)[0])
    found[0].append(found[0][0])
    error = 1e-9 if kind == torch.float64 else 3e-3
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=error, atol=error)
    assert len(compared) == (2 if width == 0.5 else 2 * (1 + math.ceil(len(queries[0]) / 16)))


@pytest.mark.parametrize(("reach", "error"), [(1_500, 3e-4), (15_000, 3e-3)])
def test_leave_one_out_in_float32_keeps_its_digits_over_many_widths(reach, error, monkeypatch):
    """The reference is float64; the products of all keys at once are off by 0.01 and by 1."""
    monkeypatch.setattr(pooling, "LARGE", 0)
    points = 4_000
    generator = torch.Generator().manual_seed(4)
    x = 100 + 5 * torch.rand(1, points, 1, generator=generator)
    y = x.sin() + 0.5 * torch.randn(x.shape, generator=generator)
    mask = LeaveOneOut(torch.arange(points), points)
    found = []
    for kind in (torch.float64, torch.float32):
        score = Gaussian(1, 1, width="learned", initial_width=reach / 5).to(kind)
        data = x.to(kind)
        context, _ = AttentionPooling(score, 1)(data, data, y.to(kind), mask, need_weights=False)
        (context - y).square().mean().backward()
        found.append([context.double().detach(), score.width.grad.double()])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=error, atol=error)


def test_the_keys_that_are_left_out_have_no_weight():
    """Whichever one key a mask hides from a query."""
    generator = torch.Generator().manual_seed(3)
    for features in (1, 2, 4):
        queries = 50 * torch.randn(features, generator=generator)
        queries = queries + 0.5 * torch.randn(5, features, generator=generator)
        keys = 3 * torch.randn(400, features, generator=generator)
        near = streaming._near_keys(queries, keys)
        far = torch.ones(400, dtype=torch.bool).index_fill(0, near, False)
        scores = queries @ keys.mT
        assert far.any()
        assert (scores.softmax(dim=-1)[:, far] == 0).all()
        best = scores.argmax(dim=-1, keepdim=True)
        assert (scores.scatter(-1, best, -torch.inf).softmax(dim=-1)[:, far] == 0).all()
