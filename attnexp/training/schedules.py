"""Learning-rate schedules: a factor of the learning rate, given the progress of training."""

import math


class Constant:
    """factor = 1."""

    def __call__(self, progress: float) -> float:
        return 1.0


class Cosine:
    """factor = (1 + cos(pi t)) / 2, with t the share of training done; a linear rise comes first.

    Loshchilov and Hutter (2017), equation 5, one period without restarts. `warmup` is the share of
    training in which the factor rises linearly from near 0 to 1; t counts from there.

    Raises ValueError for a warmup outside [0, 1).
    """

    def __init__(self, warmup: float = 0.0) -> None:
        if not 0 <= warmup < 1:
            raise ValueError(f"warmup must be at least 0 and less than 1, got {warmup}")
        self.warmup = warmup

    def __call__(self, progress: float) -> float:
        if progress < self.warmup:
            return progress / self.warmup
        return (1 + math.cos(math.pi * (progress - self.warmup) / (1 - self.warmup))) / 2
