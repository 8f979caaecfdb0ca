"""The variance of dot products by the number of features."""

from collections.abc import Iterator, Sequence

import torch

from attnexp.scores.dot import Dot
from attnexp.scores.scaled_dot import ScaledDot


def variance_of_scores(
    seed: int, features: Sequence[int], points: int
) -> Iterator[tuple[str, float, float]]:
    """Yield the variance of scores of queries and keys from N(0, I), by the number of features d.

    All pairs of `points` queries and as many keys are scored. `dot over d` is the
    variance of q·k divided by d, and `scaled_dot` that of q·k / sqrt(d): both are 1 for independent
    components with mean 0 and variance 1, whatever d is.
    """
    generator = torch.Generator().manual_seed(seed)
    for d in features:
        q, k = torch.randn(2, points, d, generator=generator)
        yield "dot over d", d, float(Dot(d, d)(q, k).var()) / d
        yield "scaled_dot", d, float(ScaledDot(d, d)(q, k).var())
