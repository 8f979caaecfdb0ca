"""The contract of a decision: from the evidence for a claim to a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnexp.claims.evidence import Evidence, Point
from attnexp.stats.compare import fewest_seeds
from attnexp.stats.exact import most_failing
from attnexp.stats.intervals import LEVEL

Word = Literal[
    "reproduced",
    "not reproduced",
    "both solve it",
    "cannot tell",
    "not run",
    "not judged",
    "failed",
]

FEWEST = fewest_seeds(LEVEL)
"""The fewest seeds of a verdict, as in tables."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of a claim's evidence.

    - `word` is never `reproduced` or `not reproduced` from one seed. `not judged` is a claim that a
      list leaves alone, because code of one's own decides it, and `failed` one whose decision or
      file cannot be used.
    - `because` is the sentence with the numbers that decided.
    - `more_seeds` is the number of further seeds that would tell, if the word is `cannot tell` and
      it is known.
    - `shown` are numbers that do not decide, each with its name.
    """

    word: Word
    because: str
    more_seeds: int | None = None
    shown: Sequence[tuple[str, str]] = ()

    @property
    def text(self) -> str:
        """The word, with the seeds that it lacks."""
        if self.word != "cannot tell" or self.more_seeds is None:
            return self.word
        return f"{self.word}: {self.more_seeds} more seeds"


def if_no_seed_fails(n: int) -> str:
    """Return the end of a sentence on n seeds of which none failed: how many still may."""
    return f", if no seed fails: up to {most_failing(n):.0%} may"


class Decision(ABC):
    """How a claim is decided. The arguments of a constructor come from its YAML file."""

    @abstractmethod
    def decide(self, evidence: Evidence) -> Verdict:
        """Return the verdict of finished runs, in any order, and of computed points.

        Raises RequestError for evidence that is not that of the claim.
        """

    def numbers(self) -> Sequence[str]:
        """Return the names of the numbers that decide, which the first job of a sweep must have."""
        return ()

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        """Return the points that the picture of the claim shows: by default the computed ones."""
        return evidence.points
