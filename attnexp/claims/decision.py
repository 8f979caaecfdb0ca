"""The contract of a decision: from the evidence for a claim to a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from attnexp.claims.evidence import Evidence, Point
from attnexp.core.errors import RequestError
from attnexp.stats.compare import fewest_seeds
from attnexp.stats.exact import most_failing, share_interval

Word = Literal[
    "reproduced",
    "not reproduced",
    "both solve it",
    "cannot tell",
    "not run",
    "not judged",
    "failed",
]

FEWEST = fewest_seeds()
"""The fewest seeds of a verdict, as in tables."""

MOST = 0.5
"""The share above which seeds are most seeds."""

MOST_SEEDS = 200
"""The number of further seeds from which no advice is given."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    - `word` is never `reproduced` or `not reproduced` from one seed. `not judged` is for a claim
      decided by the user's code, which a list of claims does not run; `failed` is for a decision or
      a file that cannot be used.
    - `because` is a sentence with the deciding numbers.
    - `more_seeds` is the number of further seeds that would decide, if the word is `cannot tell`
      and the number is known.
    - `shown` are names and values of numbers that do not decide.
    """

    word: Word
    because: str
    more_seeds: int | None = None
    shown: Sequence[tuple[str, str]] = ()

    @property
    def text(self) -> str:
        """The word, with the number of missing seeds."""
        if self.word != "cannot tell" or self.more_seeds is None:
            return self.word
        return f"{self.word}: {self.more_seeds} more seeds"


def if_no_seed_fails(n: int) -> str:
    """Return the reservation on a verdict from n seeds without failure: how many seeds may fail."""
    return f", if no seed fails: up to {most_failing(n):.0%} may"


@dataclass(frozen=True)
class Bound:
    """An upper or a lower bound. Raises ValueError unless exactly one is given."""

    at_most: float | None
    at_least: float | None

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"give at_most or at_least, got {self.at_most} and {self.at_least}")

    def __str__(self) -> str:
        return (
            f"at least {self.at_least:g}" if self.at_most is None else f"at most {self.at_most:g}"
        )

    def holds(self, value: float) -> bool:
        """Return whether a value satisfies the bound."""
        if self.at_most is None:
            assert self.at_least is not None
            return value >= self.at_least
        return value <= self.at_most


class Decision(ABC):
    """How a claim is decided. The arguments of the constructor come from claim.yaml."""

    @abstractmethod
    def decide(self, evidence: Evidence) -> Verdict:
        """Return the verdict on runs that have ended, in any order, and on computed points.

        Raises RequestError for evidence that does not fit the claim.
        """

    def numbers(self) -> Sequence[str]:
        """Return the names of the deciding numbers, which the first job of a sweep must have."""
        return ()

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        """Return the points in the picture of the claim, by default the computed ones."""
        return evidence.points


class AllOf(Decision):
    """A claim of several parts: `reproduced` if all `parts` are.

    `not reproduced` if a part is not reproduced at the level of 5% over the number of parts (Holm
    1979, whose first step decides whether all hold), and else `cannot tell`. So a true claim is
    refused in at most 5% of cases, however many parts are at their bounds.
    """

    def __init__(self, parts: Sequence[Decision]) -> None:
        if len(parts) < 2:
            raise ValueError(f"parts must be two decisions or more, got {len(parts)}")
        self.parts = parts

    def numbers(self) -> Sequence[str]:
        return [name for part in self.parts for name in part.numbers()]

    def decide(self, evidence: Evidence) -> Verdict:
        verdicts = [_decided(part, evidence, len(self.parts)) for part in self.parts]
        words = {verdict.word for verdict in verdicts}
        more = [each.more_seeds for each in verdicts if each.more_seeds is not None]
        return Verdict(
            word=_word(words),
            because="; ".join(f"{each.word}: {each.because}" for each in verdicts),
            more_seeds=max(more, default=None),
            shown=[line for verdict in verdicts for line in verdict.shown],
        )

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        return list(dict.fromkeys(p for part in self.parts for p in part.curves(evidence)))


def _word(words: set[Word]) -> Word:
    if "not reproduced" in words:
        return "not reproduced"
    return words.pop() if len(words) == 1 else "cannot tell"


def _decided(part: Decision, evidence: Evidence, parts: int) -> Verdict:
    """Return the verdict of a part, `cannot tell` if runs are missing.

    `not reproduced` is decided at the part's share of the level.
    """
    try:
        verdict = part.decide(evidence)
        if verdict.word == "not reproduced":
            shared = part.decide(replace(evidence, tests=evidence.tests * parts))
            return verdict if shared.word == "not reproduced" else shared
    except RequestError as error:
        return Verdict("cannot tell", str(error))
    return verdict


def verdict_on_most(
    count: int, of: int, level: float, text: str, shown: Sequence[tuple[str, str]] = ()
) -> Verdict:
    """Return the verdict on a claim about most seeds, found on `count` of `of` seeds.

    `reproduced` if the exact interval of the share (Clopper and Pearson) lies above one half, `not
    reproduced` if it lies below, and else `cannot tell`. More seeds make this verdict surer, unlike
    one on "every seed".
    """
    if of < FEWEST:
        return Verdict("cannot tell", text, FEWEST - of, shown)
    low, high = share_interval(count, of, 1 - level)
    text += f" (95% interval of the share: {low:.2f} to {high:.2f})"
    if low > MOST:
        return Verdict("reproduced", text, shown=shown)
    if high < MOST:
        return Verdict("not reproduced", text, shown=shown)

    def decides(n: int) -> bool:
        low, high = share_interval(round(n * count / of), n, 1 - level)
        return low > MOST or high < MOST

    return Verdict("cannot tell", text, more_seeds(decides, of), shown)


def more_seeds(decides: Callable[[int], bool], seeds: int) -> int | None:
    """Return the number of further seeds at which `decides` is true; None from MOST_SEEDS on."""
    return next((more for more in range(1, MOST_SEEDS) if decides(seeds + more)), None)
