"""Training steps on a GPU: kernel by kernel, and as one CUDA graph, against the textbook's loop.

A program that launches the many small kernels of these models one at a time keeps a GPU waiting.
All train on the batch of `step_time.py`, those of one architecture from the same weights, and their
losses must agree for 20 steps before anything is timed. Then they take turns (A B C A B C ...),
each timing between two synchronisations. The kernels of a step, and the share of the time from the
first to the last in which one is running, are those of `torch.profiler`. Numbers are float32, in
matrix products too: TF32 is off.

    python benchmarks/gpu.py --steps 50 --repeats 7
"""

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import cast

import torch
from step_time import HIDDEN, LENGTH, TEXTBOOK, VOCAB, Textbook, TextbookTrainer, trainers
from torch import Tensor
from torch.autograd import DeviceType  # type: ignore[attr-defined]
from torch.profiler import ProfilerActivity, profile

from attnexp.architectures.base import Architecture
from attnexp.architectures.transformer import Transformer
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.core.console import plain_table, print_line, screen
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.graphs import CudaRecorder
from attnexp.training.updates import CapturedStep, EagerStep, Gradient, keeps_to_the_device

AGREEMENT_STEPS, TOLERANCE = 20, 1e-3
PROFILED_STEPS, BATCH = 10, 64
GOAL = 5.0

Step = Callable[[], Tensor]


def eager(model: Architecture, batch: Batch) -> Step:
    """A step of a copy of a model, kernel by kernel."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    step = EagerStep(Gradient(model, SequenceToSequence(), None, nullcontext), optimizer)
    return lambda: step(batch, 1.0)


def captured(model: Architecture, batch: Batch) -> Step:
    """A step of a copy of a model as a CUDA graph."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    if not keeps_to_the_device(optimizer):
        raise RuntimeError("Adam cannot be captured")
    gradient = Gradient(model, SequenceToSequence(), None, nullcontext)
    step = CapturedStep(gradient, optimizer, CudaRecorder(model, batch.keys.device))
    return lambda: step(batch, 1.0)


def rivals(device: torch.device) -> dict[str, dict[str, Step]]:
    """The ways to take a step, by architecture and name; the eager one first."""
    models = trainers(BATCH)
    ours, textbook = models["PyTorch"], models[TEXTBOOK]
    batch = ours.batch.to(device)
    rnn = cast(Architecture, ours.model).to(device)
    by_the_book = cast(Textbook, textbook.model).to(device)
    torch.manual_seed(0)
    vocabulary = ("<pad>", "<bos>", "<eos>", *map(str, range(VOCAB)))
    spec = Seq2SeqSpec(vocabulary, vocabulary, LENGTH + 1, LENGTH + 1, pad=0, bos=1, eos=2)
    transformer = Transformer(spec, ScaledDot, dim=HIDDEN).to(device)
    return {
        "rnn, additive": {
            "kernel by kernel": eager(rnn, batch),
            "one CUDA graph": captured(rnn, batch),
            "the textbook's loop": TextbookTrainer(by_the_book, batch).step,
        },
        "transformer, scaled_dot": {
            "kernel by kernel": eager(transformer, batch),
            "one CUDA graph": captured(transformer, batch),
        },
    }


def check_agreement(steps: Mapping[str, Step]) -> float:
    """The largest relative difference from the first one's losses over the first steps.

    Raises RuntimeError if it is not small: then they do not compute the same thing.
    """
    worst = 0.0
    for number in range(AGREEMENT_STEPS):
        (first, expected), *others = [(name, float(step())) for name, step in steps.items()]
        for name, loss in others:
            worst = max(worst, abs(loss - expected) / expected)
            if not worst <= TOLERANCE:
                raise RuntimeError(f"step {number}: {name} has {loss}, {first} {expected}")
    return worst


def seconds_of(step: Step, steps: int) -> float:
    """Wall time of a step."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def kernels_of(step: Step) -> tuple[float, float]:
    """The number of kernels in a step, and the share of the time in which one is running."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(PROFILED_STEPS):
            step()
        torch.cuda.synchronize()
    spans = [
        (event.time_range.start, event.time_range.end)
        for event in profiler.events()
        if event.device_type == DeviceType.CUDA and not event.is_user_annotation
    ]
    whole = max(end for _, end in spans) - min(start for start, _ in spans)
    return len(spans) / PROFILED_STEPS, sum(end - start for start, end in spans) / whole


def main() -> int:
    """Print the table; exit with 1 where a graph is not as fast as we mean it to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, help="steps in one timing")
    parser.add_argument("--repeats", type=int, default=7, help="timings of each way")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(2, "benchmarks/gpu.py needs a CUDA device, and PyTorch finds none\n")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    columns = [
        "model",
        "way",
        "milliseconds a step",
        "spread",
        "kernels",
        "busy",
        "tokens a second",
    ]
    table = plain_table(columns, right=columns[2:])
    sentences, reached = [], True
    for model, steps in rivals(torch.device("cuda")).items():
        worst = check_agreement(steps)
        times: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(arguments.repeats):
            for name, step in steps.items():
                times[name].append(seconds_of(step, arguments.steps))
        for name, step in steps.items():
            kernels, busy = kernels_of(step)
            seconds = statistics.median(times[name])
            table.add_row(
                model,
                name,
                f"{1e3 * seconds:.3f}",
                f"{1e3 * min(times[name]):.3f} to {1e3 * max(times[name]):.3f}",
                f"{kernels:,.0f}",
                f"{busy:.0%}",
                f"{BATCH * (LENGTH + 1) / seconds:,.0f}",
            )
        pairs = zip(times["kernel by kernel"], times["one CUDA graph"], strict=True)
        ratios = [slow / fast for slow, fast in pairs]
        reached = reached and statistics.median(ratios) >= GOAL
        sentences.append(
            f"{model}: a graph is {statistics.median(ratios):.2f} times as fast "
            f"({min(ratios):.2f} to {max(ratios):.2f}), the goal is {GOAL}; the losses of "
            f"{AGREEMENT_STEPS} steps agree to {worst:.0e} of their size"
        )
    screen.out.print(table)
    print_line(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for sentence in sentences:
        print_line(sentence)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
