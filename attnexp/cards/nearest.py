"""Builds the parts of a row in another process to find its nearest relative.

The nearest relative is the shipped choice whose weights differ least from the row's. Whether scores
are products is found in the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from attnexp.cards.lines import job_of
from attnexp.cards.rows import BASELINES, CardRow
from attnexp.config.groups import choices
from attnexp.core.errors import RequestError, RunFailedError
from attnexp.sweeps.own_process import in_own_process

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Result = TypeVar("Result")

SECONDS = 120.0
"""The time limit for building and comparing the parts of a row."""

ROWS, KEYS, DIM = 64, 16, 16
"""Rows of compared weights, keys of each row, and features of a query and a key."""

COMMON = {"normalizer": "softmax", "model": "scaled_dot", "estimator": "local_constant"}
"""The usual choice of each group that may have a relative, in the order of the search."""

SAME = 1e-6
"""The total variation up to which weights are the same."""


def nearest_relative(row: CardRow, config_dir_words: Sequence[str]) -> list[str] | None:
    """Return the settings of a row's nearest relative, None for a row of usual choices only.

    The candidates are the shipped choices of the first group in which the row is unusual, without
    baselines. For an estimator, normalizers are candidates too. Raises RequestError for a row whose
    weights cannot be computed, and RunFailedError if the other process dies or takes too long.
    """
    given = dict(word.partition("=")[::2] for word in row.words)
    usual = {word for words in BASELINES for word in words}
    unusual = (group for group, common in COMMON.items() if given.get(group, common) != common)
    if (group := next(unusual, None)) is None:
        return None
    kept = {n: v for n, v in given.items() if n != group and not n.startswith(f"{group}.")}
    candidates = [
        _words(kept | {other: choice.name})
        for other in ([group, "normalizer"] if group == "estimator" else [group])
        for choice in choices(other)
        if choice.name not in (COMMON[other], given.get(other))
        and f"{other}={choice.name}" not in usual
    ]
    what = f"the nearest relative of {row.label} is not found (--baseline names another)"
    return _computed(what, nearest, config_dir_words, row.words, candidates, group)


def with_products(row: CardRow, config_dir_words: Sequence[str]) -> CardRow:
    """Return a row with its `of_products` set.

    Raises RequestError for a score that cannot be built, and RunFailedError if the other process
    dies or takes too long.
    """
    what = f"the score of {row.label} is not built"
    found = _computed(what, makes_products, config_dir_words, row.words)
    return replace(row, of_products=found)


def _computed(what: str, function: Callable[..., Result], *arguments: object) -> Result:
    """Return a function's result, computed in another process.

    Messages begin with `what`, except those of a RequestError.
    """
    try:
        return in_own_process(SECONDS, function, *arguments)
    except RuntimeError as error:
        raise RequestError(f"{what}: {error}") from error
    except (TimeoutError, ChildProcessError, RunFailedError) as error:
        raise RunFailedError(f"{what}: {error}") from error


def makes_products(config_dir_words: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the scores of a row are products."""
    from attnexp.config.build import make_score

    score = [word for word in words if _group(word) == "model"]
    return bool(make_score(job_of([*config_dir_words, *score]), DIM, DIM).of_products)


def nearest(
    config_dir_words: Sequence[str],
    words: Sequence[str],
    candidates: Sequence[list[str]],
    group: str,
) -> list[str]:
    """Return the candidate whose weights have the least mean total variation from a row's.

    Queries and keys are standard normal, and parameters are of seed 0; normalizers get twice
    standard normal scores. Estimators are compared by effective weights, with a causal mask if the
    row needs one. A candidate with the same weights and as many parameters is the same function by
    another name, and left out. For a row with parameters, candidates with parameters come first.
    Candidates that do not fit the row are left out.

    Raises RequestError or ValueError for a row that cannot be built.
    """
    built = partial(_built, config_dir_words, group)
    subject = built(words)
    causal = _is_causal(subject)
    own, number = _weights(subject, group, causal), _size(subject)
    found = []
    for candidate in candidates:
        try:
            module = built(candidate)
        except (RequestError, ValueError):
            continue
        if _is_causal(module) and not causal:
            continue
        distance = float((_weights(module, group, causal) - own).abs().sum(dim=-1).mean()) / 2
        if distance > SAME or _size(module) != number:
            found.append((distance, candidate, _size(module)))
    alike = [one for one in found if one[2]] if number else []
    return min(alike or found, key=itemgetter(0))[1]


def _built(config_dir_words: Sequence[str], group: str, words: Sequence[str]) -> "Module":
    """Return the normalizer, the score or, for an estimator, the attention of a row."""
    from attnexp.config.build import make_attention, make_normalizer, make_score

    parts = [word for word in words if _group(word) in COMMON]  # not arch, which trials choose
    job = job_of([*config_dir_words, *parts])
    if group == "normalizer":
        return make_normalizer(job)
    return make_score(job, DIM, DIM) if group == "model" else make_attention(job, DIM)


def _is_causal(module: "Module") -> bool:
    """Return whether a module is an attention that needs a causal mask."""
    from attnexp.attention.pooling import AttentionPooling

    return isinstance(module, AttentionPooling) and module.estimator.causal


def _weights(module: "Module", group: str, causal: bool) -> "Tensor":
    """Return the weights that a module computes from random numbers of a fixed seed.

    `causal` gives an attention a causal mask.
    """
    import torch

    from attnexp.core.masks import causal_mask

    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(ROWS, KEYS, generator=generator)
    queries = torch.randn(ROWS, 1, DIM, generator=generator)
    keys = torch.randn(ROWS, KEYS, DIM, generator=generator)
    each = torch.randn(ROWS, KEYS, DIM, generator=generator)
    with torch.no_grad():
        if group == "normalizer":
            return module(scores)
        if group == "model":
            return module(queries, keys).softmax(dim=-1)
        return module(each, keys, keys, causal_mask(KEYS, each.device) if causal else None)[1]


def _size(module: "Module") -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _group(word: str) -> str:
    return word.lstrip("+~").partition("=")[0].partition(".")[0]


def _words(settings: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]
