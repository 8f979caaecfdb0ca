"""The second start of a training, from a better width than the first has ended at."""

from dataclasses import dataclass

import msgspec
from torch import Tensor

from attnexp.runs.summary import WidthCheck
from attnexp.training.state import State


@dataclass(frozen=True)
class SecondStart:
    """Where a training starts a second time.

    `check` has found the better width, `before` are the epochs, the steps and the seconds of the
    first time, `model` the parameters to start from, and `step` is the first step of the width.
    """

    check: WidthCheck
    before: tuple[int, int, float]
    model: dict[str, Tensor]
    step: float

    def state(self) -> State:
        """Return its content for a checkpoint."""
        check = msgspec.to_builtins(self.check)
        return {"check": check, "before": self.before, "model": self.model, "step": self.step}

    @classmethod
    def of(cls, training: State) -> "SecondStart | None":
        """Return that of the state of a training, None for one that has not started again.

        Raises an error for content that `state` has not returned.
        """
        if (own := training.get("second")) is None:
            return None
        epochs, steps, seconds = own["before"]
        check = msgspec.convert(own["check"], WidthCheck)
        before = (int(epochs), int(steps), float(seconds))
        return cls(check, before, dict(own["model"]), float(own["step"]))
