"""Time of estimators and of what is around the heads against plain attention.

All are timed forward and backward, in turns (A B A B ...), in processor time, on one thread. A
training step is that of `arch=decoder_only` with two layers of four heads and 64 features, for
sources and targets that make 11 symbols, 64 examples at a time, with Adam.

    python benchmarks/estimators.py --repeats 50
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from rows import Row
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.attention.differential import Differential
from attnexp.attention.gated import Gated
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.attention.shifted import Shifted
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.core.console import plain_table, screen
from attnexp.core.masks import LeaveOneOut, causal_mask
from attnexp.estimators.delta import Delta
from attnexp.estimators.forgetting import Forgetting
from attnexp.estimators.gated_delta import GatedDelta
from attnexp.estimators.local_constant import LocalConstant
from attnexp.estimators.local_linear import LocalLinear
from attnexp.estimators.path import Path
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot

POINTS, MANY, STEP = 1000, 2**18, 512
KEYS, MOST_KEYS = 1000, 16_000
DIM, HEADS, EXAMPLES, SOURCE, TARGET = 64, 4, 64, 5, 6

Work = Callable[[], Tensor]
"""Computes a number, of which the gradient is taken."""


def curve(estimator: type, points: int, queries: int) -> Work:
    """Return leave-one-out regression of some of the points on all, in one dimension."""
    x = 5 * torch.rand(1, points, 1)
    y, some = x.sin(), x[:, :queries]
    attention = AttentionPooling(Gaussian(1, 1, width="learned"), 1, estimator=estimator)
    with torch.no_grad():
        attention.score.width.fill_(float(points) ** 0.4)
    mask = LeaveOneOut(torch.arange(queries), points)
    return lambda: attention(some, x, y, mask, need_weights=False)[0].square().sum()


def self_attention(length: int, make: Callable[..., MultiHead], **settings: object) -> Work:
    """Return causal self-attention to 64 features, without projections of the output's gradient."""
    examples = EXAMPLES if length < 64 else 8
    x = torch.randn(examples, length, DIM, requires_grad=True)
    attention, mask = make(ScaledDot, DIM, heads=HEADS, **settings), causal_mask(length, x.device)
    return lambda: attention(x, x, x, mask, need_weights=False)[0].square().sum()


def one_head(length: int, make: Callable[..., MultiHead]) -> Callable[[], None]:
    """Return causal self-attention of one head of 64 features to one sequence, without gradient."""
    x = torch.randn(1, length, DIM)
    attention, mask = make(ScaledDot, DIM, heads=1), causal_mask(length, x.device)
    return torch.no_grad()(lambda: attention(x, x, x, mask, need_weights=False))


def step(**settings: object) -> Callable[[], None]:
    """Return a training step of a causal stack."""
    vocab = tuple("pbe0123456789")
    spec = Seq2SeqSpec(vocab, vocab, SOURCE, TARGET, pad=0, bos=1, eos=2)
    model = DecoderOnly(spec, ScaledDot, dim=DIM, heads=HEADS, **settings)  # type: ignore[arg-type]
    source = torch.randint(3, len(vocab), (EXAMPLES, SOURCE))
    target = torch.randint(3, len(vocab), (EXAMPLES, TARGET))
    counts = torch.ones_like(target, dtype=torch.bool)
    mask = torch.ones(EXAMPLES, 1, SOURCE, dtype=torch.bool)
    batch = Batch(target, source, source, target, mask, counts)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def update() -> None:
        optimizer.zero_grad()
        cross_entropy(model(batch).outputs.flatten(0, 1), target.flatten()).backward()
        optimizer.step()

    return update


def passed(work: Work) -> Callable[[], None]:
    """Return a pass forward and backward."""
    return lambda: work().backward()


def cases() -> Mapping[str, tuple[Callable[[], None], Callable[[], None], float]]:
    """Return each case: ours, plain attention, and the most times of its time that is asked."""
    torch.manual_seed(0)
    short = partial(self_attention, SOURCE + TARGET)
    linear = partial(MultiHead, estimator=LocalLinear)
    long = partial(self_attention, 256)
    pairs: dict[str, tuple[Any, Any, float]] = {
        "local_linear, 1,000 points": (
            passed(curve(LocalLinear, POINTS, POINTS)),
            passed(curve(LocalConstant, POINTS, POINTS)),
            3.0,
        ),
        "local_linear, 512 queries of 262,144 points, by tiles": (
            passed(curve(LocalLinear, MANY, STEP)),
            passed(curve(LocalConstant, MANY, STEP)),
            float("inf"),
        ),
        "local_linear, attention 64 x 4 x 11 x 11": (
            passed(short(linear)),
            passed(short(MultiHead)),
            8.0,
        ),
        "local_linear, training step": (step(estimator=LocalLinear), step(), 3.0),
        "delta, attention of length 256": (
            passed(long(partial(MultiHead, estimator=Delta))),
            passed(long(MultiHead)),
            4.0,
        ),
        "gated, training step": (step(attention=Gated), step(), 1.3),
        "differential, training step": (step(attention=Differential), step(), float("inf")),
        "kv_heads=1, training step": (step(kv_heads=1), step(), 1.0),
        "window=8, training step": (step(window=8), step(), 1.0),
    }
    of_the_year: dict[str, Callable[..., MultiHead]] = {
        "forgetting": partial(MultiHead, estimator=Forgetting),
        "gated_delta": partial(MultiHead, estimator=GatedDelta),
        "path": partial(MultiHead, estimator=Path),
        "shifted": Shifted,
    }
    for name, make in of_the_year.items():
        pairs[f"{name}, {KEYS:,} keys"] = (
            passed(self_attention(KEYS, make)),
            passed(self_attention(KEYS, MultiHead)),
            float("inf"),
        )
        pairs[f"{name}, {MOST_KEYS:,} keys, one head, forward"] = (
            one_head(MOST_KEYS, make),
            one_head(MOST_KEYS, MultiHead),
            float("inf"),
        )
    return pairs


def timings(repeats: int) -> dict[str, tuple[list[float], list[float], float]]:
    """Return the seconds of each case, ours and plain in turns, and the ratio that is asked."""
    torch.set_num_threads(1)
    found = {}
    for name, (ours, plain, most) in cases().items():
        largest = f"{MOST_KEYS:,}" in name
        large = f"{MANY:,}" in name or f"{KEYS:,}" in name
        count = max(3, repeats // 10) if large else 1 if largest else repeats
        first = 0 if largest else 3  # the first turns warm up
        seconds: tuple[list[float], list[float]] = ([], [])
        for turn in range(first + count):
            for taken, work in zip(seconds, (ours, plain), strict=True):
                start = time.process_time()
                work()
                if turn >= first:
                    taken.append(time.process_time() - start)
        found[name] = (*seconds, most)
    return found


def rows(quick: bool) -> list[Row]:
    """Return each choice against plain attention."""
    return [
        Row(
            asks=name,
            rival=f"plain attention, PyTorch {torch.__version__}",
            ratios=[a / b for a, b in zip(ours, plain, strict=True)],
            threads=1,
            wanted=None if most == float("inf") else most,
        )
        for name, (ours, plain, most) in timings(5 if quick else 50).items()
    ]


def main() -> int:
    """Time all; return 1 where a choice takes more than is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    table, missed = plain_table(["choice", "ms", "plain = 1", "at most"], right=["ms"]), False
    for name, (ours, plain, most) in timings(parser.parse_args().repeats).items():
        ratio = statistics.median(a / b for a, b in zip(ours, plain, strict=True))
        missed = missed or ratio > most
        asked = "" if most == float("inf") else f"{most:g}"
        table.add_row(name, f"{1e3 * statistics.median(ours):.2f}", f"{ratio:.2f}", asked)
    screen.out.print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
