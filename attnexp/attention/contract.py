"""The contracts of multi-head attention and of an estimator, as checks that a test can run.

A check of `ATTENTION_CONTRACT` takes a function with the arguments of `MultiHead`, such as a
subclass of it, one of `ESTIMATOR_CONTRACT` a function of `heads`, `query_dim`, `key_dim` and
`input_dim`, such as an estimator's class. Each raises AssertionError with a sentence if the
contract is broken.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.func import functional_call

from attnexp.attention.base import Memory
from attnexp.attention.multihead import AttentionFactory, MultiHead
from attnexp.attention.pooling import comparison
from attnexp.core.masks import causal_mask
from attnexp.estimators.base import Compared, Estimator, EstimatorFactory
from attnexp.scores.contract import (
    MANY_KEYS,
    another_order,
    at_any_parameters,
    is_close,
    require,
    require_close,
    with_other_parameters,
)
from attnexp.scores.scaled_dot import ScaledDot

BATCH, HEADS, LENGTH, DIM = 3, 2, 7, 16

SHOWN = torch.arange(LENGTH) < torch.tensor([LENGTH, 4, 6])[:, None]
"""The symbols of each example that are not padding."""


def made(make: AttentionFactory, kv_heads: int | None = None) -> MultiHead:
    """Return the attention in float64, with the same parameters each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        attention = make(score=ScaledDot, query_dim=DIM, heads=HEADS, kv_heads=kv_heads)
        return attention.double().eval()


def draw_symbols(length: int = LENGTH) -> Tensor:
    """Return random vectors of symbols in float64, of shape (batch, length, dim)."""
    generator = torch.Generator().manual_seed(13)
    return torch.randn(BATCH, length, DIM, generator=generator, dtype=torch.float64)


def attended(
    attention: MultiHead, x: Tensor, shown: Tensor | None = SHOWN
) -> tuple[Tensor, Tensor]:
    """Return the contexts and the weights of causal self-attention, with padding if `shown`."""
    memory = attention.remember(x, x, causal_mask(x.shape[1], x.device, shown))
    context, weights = attention.attend(x, memory)
    assert weights is not None
    return context, weights


def answers_by_its_weights(make: AttentionFactory) -> None:
    """There is a row of weights for each head and query, and asking for them changes no answer."""
    attention, x = made(make), draw_symbols()
    context, weights = attended(attention, x)
    shape = (BATCH, HEADS, LENGTH, LENGTH)
    require(context.shape == x.shape, f"contexts have the shape {tuple(context.shape)}")
    require(weights.shape == shape, f"weights have the shape {tuple(weights.shape)}, not {shape}")
    memory = attention.remember(x, x, causal_mask(LENGTH, x.device, SHOWN))
    without, none = attention.attend(x, memory, need_weights=False)
    require(none is None, "there are weights although none are needed")
    require_close(without, context, "contexts are others when no weights are needed")
    sums = weights @ memory.values
    require_close(attention.joined(sums, x), context, "contexts are not the sums by the weights")


def gives_masked_keys_nothing(make: AttentionFactory) -> None:
    """A masked key has no weight, and its numbers, even NaN, change nothing."""
    attention, x = made(make), draw_symbols()
    context, weights = attended(attention, x)
    seen = causal_mask(LENGTH, x.device, SHOWN).matrix.unsqueeze(1).expand_as(weights)
    require(bool((weights[~seen] == 0).all()), "masked keys have weights")
    for junk in (math.nan, math.inf, 1e30):
        spoilt = x.where(SHOWN.unsqueeze(-1), junk)
        memory = attention.remember(spoilt, spoilt, causal_mask(LENGTH, x.device, SHOWN))
        again, _ = attention.attend(x, memory)
        require_close(again, context, f"padding of {junk} changes contexts")


@at_any_parameters
def passes_over_padding(make: AttentionFactory) -> None:
    """Padding between symbols, as in front of a target, changes nothing: as without it."""
    attention, x = made(make), draw_symbols()
    shown = torch.tensor([True, True, False, True, False, False, True])
    whole, weights = attended(attention, x, shown.expand(BATCH, -1))
    without, own = attended(attention, x[:, shown], shown=None)
    require_close(whole[:, shown], without, "padding between symbols changes contexts")
    found = weights[..., shown, :][..., shown]
    require_close(found, own, "padding between symbols changes weights")


def answers_step_by_step(make: AttentionFactory) -> None:
    """Queries that come one by one, as in decoding, have the contexts of a whole pass."""
    attention, x = made(make), draw_symbols()
    whole, _ = attention.attend(x, attention.remember(x, x, causal_mask(LENGTH, x.device)))
    past: Memory = attention.remember(x[:, :0], x[:, :0])
    for t in range(LENGTH):
        now = x[:, t : t + 1]
        past = past.followed_by(attention.remember(now, now))
        one, _ = attention.attend(now, past)
        require_close(one, whole[:, t : t + 1], f"step {t + 1} alone has another context")


def hides_what_a_bias_hides(make: AttentionFactory) -> None:
    """A key with a bias of minus infinity has no weight, unless values count at the next key.

    An estimator of products uses no bias.
    """
    attention, x = made(make), draw_symbols()
    if attention.estimator.needs_products:
        return
    bias = torch.zeros(HEADS, LENGTH, LENGTH, dtype=x.dtype)
    bias[:, 1:, 0] = -math.inf
    memory = attention.remember(x, x, causal_mask(LENGTH, x.device))
    _, weights = attention.attend(x, memory, bias=bias)
    assert weights is not None
    found = bool((weights[..., 1:, 0] != 0).any())
    require(
        found == attention.mixes_neighbours,
        "a bias of minus infinity leaves a weight"
        if found
        else "mixes_neighbours must be False: a bias of minus infinity leaves no weight",
    )


def shares_keys(make: AttentionFactory) -> None:
    """With one head of keys and values, all heads have the keys of the first."""
    attention, x = made(make, kv_heads=1), draw_symbols()
    memory = attention.remember(x, x)
    require_close(memory.values[:, :1].expand_as(memory.values), memory.values, "values differ")
    context, _ = attended(attention, x)
    require(bool(context.isfinite().all()), "contexts are not finite with kv_heads=1")


def tells_the_truth_about_signs(make: AttentionFactory) -> None:
    """Weights are negative only if `signed`, and then some are."""
    x = 3 * draw_symbols(MANY_KEYS)
    maps = [attended(made(each), x, shown=None)[1] for each in with_other_parameters(make)]
    found = any(bool((weights < 0).any()) for weights in maps)
    declared = made(make).estimator.signed
    require(declared == found, f"signed of its estimator must be {found}")


def has_right_gradients(make: AttentionFactory) -> None:
    """Gradients are those of finite differences, in inputs and parameters."""
    attention = made(make)
    names = list(dict(attention.named_parameters()))
    # without padding: the way around it is a choice that has no derivative
    mask = causal_mask(3, torch.device("cpu"))

    def context(x: Tensor, *values: Tensor) -> Tensor:
        parameters = dict(zip(names, values, strict=True))
        answer, _ = functional_call(attention, parameters, (x, x, x, mask))
        return torch.as_tensor(answer)

    inputs = [draw_symbols()[:1, :3], *attention.parameters()]
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    right = torch.autograd.gradcheck(context, leaves, raise_exception=False, fast_mode=True)
    require(right, "a gradient is not that of finite differences")


def treats_examples_alone(make: AttentionFactory) -> None:
    """The contexts of an example do not depend on the others, also under `torch.func.vmap`."""
    attention, x = made(make), draw_symbols()
    mask = causal_mask(LENGTH, x.device)
    whole, _ = attention(x, x, x, mask)
    for i in range(BATCH):
        alone, _ = attention(*[x[i : i + 1]] * 3, mask)
        require_close(whole[i : i + 1], alone, "an example depends on another")
    several = torch.vmap(lambda one: attention(one[None], one[None], one[None], mask)[0][0])(x)
    require_close(several, whole, "vmap gives other contexts")


def works_in_half_precision(make: AttentionFactory) -> None:
    """In bfloat16 contexts are near those of float64."""
    attention, x = made(make), draw_symbols()
    mask = causal_mask(LENGTH, x.device)
    whole, _ = attention(x, x, x, mask)
    half, _ = attention.bfloat16()(*[x.bfloat16()] * 3, mask)
    scale = float(whole.detach().abs().max())
    require(bool(half.isfinite().all()), "a context in bfloat16 is not finite")
    off = float((half.double() - whole).detach().abs().max())
    require(off < 0.2 * scale, "bfloat16 is far off")


def loads_what_it_saved(make: AttentionFactory) -> None:
    """An attention learns only its parameters: another with equal ones has the same contexts."""
    first, second, x = made(make), made(make), draw_symbols()
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(0.1)
    second.load_state_dict(first.state_dict())
    same = "another with the same parameters has other contexts"
    require_close(attended(second, x)[0], attended(first, x)[0], same)


ATTENTION_CONTRACT: tuple[Callable[[AttentionFactory], None], ...] = (
    answers_by_its_weights,
    gives_masked_keys_nothing,
    passes_over_padding,
    answers_step_by_step,
    hides_what_a_bias_hides,
    shares_keys,
    tells_the_truth_about_signs,
    has_right_gradients,
    treats_examples_alone,
    works_in_half_precision,
    loads_what_it_saved,
)


def estimated(make: EstimatorFactory) -> tuple[Estimator, Tensor, Compared]:
    """Return an estimator, weights of unmasked keys, and the queries and keys."""
    attention, x = made(partial(MultiHead, estimator=make)), draw_symbols(MANY_KEYS)
    memory, queries = attention.remember(x, x), attention.split(attention.W_q(x))
    scores = attention.score.compare(attention.score.project_queries(queries), memory.keys)
    weights = scores if attention.estimator.needs_products else scores.softmax(dim=-1)
    return attention.estimator, weights, comparison(attention.mechanism, queries, memory)


def sums_to_one_as_declared(make: EstimatorFactory) -> None:
    """If `sums_to_one`, effective weights sum to 1, also of weights that sum to less."""
    found = True
    for each in with_other_parameters(make):
        estimator, weights, compared = estimated(each)
        sums = estimator(0.5 * weights, compared).sum(dim=-1)
        found &= is_close(sums, torch.ones_like(sums))
    require(estimator.sums_to_one == found, f"sums_to_one must be {found}")


def is_causal_as_declared(make: EstimatorFactory) -> None:
    """Keys in another order have their effective weights in that order, unless `causal`."""
    found, order = False, another_order(MANY_KEYS)
    for each in with_other_parameters(make):
        estimator, weights, compared = estimated(each)
        kept = None if compared.kept is None else compared.kept[..., order, :]
        moved = estimator(
            weights[..., order], compared._replace(keys=compared.keys[..., order, :], kept=kept)
        )
        found |= not is_close(moved, estimator(weights, compared)[..., order])
    require(estimator.causal == found, f"causal must be {found}: the order of keys matters, or not")


@at_any_parameters
def takes_heads_as_declared(make: EstimatorFactory) -> None:
    """If `by_head`, the effective weights of a query follow from its own row in the head."""
    estimator, weights, compared = estimated(make)
    if not estimator.by_head:
        return
    whole = estimator(weights, compared)
    row = compared._replace(queries=compared.queries[..., 2:3, :])
    one = estimator(weights[..., 2:3, :], row)
    require_close(one, whole[..., 2:3, :], "by_head must be False: a row depends on others")
    kept = None if compared.kept is None else compared.kept[:, :1]
    head = Compared(compared.queries[:, :1], compared.keys[:, :1], kept, None)
    alone = estimator(weights[:, :1], head)
    require_close(alone, whole[:, :1], "by_head must be False: heads depend on each other")


def _as_attention(
    check: Callable[[AttentionFactory], None],
) -> Callable[[EstimatorFactory], None]:
    def of_estimator(make: EstimatorFactory) -> None:
        check(partial(MultiHead, estimator=make))

    of_estimator.__name__, of_estimator.__doc__ = check.__name__, check.__doc__
    return of_estimator


ESTIMATOR_CONTRACT: tuple[Callable[[EstimatorFactory], None], ...] = (
    *map(_as_attention, ATTENTION_CONTRACT),
    sums_to_one_as_declared,
    is_causal_as_declared,
    takes_heads_as_declared,
)
"""An estimator in `MultiHead` meets the contract of attention, and its declarations are true."""
