"""How time and memory grow with the number of points, the hidden size and the sequence length.

Attention as the textbook writes it, softmax(a(Q, K)) V with all scores at once, against ours,
forward and backward on one thread. Each measurement runs in a process of its own, so that its most
memory is its own. A line ends before what takes more than `MEMORY`, and after a step of more than
`PATIENCE` seconds. Draws docs/images/growth.png:

    python benchmarks/growth.py
"""

import math
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import matplotlib
import torch
from rows import ROOT
from torch import Tensor

from attnexp.attention.pooling import AttentionPooling
from attnexp.plots.style import line_styles, save, style_context
from attnexp.scores.additive import Additive
from attnexp.scores.base import Score
from attnexp.scores.scaled_dot import ScaledDot

PICTURE = ROOT / "docs" / "images" / "growth.png"

MEMORY = 3 * 2**30
"""The most bytes of data that a process may have."""

PATIENCE = 2.0
"""The seconds of a step after which a line ends."""

BUDGET = 0.1
"""Seconds for which steps are repeated; the fastest counts."""

UNSEEN = 2.0
"""MiB below which the memory of a step is not told from that of the process."""

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Sizes:
    """A batch of sequences of a length, and the size of queries, keys and hidden layers."""

    batch: int
    length: int
    hidden: int


GROWTHS: dict[str, dict[int, Sizes]] = {
    "points, hidden size 16": {2**k: Sizes(1, 2**k, 16) for k in range(6, 16)},
    "hidden size, 4 x 128 queries": {2**k: Sizes(4, 128, 2**k) for k in range(3, 10)},
    "length, batch 16, hidden size 64": {2**k: Sizes(16, 2**k, 64) for k in range(3, 12)},
}
"""What grows, by its name on the axis, and the sizes by their place there."""


def textbook_additive(score: Additive) -> Attend:
    """Return softmax(w_v' tanh(W_q q + W_k k)) V."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        hidden = torch.tanh(score.W_q(queries).unsqueeze(2) + score.W_k(keys).unsqueeze(1))
        return torch.softmax(score.w_v(hidden).squeeze(-1), dim=-1) @ values

    return attend


def textbook_dot(score: ScaledDot) -> Attend:
    """Return softmax(Q K' / sqrt(d)) V."""
    return lambda queries, keys, values: (
        torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), dim=-1) @ values
    )


def ours(score: Score) -> Attend:
    """Return attention pooling as a model calls it that does not look at the weights."""

    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        pooling = AttentionPooling(score, values.shape[-1])
        return pooling(queries, keys, values, need_weights=False)[0]

    return attend


def additive(hidden: int) -> Additive:
    """Return the additive score."""
    return Additive(hidden, hidden, hidden)


def scaled_dot(hidden: int) -> ScaledDot:
    """Return the scaled dot product."""
    return ScaledDot(hidden, hidden)


LINES: dict[str, tuple[Callable, Callable]] = {
    "additive, textbook": (additive, textbook_additive),
    "additive, attnexp": (additive, ours),
    "scaled_dot, textbook": (scaled_dot, textbook_dot),
    "scaled_dot, attnexp": (scaled_dot, ours),
}
"""The lines of each picture: the score, and how it attends."""


def measure(name: str, batch: int, length: int, hidden: int) -> tuple[float, float]:
    """Return the seconds of a step forward and backward, and the MiB that steps add at most.

    Raises RuntimeError if the memory does not suffice.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    make_score, make_attend = LINES[name]
    attend = make_attend(make_score(hidden))

    def step(length: int) -> float:
        inputs = [torch.randn(batch, length, hidden, requires_grad=True) for _ in range(3)]
        begin = time.process_time()
        attend(*inputs).sum().backward()
        return time.process_time() - begin

    step(2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = [step(length)]
    while sum(times) < BUDGET:
        times.append(step(length))
    return min(times), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10


def points(name: str, sizes: dict[int, Sizes]) -> Iterator[tuple[int, float, float]]:
    """Yield place, seconds and MiB, as far as a line goes."""
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for place, own in sizes.items():
            try:
                seconds, memory = pool.apply(measure, (name, *astuple(own)))
            except RuntimeError:
                return
            yield place, seconds, memory
            if seconds > PATIENCE:
                return


def main() -> None:
    """Measure everything, print it, and draw the picture."""
    matplotlib.use("agg")
    from matplotlib.figure import Figure

    with style_context():
        figure = Figure(figsize=(11, 6), layout="constrained")
        rows = figure.subplots(2, len(GROWTHS), sharex="col")
        for column, (what, sizes) in enumerate(GROWTHS.items()):
            for name, line in zip(LINES, line_styles(len(LINES)), strict=True):
                found = list(points(name, sizes))
                for place, seconds, memory in found:
                    print(f"{what}: {place}, {name}: {1e3 * seconds:.3g} ms, {memory:.0f} MiB")
                seen = [(place, memory) for place, _, memory in found if memory > UNSEEN]
                label = name if column == 0 else None
                rows[0][column].plot(*list(zip(*found, strict=True))[:2], label=label, **line)
                rows[1][column].plot(*zip(*seen, strict=True) if seen else ((), ()), **line)
            rows[1][column].set_xlabel(what)
        rows[0][0].set_ylabel("seconds, forward and backward")
        rows[1][0].set_ylabel("memory, MiB")
        for axes in rows.flat:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_major_formatter("{x:g}")
        figure.legend(loc="outside upper center", ncols=len(LINES))
        figure.draw_without_rendering()
        save(figure, [PICTURE])


if __name__ == "__main__":
    main()
