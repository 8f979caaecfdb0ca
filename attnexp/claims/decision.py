"""The contract of a decision: from what a claim has to go by to a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from attnexp.claims.evidence import Evidence, Point
from attnexp.errors import RequestError

Word = Literal["reproduced", "not reproduced", "cannot tell", "not run"]

FEWEST = 3
"""The fewest seeds of an interval."""


@dataclass(frozen=True)
class Verdict:
    """What a claim's evidence says.

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
    """How a claim is decided. The arguments of a constructor come from its YAML file."""

    @abstractmethod
    def decide(self, evidence: Evidence) -> Verdict:
        """Return the verdict of finished runs, in any order, and of computed points.

        Raises RequestError for evidence that is not that of the claim.
        """

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        """Return the points that the picture of the claim shows: by default the computed ones."""
        return evidence.points


def made(decides: Mapping[str, Any]) -> Decision:
    """Return the decision that a YAML file names by `_target_`, with its arguments.

    Raises RequestError for a class or arguments that do not fit.
    """
    arguments = dict(decides)
    target = str(arguments.pop("_target_", ""))
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name)(**arguments)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise RequestError(
            f"decides cannot be built of {target or 'no _target_'}: {error}"
        ) from error
    if not isinstance(found, Decision):
        raise RequestError(f"decides names {target}, which is not a Decision")
    return found
