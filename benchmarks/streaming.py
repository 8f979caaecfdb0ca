"""Attention by tiles against the dense formula, PyTorch's fused kernel and KeOps, on one thread.

Each row times us and a rival in turns (A B A B ...), in processor time, and shows the median and
the spread of the ratios, pair by pair. Before anything is timed, results must agree. Memory is the
most that a process of its own has in use, less what it had before the call. KeOps compiles its
kernel with the C++ compiler of the machine; without `pip install pykeops` its rows are missing. It
exits with 1 where a bound is broken.

    python benchmarks/streaming.py --repeats 5
"""

import argparse
import importlib.util
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import torch
import torch.nn.functional as F
from rows import HEADS, Row, in_turns
from torch import Tensor, nn

from attnexp.attention import pooling
from attnexp.attention.streaming import stream_products
from attnexp.core.console import plain_table, screen
from attnexp.core.masks import LeaveOneOut
from attnexp.scores.additive import Additive
from attnexp.scores.gaussian import Gaussian
from attnexp.training.device import prepare_processor

BATCH, LENGTH, HIDDEN = 4, 256, 128
FEATURES = BATCH * LENGTH**2 * HIDDEN
POINTS, WIDTH = 16_000, 40.0

ADDITIVE, MEMORY, KEOPS = 2.4, 1 / 16, 10.0
"""The bounds: times as fast as the textbook, the share of its memory, times as fast as KeOps."""

Work = Callable[[], Tensor]


class TextbookAdditive(nn.Module):
    """The additive attention of Dive into Deep Learning 1.0, section 11.3.3, without dropout."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.W_k = nn.Linear(dim, hidden, bias=False)
        self.W_q = nn.Linear(dim, hidden, bias=False)
        self.w_v = nn.Linear(hidden, 1, bias=False)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        features = torch.tanh(self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1))
        return torch.bmm(self.w_v(features).squeeze(-1).softmax(dim=-1), values)


def additive(length: int = LENGTH) -> tuple[Work, Work]:
    """Ours and the textbook's, forward and backward; each returns the gradient of the queries."""
    torch.manual_seed(0)
    queries, keys, values = (torch.randn(BATCH, length, 64) for _ in range(3))
    ours, theirs = (
        pooling.AttentionPooling(Additive(64, 64, HIDDEN), 64),
        TextbookAdditive(64, HIDDEN),
    )
    theirs.load_state_dict({k.removeprefix("score."): v for k, v in ours.state_dict().items()})

    def gradient(attend: Callable[[Tensor], Tensor]) -> Tensor:
        leaf = queries.detach().requires_grad_()
        attend(leaf).square().sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    return (
        lambda: gradient(lambda q: ours(q, keys, values, need_weights=False)[0]),
        lambda: gradient(lambda q: theirs(q, keys, values)),
    )


def line(points: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = (5 * torch.rand(1, points, 1, generator=generator)).sort(dim=1).values
    return x, x.sin()


def kernel(points: int = POINTS) -> Work:
    """Gaussian kernel regression at its own points."""
    x, y = line(points)
    score = Gaussian(1, 1, WIDTH)
    return lambda: stream_products(score, x, x, y, None)


def fused() -> Work:
    """The same by PyTorch's kernel, which wants values as wide as queries, and four axes."""
    x, y = line(POINTS)
    queries, keys = Gaussian(1, 1, WIDTH).as_dot_product(x, x)
    wide = F.pad(y, (0, 1))[None]
    attend = F.scaled_dot_product_attention
    return lambda: attend(queries[None], keys[None], wide, scale=1.0)[0, ..., :1]


def dense() -> Work:
    """The same by the formula, 500 rows of the matrix at a time."""
    x, y = line(POINTS)

    def rows(some: Tensor) -> Tensor:
        return (-(WIDTH**2) / 2 * (some - x.mT).square()).softmax(dim=-1) @ y

    return lambda: torch.cat([rows(some) for some in x.split(500, dim=1)], dim=1)


def keops(order: Tensor) -> Work:
    """The same by KeOps, whose time depends on the order of the keys."""
    from pykeops.torch import LazyTensor

    x, y = (each[:, order] for each in line(POINTS))
    scores = -((LazyTensor(x[0, :, None]) - LazyTensor(x[0, None])) ** 2).sum(-1) * (WIDTH**2 / 2)
    return lambda: scores.sumsoftmaxweight(LazyTensor(y[0, None]), axis=1)[None]


def width(points: int = POINTS) -> Work:
    """The leave-one-out gradient of a width."""
    x, y = line(points)

    def gradient() -> Tensor:
        score = Gaussian(1, 1, "learned", initial_width=WIDTH)
        context = stream_products(score, x, x, y, LeaveOneOut(torch.arange(points), points))
        (context - y).square().mean().backward()
        assert isinstance(score.width, Tensor)
        assert score.width.grad is not None
        return score.width.grad

    return gradient


def dense_width() -> Work:
    """The same by the formula and autograd, 500 rows of the matrix at a time."""
    x, y = line(POINTS)
    own = torch.arange(POINTS)

    def gradient() -> Tensor:
        learned = torch.tensor(WIDTH, requires_grad=True)
        for some in own.split(500):
            scores = -(learned**2) / 2 * (x[:, some] - x.mT).square()
            weights = scores.masked_fill(own == some[:, None], -math.inf).softmax(dim=-1)
            ((weights @ y - y[:, some]).square().sum() / POINTS).backward()
        assert learned.grad is not None
        return learned.grad

    return gradient


def in_cache(function: Callable[..., Tensor], count: int) -> Work:
    """A bare loop over so many exponentials, ... on 64 K numbers that stay in the cache."""
    numbers = torch.linspace(-4, 0, 2**16)
    result = torch.empty_like(numbers)

    def loop() -> Tensor:
        for _ in range(count // 2**16):
            function(numbers, out=result)
        return result

    return loop


def product() -> Work:
    """A bare product of matrices with as many multiplications as q.k and w.v have."""
    side = round((3 * POINTS**2) ** (1 / 3))
    left, right = torch.randn(side, side), torch.randn(side, side)
    return lambda: left @ right


def seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def memory(side: int) -> float:
    """MB that the additive attention takes in a process of its own: 0 for ours, 1 for theirs."""
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); import streaming\n"
        "streaming.prepare_processor(1)\n"
        "streaming.pooling.LARGE = 2**10  # what a first call loads is not counted\n"
        f"streaming.additive(64)[{side}]()\n"
        f"print(streaming.peak(streaming.additive()[{side}]))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(answer.stdout)


def peak(work: Work) -> float:
    """MB by which the most memory in use grows in a call, on Linux."""
    before = most_memory()
    work()
    return most_memory() - before


def most_memory() -> float:
    """The most memory that the process has had in use, in MB. `getrusage` counts its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Our work and a rival's. `same` says that both have the same result, `wanted` is the bound."""

    what: str
    ours: Work
    rival: str
    theirs: Work
    same: bool = True
    wanted: float | None = None


def pairs() -> list[Pair]:
    """All that is timed; without KeOps two fewer, which is said."""
    ours, theirs = additive()
    attention = "additive score, 4 x 256 x 256, hidden 128, forward and backward"
    points = f"Gaussian kernel at {POINTS:,} points"
    found = [
        Pair(what=attention, ours=ours, rival="textbook", theirs=theirs, wanted=ADDITIVE),
        *(
            Pair(
                what=attention,
                ours=ours,
                rival=f"as many {function.__name__} in the cache, once",
                theirs=in_cache(function, FEATURES),
                same=False,
            )
            for function in (torch.tanh, torch.sigmoid)
        ),
        Pair(what=points, ours=kernel(), rival="fused attention", theirs=fused()),
        Pair(what=points, ours=kernel(), rival="the formula, 500 rows at a time", theirs=dense()),
        Pair(
            what=points,
            ours=kernel(),
            rival="as many exp in the cache, once",
            theirs=in_cache(torch.exp, POINTS**2),
            same=False,
        ),
        Pair(
            what=points,
            ours=kernel(),
            rival="a product of matrices with as many multiplications",
            theirs=product(),
            same=False,
        ),
        Pair(
            what=f"leave-one-out gradient of a width, {POINTS:,} points",
            ours=width(),
            rival="the formula and autograd, 500 rows at a time",
            theirs=dense_width(),
        ),
    ]
    if importlib.util.find_spec("pykeops") is None:
        print("KeOps is not installed, so that its rows are missing: pip install pykeops")
        return found
    release = f"KeOps {version('pykeops')}"
    orders = (
        ("in order", torch.arange(POINTS), True),
        ("in no order", torch.randperm(POINTS), False),
    )
    for name, order, same in orders:
        found.append(
            Pair(
                what=points,
                ours=kernel(),
                rival=f"{release}, points {name}",
                theirs=keops(order),
                same=same,
                wanted=KEOPS,
            )
        )
    return found


def measure(repeats: int) -> list[Row]:
    """Check that results agree, and return how many times as fast we are, pair by pair."""
    prepare_processor(1)
    found = []
    for pair in pairs():
        if pair.same:
            torch.testing.assert_close(pair.ours(), pair.theirs(), atol=5e-4, rtol=1e-2)
        turns = in_turns(partial(seconds, pair.ours), partial(seconds, pair.theirs), repeats)
        found.append(
            Row(
                asks=f"{pair.what}, times as fast",
                rival=pair.rival,
                ratios=[theirs / ours for ours, theirs in turns],
                threads=1,
                wanted=pair.wanted,
                more_is_better=True,
            )
        )
    return found


def rows(quick: bool) -> list[Row]:
    """Return all pairs, and the extra memory of the additive score against the textbook's."""
    extra = Row(
        asks="additive score, extra memory",
        rival="textbook",
        ratios=[memory(0) / memory(1) for _ in range(1 if quick else 3)],
        threads=1,
        wanted=MEMORY,
    )
    return [*measure(1 if quick else 5), extra]


def main() -> int:
    """Print all rows; return 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    table = plain_table(HEADS, right=HEADS[2:])
    found = measure(parser.parse_args().repeats)
    mine, theirs = memory(0), memory(1)
    asks = f"additive score, {mine:.0f} MB of extra memory against {theirs:.0f}"
    found.append(Row(asks=asks, rival="textbook", ratios=[mine / theirs], threads=1, wanted=MEMORY))
    for row in found:
        table.add_row(*row.cells())
    screen.out.print(table)
    return int(not all(row.met for row in found))


if __name__ == "__main__":
    sys.exit(main())
