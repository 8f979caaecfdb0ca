"""A decision by several, all of which have to hold."""

from collections.abc import Sequence
from dataclasses import replace

from attnexp.claims.decision import Decision, Verdict, Word
from attnexp.claims.evidence import Evidence, Point
from attnexp.core.errors import RequestError


class AllOf(Decision):
    """A claim of several parts: `reproduced` if each of the `parts` is.

    `not reproduced` if one is not reproduced at its share of the level, 5% over the number of parts
    (Holm 1979, whose first step decides whether all hold), and else `cannot tell`. So a true claim
    is refused in 5% of cases, however many parts are at their bounds.
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
    """Return the verdict of a part, which cannot tell if its runs are missing.

    It is refused only at its share of the level.
    """
    try:
        verdict = part.decide(evidence)
        if verdict.word == "not reproduced":
            shared = part.decide(replace(evidence, tests=evidence.tests * parts))
            return verdict if shared.word == "not reproduced" else shared
    except RequestError as error:
        return Verdict("cannot tell", str(error))
    return verdict
