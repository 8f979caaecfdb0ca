"""Facts of a row that show when its score or normalizer is built, in a process of its own.

Its nearest relative is the shipped choice whose weights differ least from its own, and its score
may be made of products.
"""

from collections.abc import Sequence
from dataclasses import replace

from attnexp.cards.rows import BASELINES, CardRow
from attnexp.config.groups import choices
from attnexp.core.own_process import in_own_process

SECONDS = 120.0
"""The most seconds that the comparison may take."""

ROWS, KEYS, DIM = 64, 16, 16
"""Rows of weights that are compared, their keys, and the features of a query and a key."""

SAME = 1e-6
"""The total variation up to which weights are the same."""


def nearest_relative(row: CardRow, config_dir_words: Sequence[str]) -> list[str] | None:
    """Return the words of the nearest relative of a row, None if it has none.

    It is sought among the shipped normalizers if the row has one of its own, else among the scores,
    and is not a baseline. None too if the row has both usual choices, or cannot be built.
    """
    given = dict(word.partition("=")[::2] for word in row.words)
    usual = {word for words in BASELINES for word in words}
    for group, common in (("normalizer", "softmax"), ("model", "scaled_dot")):
        own = given[group]
        if own == common:
            continue
        others = [
            choice.name
            for choice in choices(group)
            if choice.name not in (own, common) and f"{group}={choice.name}" not in usual
        ]
        try:
            name = in_own_process(SECONDS, nearest, config_dir_words, row.words, group, others)
        except Exception:  # code of one's own may raise anything: the trials say what
            return None
        settings = {n: v for n, v in given.items() if not n.startswith(f"{group}.")}
        return [f"{n}={v}" for n, v in (settings | {group: name}).items()]
    return None


def with_products(row: CardRow, config_dir_words: Sequence[str]) -> CardRow:
    """Return a row that knows whether its score is made of products; no, if it cannot be built."""
    try:
        found = in_own_process(SECONDS, makes_products, config_dir_words, row.words)
    except Exception:  # code of one's own may raise anything: the trials say what
        found = False
    return replace(row, of_products=found)


def makes_products(config_dir_words: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the score of a row is made of products."""
    from attnexp.config.build import make_score
    from attnexp.config.compose import CommandLine

    score = [word for word in words if word.startswith(("model=", "model."))]
    job = CommandLine.read([*config_dir_words, *score]).compose()
    assert job is not None
    return make_score(job, DIM, DIM).of_products


def nearest(
    config_dir_words: Sequence[str], words: Sequence[str], group: str, others: Sequence[str]
) -> str:
    """Return the choice of a group whose weights have the least mean total variation from a row's.

    Scores are of standard normal queries and keys, with the parameters of seed 0, and twice a
    standard normal number for normalizers. A choice with the same weights and as many parameters is
    the same function by another name, and left out. For a row with learned parameters the others
    are left out too, if there are any with them.
    """
    import torch

    from attnexp.config.build import make_normalizer, make_score
    from attnexp.config.compose import CommandLine

    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(ROWS, KEYS, generator=generator)
    queries = torch.randn(ROWS, 1, DIM, generator=generator)
    keys = torch.randn(ROWS, KEYS, DIM, generator=generator)

    @torch.no_grad()
    def made(given: Sequence[str]) -> tuple[torch.Tensor, int]:
        job = CommandLine.read([*config_dir_words, *given]).compose()
        assert job is not None
        module: torch.nn.Module
        if group == "normalizer":
            module = make_normalizer(job)
            weights = module(scores)
        else:
            module = make_score(job, DIM, DIM)
            weights = torch.softmax(module(queries, keys), dim=-1)
        return weights, sum(parameter.numel() for parameter in module.parameters())

    own, number = made(words)
    kept = [word for word in words if not word.startswith((f"{group}=", f"{group}."))]
    distances, learns = {}, {}
    for name in others:
        weights, count = made([*kept, f"{group}={name}"])
        distance = float((weights - own).abs().sum(dim=-1).mean()) / 2
        if distance > SAME or count != number:
            distances[name], learns[name] = distance, count > 0
    alike = [name for name in distances if learns[name]] if number else []
    return min(alike or distances, key=distances.__getitem__)
