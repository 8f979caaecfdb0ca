"""A decision by several, all of which have to hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnexp.claims.decision import Decision, Verdict, made
from attnexp.claims.evidence import Evidence, Point
from attnexp.errors import RequestError


class AllOf(Decision):
    """A claim of several parts: `reproduced` where each of the `parts` is.

    `not reproduced` where one is not reproduced, and else `cannot tell`. Each part names a decision
    as a claim does.
    """

    def __init__(self, parts: Sequence[Mapping[str, Any]]) -> None:
        if len(parts) < 2:
            raise ValueError(f"parts must be two decisions or more, got {len(parts)}")
        self.parts = [made(part, f"decides.parts[{n}]") for n, part in enumerate(parts)]

    def numbers(self) -> Sequence[str]:
        return [name for part in self.parts for name in part.numbers()]

    def decide(self, evidence: Evidence) -> Verdict:
        verdicts = [_decided(part, evidence) for part in self.parts]
        words = {verdict.word for verdict in verdicts}
        more = [each.more_seeds for each in verdicts if each.more_seeds is not None]
        return Verdict(
            word="not reproduced"
            if "not reproduced" in words
            else "reproduced"
            if words == {"reproduced"}
            else "cannot tell",
            because="; ".join(f"{each.word}: {each.because}" for each in verdicts),
            more_seeds=max(more, default=None),
            shown=[line for verdict in verdicts for line in verdict.shown],
        )

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        return list(dict.fromkeys(p for part in self.parts for p in part.curves(evidence)))


def _decided(part: Decision, evidence: Evidence) -> Verdict:
    """Return the verdict of a part, which cannot tell where its runs are missing."""
    try:
        return part.decide(evidence)
    except RequestError as error:
        return Verdict("cannot tell", str(error))
