"""The measures of a run: rows of epochs, its evaluation, milestones and memory."""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import torch

from attnexp.architectures.base import Architecture
from attnexp.core.batch import DataSpec, RegressionSpec
from attnexp.data.base import Dataset
from attnexp.scores.base import Score
from attnexp.tasks.base import Task
from attnexp.training.base import Epoch, TrainingDivergedError
from attnexp.training.prepared_run import PreparedRun

Measured = TypeVar("Measured")

SIZE = "absolute value"
"""The unit of a learned number whose sign has no effect."""


def measure(run: PreparedRun, how: Callable[[Architecture, Dataset], Measured]) -> Measured:
    """Return what `how` measures of the model, in evaluation mode and without gradients.

    The mode of the model is restored afterwards.
    """
    training = run.model.training
    run.model.eval()
    try:
        with torch.no_grad(), run.precision.autocast():
            return how(run.model, run.dataset)
    finally:
        run.model.train(training)


def require_finite(metrics: Mapping[str, float], task: Task) -> None:
    """Raise TrainingDivergedError if a metric that ranks runs is infinite or NaN."""
    for name, value in metrics.items():
        if name in task.better and not math.isfinite(value):
            raise TrainingDivergedError(f"{name} of the trained model is {value}")


def milestones(rows: Sequence[Epoch], task: Task) -> dict[str, float]:
    """Return the updates at which training converged and validated metrics passed milestones.

    A milestone that was not passed is left out. With clipping, `largest_gradient` is the length of
    the longest gradient before.
    """
    passed: dict[str, float] = {}
    if norms := [row.gradient_norm for row in rows if row.gradient_norm is not None]:
        passed["largest_gradient"] = max(norms)
    for row in rows:
        for name, metric in task.validated.items():
            if metric.milestone is not None and row.validation.get(name, 0.0) > metric.milestone:
                passed.setdefault(f"{name}_{100 * metric.milestone:.0f}_step", row.step)
    if rows and rows[-1].converged:  # rows before a second start say nothing of the end
        passed["converged_step"] = rows[-1].step
    return passed


def learned_numbers(model: Architecture, spec: DataSpec) -> dict[str, float]:
    """Return the parameters that are one number, such as a kernel's width, by their path.

    A parameter whose sign has no effect is given by its absolute value, see `Score.even`.

    A score that compares the inputs as they are may have one number for each input. These have the
    name of the input at the end, as in `pooling.score.width.age`.
    """
    even = _even(model)
    shown = {name: p.abs() if name in even else p for name, p in model.named_parameters()}
    found = {name: number.item() for name, number in shown.items() if number.dim() == 0}
    if not (isinstance(spec, RegressionSpec) and model.compares_inputs):
        return found
    inputs = [column.name for column in spec.x] or ["x"]
    for path, module in model.named_modules():
        if isinstance(module, Score):
            for name, _ in module.named_parameters(path, recurse=False):
                if name in shown and shown[name].shape == (len(inputs),):
                    numbers = zip(inputs, shown[name].tolist(), strict=True)
                    found |= {f"{name}.{each}": number for each, number in numbers}
    return found


def forget_peak_memory(device: torch.device) -> None:
    """Measure the peak memory of a GPU from now on. The peak of a process cannot be reset."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def learned_units(model: Architecture, names: Iterable[str]) -> dict[str, str]:
    """Return the unit SIZE for each of these learned numbers that is an absolute value."""
    even = _even(model)
    sizes = [name for name in names if name in even or name.rpartition(".")[0] in even]
    return dict.fromkeys(sizes, SIZE)


def _even(model: Architecture) -> set[str]:
    """Return the paths of the parameters whose sign has no effect."""
    return {
        f"{path}.{name}"
        for path, module in model.named_modules()
        if isinstance(module, Score)
        for name in module.even
    }


def peak_memory_mb(device: torch.device) -> float | None:
    """Return the peak memory of the GPU, or of the process on a CPU, in units of 2^20 bytes.

    None on Windows, which does not measure the memory of a process so.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


def columns(row: Epoch) -> dict[str, object]:
    """Return a row of metrics.csv: validation metrics follow the others as `val_...`."""
    apart = ("validation", "converged", "ended")
    own = {n: value for n, value in vars(row).items() if n not in apart and value is not None}
    return own | {f"val_{name}": value for name, value in row.validation.items()}


def headline(row: Epoch, task: Task) -> str:
    """Return the loss and the headline metrics of a row, as text."""
    watched = [name for name, m in task.validated.items() if m.headline and name in row.validation]
    shown = [f"val {name} {row.validation[name]:.3g}" for name in watched]
    return ", ".join([f"loss {row.loss:.4g}", *shown])
