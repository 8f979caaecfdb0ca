"""The second start of a training, from a better width than the first has ended at."""

from dataclasses import dataclass

import msgspec
from torch import Tensor

from attnexp.runs.summary import WidthCheck
from attnexp.training.state import State


@dataclass(frozen=True)
class SecondStart:
    """The place from which a training starts a second time.

    - `check` is the check that found a better width.
    - `before` are the epochs, the updates and the seconds of the first training.
    - `model` has the parameters to start from.
    - `step` is the first step of the width, for Rprop.
    """

    check: WidthCheck
    before: tuple[int, int, float]
    model: dict[str, Tensor]
    step: float

    def state(self) -> State:
        """Return the second start as plain values and tensors, for a checkpoint."""
        check = msgspec.to_builtins(self.check)
        return {"check": check, "before": self.before, "model": self.model, "step": self.step}

    @classmethod
    def of(cls, training: State) -> "SecondStart | None":
        """Return the second start in the state of a training, None if the training has none.

        Raises an error for content that `state` did not return.
        """
        if (own := training.get("second")) is None:
            return None
        epochs, steps, seconds = own["before"]
        check = msgspec.convert(own["check"], WidthCheck)
        before = (int(epochs), int(steps), float(seconds))
        return cls(check, before, dict(own["model"]), float(own["step"]))
