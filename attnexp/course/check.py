"""The outcome of one check of an exercise."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """What was checked, whether it has passed, and a sentence about it."""

    name: str
    passed: bool
    sentence: str
