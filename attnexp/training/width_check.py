"""The check of a learned width: after training, other widths are tried by the same error."""

import math
from dataclasses import replace

import msgspec
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.architectures.base import Architecture
from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.core.language import said
from attnexp.runs.summary import Tried, WidthCheck
from attnexp.scores.base import Score
from attnexp.tasks.regression import LARGE, Regression, left_out_points
from attnexp.training.base import Epoch, TrainingDivergedError
from attnexp.training.optimizers import with_first_step
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record.measures import measure
from attnexp.training.second_start import SecondStart
from attnexp.training.width_search import EVALUATIONS, VALLEYS, row_of_widths, valleys

BETTER = 0.99
"""Training starts a second time at an error below this share of the error of the trained width."""

FLAT = 1e-3
"""Errors that differ by at most this share count as equal: rounding alone may cause as much."""

FREE = 2**26
"""The pairs of query and key that the check may always compare, over all widths: half a second."""

WHOLE = 2 + VALLEYS
"""The most widths that are judged by every point: first, last, and the best of each valley."""

REACHED = 10
"""An update by tiles compares about one in this many pairs, once its width is trained."""

GAPS = 2**24
"""The most pairs of inputs whose distance `spread_of` computes."""


class LearnedWidth:
    """The widths of a kernel as one number, their `size`, with fixed proportions among them.

    The size is the root mean square of the widths.
    """

    def __init__(self, parameter: nn.Parameter) -> None:
        self.parameter = parameter
        sizes = parameter.detach().abs()
        self.size = float(sizes.square().mean().sqrt())
        self._shape = sizes / self.size if self.size > 0 else torch.ones_like(sizes)
        self._trained = parameter.detach().clone()

    def set(self, size: float) -> None:
        """Set the kernel's widths to this size, in the proportions that they had at first."""
        self.parameter.detach().copy_(self._shape * size)

    def restore(self) -> None:
        """Set the kernel's widths to what they were at first, to the bit."""
        self.parameter.detach().copy_(self._trained)


def learned_width(model: Architecture) -> nn.Parameter | None:
    """Return the learned width of a kernel that compares the inputs, None without one to check.

    A score has such a width if its parameter `width` is among its `even` parameters, as in the
    shipped kernels, and `check_width` is not false.
    """
    if not (isinstance(model, KernelRegression) and model.compares_inputs):
        return None
    score = model.pooling.score
    if not (isinstance(score, Score) and getattr(score, "check_width", True)):
        return None
    width = getattr(score, "width", None)
    if isinstance(width, nn.Parameter) and width.requires_grad and "width" in score.even:
        return width
    return None


def check_width(run: PreparedRun, last: Epoch) -> SecondStart | WidthCheck | None:
    """Return the check of a run whose training ended with the row `last`.

    The result is a SecondStart if another width has an error below BETTER times that of the trained
    one, and None if the run has no width to check. The model is left as it was.

    Raises TrainingDivergedError if no width has an error that is a finite number.
    """
    parameter = learned_width(run.model)
    if parameter is None or not isinstance(run.task, Regression):
        return None
    spread = spread_of(run.dataset.train.keys.flatten(0, 1))
    if spread is None:
        return None
    width = LearnedWidth(parameter)
    try:
        return measure(run, lambda *_: _checked(run, last, width, row_of_widths(*spread)))
    finally:
        width.restore()


def _checked(
    run: PreparedRun, last: Epoch, width: LearnedWidth, row: list[float]
) -> SecondStart | WidthCheck:
    judged = run.dataset.validation or run.dataset.train
    every = min(judged.queries.shape[1], left_out_points(judged))
    few = min(every, _affordable(run, last, every))

    def error(size: float, points: int = few) -> float:
        width.set(size)
        return choosing_error(run, points)

    trained = choosing_error(run, every)
    errors = [error(size) for size in row]
    found = valleys(error, row, errors)
    if not found and not math.isfinite(trained):
        empty = _may_reach_none(run.model)
        remedy = "every point needs a neighbour in reach" if empty else "scale y to numbers near 1"
        raise TrainingDivergedError(
            f"the error is not a finite number at any of {len(row)} widths: {remedy}"
        )
    whole = {each: error(each.width, every) for each in found}
    best = min(whole, key=lambda each: whole[each], default=None)
    check = WidthCheck(
        row=[_tried(*pair) for pair in zip(row, errors, strict=True)],
        trained=_tried(width.size, trained),
        found=_tried(width.size, trained) if best is None else _tried(best.width, whole[best]),
        learned=_tried(width.size, trained),
        points=few,
        whole=every,
        nearest=_falls_to_the_end(errors) and not _may_reach_none(run.model),
    )
    if best is None or not whole[best] < BETTER * trained:
        return check
    width.set(best.width)
    start = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    check = msgspec.structs.replace(check, epoch=last.epoch)
    return SecondStart(check, (last.epoch, last.step, last.seconds), start, best.spacing / 4)


def _falls_to_the_end(errors: list[float]) -> bool:
    """Return whether the narrowest kernel has the lowest error, and another has a higher one.

    Errors within FLAT of each other count as equal.
    """
    near = errors[-1] * (1 + FLAT)
    return math.isfinite(near) and errors[-1] <= min(errors) * (1 + FLAT) and max(errors) > near


def _may_reach_none(model: Architecture) -> bool:
    return isinstance(model, KernelRegression) and model.may_be_empty


def choosing_error(run: PreparedRun, points: int | None = None) -> float:
    """Return the error by which widths are chosen, of the model as it is.

    The error is taken at `points` points, by default at as many as can be left out, and is infinity
    if it is not a finite number.
    """
    assert isinstance(run.task, Regression)
    judged = run.dataset.validation or run.dataset.train
    most = left_out_points(judged) if points is None else points
    error = run.task.choosing_error(run.model, run.dataset, most)
    return error if math.isfinite(error) else math.inf


def _affordable(run: PreparedRun, last: Epoch, every: int) -> int:
    """Return at how many points each width may be judged.

    All widths together then compare as many pairs as a third of the work of training: an update
    counts its pairs three times, as it goes back through them too, and by tiles compares only those
    within reach of each other. Subtracted is the work of the few widths that are judged by `every`
    point.
    """
    size = run.settings.batch_size or len(run.dataset.train)
    keys = run.dataset.train.keys[..., 0].numel()
    queries = (last.step * size - WHOLE * every) // (REACHED if size * keys > LARGE else 1)
    return max(1, queries // EVALUATIONS, FREE // (EVALUATIONS * keys))


def spread_of(inputs: Float[Tensor, "points x_dim"]) -> tuple[float, float] | None:
    """Return the standard deviation of inputs, and the median distance to the nearest other input.

    Both are divided by the square root of the number of features. None if all inputs are equal.
    """
    whole = inputs.detach().double()
    unique = whole.unique(dim=0)
    if len(unique) < 2:
        return None
    deviation = float(whole.var(dim=0, correction=0).mean().sqrt())
    if unique.shape[1] == 1:
        return deviation, float(unique[:, 0].diff().median())
    count = max(1, min(len(unique), GAPS // len(unique)))
    asked = torch.arange(count, device=unique.device) * len(unique) // count
    apart = torch.cdist(unique[asked], unique, compute_mode="donot_use_mm_for_euclid_dist")
    apart.scatter_(1, asked.unsqueeze(1), torch.inf)
    return deviation, float(apart.amin(dim=1).median()) / math.sqrt(unique.shape[1])


def started_again(run: PreparedRun, second: SecondStart) -> PreparedRun:
    """Set the model of a run to the second start, and return the run that trains from there."""
    parameter = learned_width(run.model)
    assert parameter is not None
    run.model.load_state_dict(second.model)
    return replace(
        run, second=second, optimizer=with_first_step(run.optimizer, parameter, second.step)
    )


def keep_better(run: PreparedRun, second: SecondStart) -> WidthCheck:
    """Keep the model as it is, or set it back to the second start if the error was lower there.

    Returns the check with the width that the model has now.
    """
    error = measure(run, lambda *_: choosing_error(run))
    start = second.check.found
    if start[1] is not None and not error < start[1]:
        run.model.load_state_dict(second.model)
        return msgspec.structs.replace(second.check, learned=start)
    parameter = learned_width(run.model)
    assert parameter is not None
    return msgspec.structs.replace(
        second.check, learned=_tried(LearnedWidth(parameter).size, error)
    )


def _tried(width: float, error: float) -> Tried:
    return width, error if math.isfinite(error) else None


def sentences(check: WidthCheck) -> list[str]:
    """Return the notes on a check that readers of the numbers need, none if nothing was found."""
    told = []
    if check.epoch is not None:
        (width, error), (other, lower) = check.trained, check.found
        had = "that is not a number" if error is None else f"{error:.3g}"
        note = said(
            "training had ended at width {width}, error {error}; {found} was found at {other}",
            width=f"{width:.3g}",
            error=had,
            found=f"{lower:.3g}",
            other=f"{other:.3g}",
        )
        told.append(note.en)
    if check.nearest:
        note = said("the error falls as the width of the kernel goes to 0: nearest neighbours")
        told.append(note.en)
    if told and check.points < check.whole:
        told[-1] += f" (of the widths tried on {check.points:,} of {check.whole:,} points)"
    return told
