"""Time of the sparse normalizers, forward and backward, against the softmax and the package entmax.

Scores of the shape of a small transformer's, (64, 4, 11, 11), with a mask of lengths, on one
thread. All are timed in turns (A B C A B C ...), in processor time, so that what else the machine
does falls on all, and little on any. The package has no masks: it gets the same scores with the
hidden ones at the lowest number. Before anything is timed, its weights and ours must agree.

    python benchmarks/normalizers.py --repeats 200
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import entmax
import torch
from jaxtyping import Bool, Float
from rows import Row
from torch import Tensor

from attnexp.core.console import plain_table, screen
from attnexp.normalizers.entmax15 import Entmax15
from attnexp.normalizers.softmax import Softmax
from attnexp.normalizers.sparsemax import Sparsemax

SHAPE = (64, 4, 11, 11)
GOAL = 3.0

Normalize = Callable[[Tensor, Tensor], Tensor]


def masked(
    normalize: Callable[..., Tensor],
) -> Callable[[Float[Tensor, "*scores"], Bool[Tensor, "*mask"]], Float[Tensor, "*scores"]]:
    """The package's map behind the masks that ours have."""

    def whole(scores: Tensor, mask: Tensor) -> Tensor:
        lowest = torch.finfo(scores.dtype).min
        return normalize(scores.where(mask, lowest), dim=-1).where(mask, 0.0)

    return whole


RIVALS: dict[str, Normalize] = {
    "softmax": Softmax(heads=4),
    "sparsemax": Sparsemax(heads=4),
    "entmax15": Entmax15(heads=4),
    "package entmax, sparsemax": masked(entmax.sparsemax),
    "package entmax, entmax15": masked(entmax.entmax15),
}


def step(normalize: Normalize, scores: Tensor, mask: Tensor, gradient: Tensor) -> Tensor:
    """One pass forward and one backward; return the gradient of the scores."""
    leaf = scores.detach().requires_grad_()
    normalize(leaf, mask).backward(gradient)
    assert leaf.grad is not None
    return leaf.grad


def check_agreement(scores: Tensor, mask: Tensor) -> None:
    """Raise RuntimeError unless the package's weights and ours are the same."""
    for ours in ("sparsemax", "entmax15"):
        both = RIVALS[ours](scores, mask), RIVALS[f"package entmax, {ours}"](scores, mask)
        gap = (both[0] - both[1]).abs().max().item()
        if gap > 1e-5:
            raise RuntimeError(f"{ours} and the package's differ by {gap:.1e}")


def timings(repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each normalizer, timed in turns."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    scores, gradient = torch.randn(SHAPE), torch.randn(SHAPE)
    mask = torch.arange(SHAPE[-1]) < torch.randint(3, SHAPE[-1] + 1, (SHAPE[0], 1, 1, 1))
    check_agreement(scores, mask)
    seconds: dict[str, list[float]] = {name: [] for name in RIVALS}
    for turn in range(repeats + 5):
        for name, normalize in RIVALS.items():
            start = time.process_time()
            step(normalize, scores, mask, gradient)
            if turn >= 5:  # the first turns warm up
                seconds[name].append(time.process_time() - start)
    return seconds


def rows(quick: bool) -> list[Row]:
    """Return ours against the softmax, and against the package."""
    seconds = timings(20 if quick else 200)
    rivals = {
        "softmax": (f"softmax, PyTorch {torch.__version__}", GOAL),
        "package entmax, {}": (f"entmax {version('entmax')}", 1.0),
    }
    return [
        Row(
            asks=f"{ours}, forward and backward",
            rival=rival,
            ratios=[a / b for a, b in zip(seconds[ours], seconds[key.format(ours)], strict=True)],
            threads=1,
            wanted=wanted,
        )
        for ours in ("sparsemax", "entmax15")
        for key, (rival, wanted) in rivals.items()
    ]


def main() -> int:
    """Time all in turns; return 1 where ours take more than `GOAL` times the softmax's time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    seconds = timings(parser.parse_args().repeats)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    ratios = {name: median / medians["softmax"] for name, median in medians.items()}
    table = plain_table(["normalizer", "ms", "softmax = 1"], right=["ms", "softmax = 1"])
    for name in RIVALS:
        table.add_row(name, f"{1e3 * medians[name]:.3f}", f"{ratios[name]:.2f}")
    screen.out.print(table)
    return int(max(ratios["sparsemax"], ratios["entmax15"]) > GOAL)


if __name__ == "__main__":
    sys.exit(main())
