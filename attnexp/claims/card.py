"""The card of a claim, and the list of all: what was claimed, what was done, what came out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attnexp.claims.claim import Claim
from attnexp.claims.decision import Verdict

UNREAD = "(not read at its source)"


def card(claim: Claim, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the lines of a card, each with its head."""
    source = claim.source
    yield "claim", claim.claims
    yield "source", f"{source.paper}, {source.place}"
    yield "printed", source.printed if source.read else f"{source.printed} {UNREAD}"
    yield "there", claim.setup
    yield "here", claim.changed
    for fault in claim.faults:
        yield "known fault", fault
    yield "predicted", f"{claim.prediction.date}: {claim.prediction.says}"
    yield "verdict", verdict.text
    yield "because", verdict.because
    for head, text in verdict.shown:
        yield "also", f"{head}: {text}"


def markdown(
    entries: Sequence[tuple[str, Claim, Verdict]], pictures: Mapping[str, Sequence[str]]
) -> str:
    """Return the cards as a page of Markdown, each with the pictures of its claim.

    The paths of pictures are those that the page has them by.
    """
    blocks = []
    for name, claim, verdict in entries:
        lines = [f"## {name}", ""]
        lines += [f"- **{head}**: {text}" for head, text in card(claim, verdict)]
        lines += [f"\n![{name}: {Path(path).stem}](<{path}>)" for path in pictures[name]]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"
