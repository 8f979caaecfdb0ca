"""The card of a claim, and the list of claims, as they are printed."""

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.markup import escape

from attnexp.claims.card import Entry, card, left_out_text
from attnexp.claims.folders import question
from attnexp.core import console
from attnexp.core.errors import shortened


def show_card(entry: Entry) -> None:
    """Print the card of a claim: a table in a terminal, and a line for each entry in a pipe."""
    lines = list(card(entry))
    if not console.out.is_terminal:
        width = max(cell_len(head) for head, _ in lines)
        for head, text in [(entry.name, ""), *lines]:
            console.say(f"{console.aligned(head, 'left', width)}  {text}".rstrip())
        return
    table = console.plain_table([entry.name, ""])
    for head, text in lines:
        table.add_row(escape(head), escape(text))
    console.out.print(table)


def list_claims(entries: Sequence[Entry], config_dir: Path | None) -> None:
    """Print a table of claims, and below it the errors that kept claims from a verdict."""
    table = console.plain_table(["claim", "verdict", "minutes", "asks"], right=["minutes"])
    for entry in entries:
        minutes = f"{entry.claim.minutes:g}" if entry.claim else ""
        asks = question(entry.name, config_dir)
        table.add_row(*map(escape, (entry.name, entry.text, minutes, asks)))
    console.out.print(table)
    for entry in entries:
        if entry.verdict.word == "failed":
            console.say(f"{entry.name}: {shortened(entry.verdict.because)}")
        elif entry.left_out:
            console.say(f"{entry.name}: {left_out_text(entry.left_out)}")
