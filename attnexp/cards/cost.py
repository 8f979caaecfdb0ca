"""The time of attention, forward and backward, and the memory that it keeps, by length."""

import time
from collections.abc import Sequence

from attnexp.cards.lines import job_of
from attnexp.core.errors import RequestError
from attnexp.sweeps.own_process import in_own_process

SECONDS, KEPT = "seconds", "MB kept"
"""The names of the numbers: the time of forward and backward, and the tensors between the two."""

DIM = 64
"""Features of a query, a key and a value."""

REPEATS = 3
"""The measurements of which the fastest counts."""

ALONE = ("model", "normalizer", "estimator")
"""The groups of settings that are measured."""

Costs = dict[str, dict[int, float]]
"""Values by the name of the number, such as `seconds@1024`, and the number of the measurement."""


def require_alone(words: Sequence[str]) -> None:
    """Raise RequestError for settings of a row that are not measured."""
    around = [word for word in words if word.partition("=")[0].partition(".")[0] not in ALONE]
    if around:
        raise RequestError(f"the cost is that of {', '.join(ALONE)} alone, without {around[0]}")


def costs_of(
    line: Sequence[str], lengths: Sequence[int], times: int, seconds: float, late: str
) -> Costs:
    """Measure the attention of a command line at these lengths, some times over.

    Its parts are built and called in a process of their own, which is ended after some seconds. An
    estimator that needs a causal mask has one. Raises RequestError for code that cannot be built or
    computed or that ends its process, as a lack of memory does, and RequestError(late) if the time
    is over. Raises RunFailedError if no process starts.
    """
    try:
        return in_own_process(seconds, measure, line, lengths, times)
    except TimeoutError as error:
        raise RequestError(late) from error
    except (RuntimeError, ChildProcessError) as error:
        raise RequestError(str(error)) from error


def measure(line: Sequence[str], lengths: Sequence[int], times: int) -> Costs:
    """Measure in this process. See `costs_of`."""
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
    for number in range(1, times + 1):
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
            found.setdefault(f"{SECONDS}@{length}", {})[number] = best
            found.setdefault(f"{KEPT}@{length}", {})[number] = kept / 2**20
    return found


def _now(device: object) -> float:
    """Return the wall time on a GPU, and the processor time of this process on a CPU."""
    import torch

    kind = torch.device(str(device)).type
    if kind == "cpu":
        return time.process_time()
    if kind == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
