"""Learning-rate schedules: a factor of the learning rate for each of the planned updates."""

import math


class Constant:
    """factor = 1."""

    def __call__(self, step: int, steps: int) -> float:
        return 1.0


class Cosine:
    """factor = (1 + cos(pi t)) / 2, after a linear rise; t is the share of the later updates done.

    Loshchilov and Hutter (2017), equation 5, one period without restarts. `warmup` is the share of
    the updates in which the factor rises linearly: of n such updates the factor is 1/n at the first
    and 1 at the last.

    Raises ValueError for a warmup outside [0, 1).
    """

    def __init__(self, warmup: float = 0.0) -> None:
        if not 0 <= warmup < 1:
            raise ValueError(f"warmup must be at least 0 and less than 1, got {warmup}")
        self.warmup = warmup

    def __call__(self, step: int, steps: int) -> float:
        rising = round(self.warmup * steps)
        if step < rising:
            return (step + 1) / rising
        return (1 + math.cos(math.pi * (step - rising) / (steps - rising))) / 2
