"""The record of a claim, and the list of all claims."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rich.cells import cell_len
from rich.markup import escape

from attnexp.claims.claim import Claim
from attnexp.claims.claim_file import question
from attnexp.claims.decision import Verdict
from attnexp.claims.stored import (
    FOLDER,
    Predicted,
    evidence_of,
    prediction_digest,
    read_predictions,
)
from attnexp.core import console
from attnexp.core.errors import shortened
from attnexp.runs.key import RESULTS_VERSION

UNREAD = "(not read at its source)"


@dataclass(frozen=True)
class Entry:
    """A claim and its verdict. The claim is None if its file could not be read.

    `history` are the stored predictions, `left_out` and `rates` are as in `Evidence`.
    """

    name: str
    claim: Claim | None
    verdict: Verdict
    history: Sequence[Predicted] = ()
    left_out: int = 0
    rates: str = ""

    @property
    def text(self) -> str:
        """The verdict in words."""
        return self.claim.text_of(self.verdict) if self.claim else self.verdict.text


def judged(name: str, claim: Claim, config_dir: Path | None, trusted: bool) -> Entry:
    """Return a claim with the verdict on the stored evidence.

    Unless `trusted`, a claim decided by the user's code is not judged.
    """
    evidence = evidence_of(name, claim, config_dir)
    if not trusted and claim.needs_user_code and (evidence.runs or evidence.points):
        sentence = f"code of your own decides it: attnexp claims {name}"
        verdict = Verdict("not judged", sentence)
    else:
        verdict = claim.verdict(evidence)
    history = read_predictions(FOLDER / name)
    return Entry(name, claim, verdict, history, evidence.left_out, evidence.rates())


def record(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the head and the text of each line of a record."""
    claim, verdict = entry.claim, entry.verdict
    if claim is not None:
        source = claim.source
        yield "claim", claim.claims
        yield "source", f"{source.paper}, {source.place}"
        yield "printed", source.printed if source.read else f"{source.printed} {UNREAD}"
        yield "there", claim.setup
        yield "here", claim.changed
        for fault in claim.faults:
            yield "known fault", fault
        yield "predicted", f"{claim.prediction.date}: {claim.prediction.says}"
        yield from _changes(claim, entry.history)
        if claim.amended:
            yield "amended", claim.amended
        if claim.before:
            yield "before", claim.before
        if claim.looks > 1:
            yield "looks", f"{claim.looks} were planned; sign flips hold at any number"
    yield "results version", str(RESULTS_VERSION)
    yield "verdict", entry.text
    yield "because", verdict.because
    if entry.rates:
        yield "rate", entry.rates
    for head, text in verdict.shown:
        yield "also", f"{head}: {text}"
    if entry.left_out:
        yield "left out", left_out_text(entry.left_out)


def plain(entry: Entry) -> dict[str, object]:
    """Return a claim and its verdict as plain values, for programs.

    `word` is `reproduced`, `not reproduced`, `both solve it`, `cannot tell`, `not run`, `not
    judged` or `failed`. For `more_seeds` see `Verdict`.
    """
    verdict = entry.verdict
    return {
        "name": entry.name,
        "claims": entry.claim.claims if entry.claim else None,
        "results_version": RESULTS_VERSION,
        "word": verdict.word,
        "verdict": entry.text,
        "because": verdict.because,
        "more_seeds": verdict.more_seeds,
        "rates": entry.rates or None,
        "shown": dict(verdict.shown),
        "left_out": entry.left_out,
    }


def left_out_text(count: int) -> str:
    """Return how many runs in the folder of a claim do not count, and why."""
    runs = "1 run is" if count == 1 else f"{count} runs are"
    version = f"results version {RESULTS_VERSION}"
    return f"{runs} left out: the claim as it is now has no such job in {version}"


def _changes(claim: Claim, history: Sequence[Predicted]) -> Iterator[tuple[str, str]]:
    """Yield remarks on predictions that were stored or changed after the first run."""
    if not history:
        return
    now = prediction_digest(claim.prediction.date, claim.prediction.says)
    if history[0].after_runs:
        yield "but", f"the prediction was stored on {history[0].time}, after the first run"
    for before, after in pairwise(history):
        yield "but", f"changed on {after.time}, after the first run; before: {before.says}"
    if history[-1].digest != now:
        yield "but", f"changed after the first run; before: {history[-1].says}"


def markdown(entries: Sequence[Entry], pictures: Mapping[str, Sequence[str]]) -> str:
    """Return the records as a page of Markdown, each with the pictures of its claim.

    Paths of pictures are relative to the page.
    """
    blocks = []
    for entry in entries:
        name = entry.name
        lines = [f"## {name}", ""]
        lines += [f"- **{head}**: {text}" for head, text in record(entry)]
        lines += [f"\n![{name}: {Path(path).stem}](<{path}>)" for path in pictures[name]]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def show_record(entry: Entry) -> None:
    """Print the record of a claim: a table in a terminal, and a line for each entry in a pipe."""
    lines = list(record(entry))
    if not console.screen.out.is_terminal:
        width = max(cell_len(head) for head, _ in lines)
        for head, text in [(entry.name, ""), *lines]:
            console.print_line(f"{console.aligned(head, 'left', width)}  {text}".rstrip())
        return
    table = console.plain_table([entry.name, ""])
    for head, text in lines:
        table.add_row(escape(head), escape(text))
    console.screen.out.print(table)


def list_claims(entries: Sequence[Entry], config_dir: Path | None) -> None:
    """Print a table of claims, then errors of failed claims and counts of runs left out."""
    table = console.plain_table(["claim", "verdict", "minutes", "asks"], right=["minutes"])
    for entry in entries:
        minutes = f"{entry.claim.minutes:g}" if entry.claim else ""
        asks = question(entry.name, config_dir)
        table.add_row(*map(escape, (entry.name, entry.text, minutes, asks)))
    console.screen.out.print(table)
    for entry in entries:
        if entry.verdict.word == "failed":
            console.print_line(f"{entry.name}: {shortened(entry.verdict.because)}")
        elif entry.left_out:
            console.print_line(f"{entry.name}: {left_out_text(entry.left_out)}")
