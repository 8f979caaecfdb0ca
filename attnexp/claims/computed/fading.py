"""The largest weight that a bounded score can give to one of n keys."""

import math
from collections.abc import Iterator, Sequence

import torch

from attnexp.normalizers.log_length import LogLength
from attnexp.normalizers.softmax import Softmax
from attnexp.normalizers.sparsemax import Sparsemax


def one_symbol_fades(
    seed: int, bound: float, keys: Sequence[int]
) -> Iterator[tuple[str, float, float]]:
    """Yield the largest weight of n scores within -bound to bound, by n, for three normalizers.

    Two sets of scores: at best one score is `bound` and all others are -bound, which no scores
    within these bounds can exceed; at random all are uniform. `softmax over e^(2c)/n` is the larger
    of the two largest weights of the softmax over the bound that is claimed for them.
    """
    generator = torch.Generator().manual_seed(seed)
    normalizers = {
        "softmax": Softmax(heads=1),
        "log_length": LogLength(heads=1),
        "sparsemax": Sparsemax(heads=1),
    }
    for n in keys:
        best = torch.full((1, n), -bound, dtype=torch.float64)
        best[0, 0] = bound
        drawn = 2 * bound * torch.rand(1, n, generator=generator, dtype=torch.float64) - bound
        largest = {}
        for name, normalizer in normalizers.items():
            for kind, scores in (("at best", best), ("at random", drawn)):
                largest[f"{name}, {kind}"] = float(normalizer(scores).max())
        yield from ((curve, n, weight) for curve, weight in largest.items())
        softmax = max(largest["softmax, at best"], largest["softmax, at random"])
        yield "softmax over e^(2c)/n", n, softmax * n / math.exp(2 * bound)
