"""The time of attention, forward and backward, and its memory, by sequence length."""

import time
from collections.abc import Sequence

from attnexp.cards.lines import job_of
from attnexp.core.errors import RequestError
from attnexp.sweeps.own_process import in_own_process

SECONDS, KEPT = "seconds", "MB kept"
"""The names of the numbers: the time of forward and backward, and the memory saved for backward."""

DIM = 64
"""Features of a query, a key and a value."""

REPEATS = 3
"""Repetitions of a measurement; the fastest counts."""

ALONE = ("model", "normalizer", "estimator")
"""The groups of settings that a measured row may change."""

Costs = dict[str, float]
"""Values by the name of the number, such as `seconds@1024`."""

CostsByRound = dict[str, dict[int, float]]
"""Values by the name of the number and the round of the measurement."""


def why_not_measured(words: Sequence[str]) -> str:
    """Return why no cost is measured for a row with these settings; empty if one is."""
    around = [word for word in words if word.partition("=")[0].partition(".")[0] not in ALONE]
    return f"the cost is that of {', '.join(ALONE)} alone, without {around[0]}" if around else ""


def costs_in_turns(
    lines: Sequence[Sequence[str]],
    lengths: Sequence[int],
    rounds: int,
    seconds: float,
    late: str,
) -> list[CostsByRound | str]:
    """Return the costs of each command line by number and round, or why it has none.

    Lines take turns, so that a machine that slows down for a while slows all of them. Each
    measurement has a process of its own, so that rounds are independent. A line that takes longer
    than `seconds` in all has the reason `late`. Raises RunFailedError if no process starts.
    """
    found: list[CostsByRound | str] = [{} for _ in lines]
    left = [seconds] * len(lines)
    for number in range(1, rounds + 1):
        for i, line in enumerate(lines):
            if isinstance(own := found[i], str):
                continue
            start = time.monotonic()
            try:
                costs = in_own_process(left[i], measure, line, lengths)
            except TimeoutError:
                found[i] = late
            except (RequestError, RuntimeError, ChildProcessError) as error:
                found[i] = str(error)
            else:
                for name, value in costs.items():
                    own.setdefault(name, {})[number] = value
            left[i] -= time.monotonic() - start
    return found


def measure(line: Sequence[str], lengths: Sequence[int]) -> Costs:
    """Build the attention of a command line and return its costs at these lengths.

    The mask is causal for an estimator that needs one. Raises RequestError for code that cannot be
    built or computed.
    """
    import torch

    from attnexp.config.build import make_attention
    from attnexp.core.masks import causal_mask
    from attnexp.training.device import choose_device, prepare_processor

    job = job_of(line)
    prepare_processor(threads=1)
    device, _ = choose_device(job.config.device)
    attention = make_attention(job, DIM).to(device)
    generator = torch.Generator().manual_seed(0)
    found: Costs = {}
    for length in lengths:
        inputs = torch.randn(3, 1, length, DIM, generator=generator).to(device)
        queries, keys, values = (each.clone().requires_grad_() for each in inputs)
        mask = causal_mask(length, device) if attention.estimator.causal else None
        best, kept = float("inf"), 0
        for _ in range(REPEATS):
            held: dict[int, int] = {}

            def keep(tensor: torch.Tensor, held: dict[int, int] = held) -> torch.Tensor:
                storage = tensor.untyped_storage()
                held[storage.data_ptr()] = storage.nbytes()
                return tensor

            start = _now(device)
            with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
                context, _ = attention(queries, keys, values, mask, need_weights=False)
            context.sum().backward()
            best = min(best, _now(device) - start)
            kept = sum(held.values())
        found[f"{SECONDS}@{length}"] = best
        found[f"{KEPT}@{length}"] = kept / 2**20
    return found


def _now(device: object) -> float:
    """Return seconds of wall time on a GPU, and of this process's processor time on a CPU."""
    import torch

    kind = torch.device(str(device)).type
    if kind == "cpu":
        return time.process_time()
    if kind == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
