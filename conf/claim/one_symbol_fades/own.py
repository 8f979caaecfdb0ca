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
    within these bounds can exceed; at random all are uniform. `bound` is e^(2 bound)/n, at most 1,
    and `largest softmax over bound` the largest of all weights of the softmax over it.
    """
    generator = torch.Generator().manual_seed(seed)
    normalizers = {
        "softmax": Softmax(heads=1),
        "log_length": LogLength(heads=1),
        "sparsemax": Sparsemax(heads=1),
    }
    ratios = []
    for n in keys:
        best = torch.full((1, n), -bound, dtype=torch.float64)
        best[0, 0] = bound
        drawn = 2 * bound * torch.rand(1, n, generator=generator, dtype=torch.float64) - bound
        largest = {}
        for name, normalizer in normalizers.items():
            for kind, scores in (("at best", best), ("at random", drawn)):
                largest[f"{name}, {kind}"] = float(normalizer(scores).max())
        yield from ((curve, n, weight) for curve, weight in largest.items())
        most = math.exp(2 * bound) / n
        yield "bound", n, min(1.0, most)
        ratios += [weight / most for curve, weight in largest.items() if curve[:7] == "softmax"]
    yield "largest softmax over bound", 0, max(ratios)
