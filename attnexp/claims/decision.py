"""The contract of a decision: from the evidence for a claim to a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attnexp.claims.evidence import Evidence, Point
from attnexp.config.schema import check_settings
from attnexp.config.target import TARGET, import_target
from attnexp.errors import RequestError
from attnexp.stats.compare import fewest_seeds
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
    """What a claim's evidence says.

    - `word` is never `reproduced` or `not reproduced` from one seed. `not judged` is a claim that a
      list leaves alone, because code of one's own decides it, and `failed` one whose decision or
      file cannot be used.
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

    def numbers(self) -> Sequence[str]:
        """Return the names of the numbers that decide, which the first job of a sweep must have."""
        return ()

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        """Return the points that the picture of the claim shows: by default the computed ones."""
        return evidence.points


OWN = tuple(
    f"attnexp.claims.{module}.{name}"
    for module, name in {
        "all_of": "AllOf",
        "bounded": "Bounded",
        "direction": "Direction",
        "escaped": "Escaped",
        "rate": "Rate",
        "same_minimum": "SameMinimum",
        "stages": "Stages",
    }.items()
)
"""The decisions of attnexp's own, which a list of claims makes without being told to trust them."""


def made(decides: Mapping[str, Any], path: str = "decides") -> Decision:
    """Return the decision that a YAML file names by `_target_`, with its arguments.

    The class is imported, and called only if it is a subclass of Decision. Raises RequestError for
    a class or arguments that do not fit.
    """
    target, name = decides.get(TARGET), str(decides.get(TARGET)).rpartition(".")[2]
    found = import_target(decides, path, OWN)
    if not (isinstance(found, type) and issubclass(found, Decision)):
        raise RequestError(f"{path}: {target!r} is not a subclass of Decision")
    arguments = {key: value for key, value in decides.items() if key != TARGET}
    check_settings(arguments, found, path)
    try:
        return found(**arguments)
    except RequestError:
        raise
    except Exception as error:
        raise RequestError(f"{path}: {name} refuses its arguments: {error}") from error


def is_own(decides: Any) -> bool:
    """Return whether a decision, and each part of it, is of attnexp's own."""
    if isinstance(decides, Mapping):
        return decides.get(TARGET, OWN[0]) in OWN and all(map(is_own, decides.values()))
    return not isinstance(decides, list) or all(map(is_own, decides))
