"""The contract of a decision: from the runs of a claim to a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnexp.runs.folder import Run

Word = Literal["reproduced", "not reproduced", "cannot tell", "not run"]


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim.

    - `word` is never `reproduced` or `not reproduced` from one seed.
    - `because` is the sentence with the numbers that decided.
    - `more_seeds` is how many seeds more would tell, where the word is `cannot tell` and it is
      known.
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


class Decision(ABC):
    """How the runs of a claim decide it. The arguments of a constructor come from its YAML file."""

    @abstractmethod
    def decide(self, runs: Sequence[Run]) -> Verdict:
        """Return the verdict of finished runs, in any order.

        Raises RequestError for runs that are not those of the claim.
        """
