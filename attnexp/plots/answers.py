"""The decoded answers of a run, symbol by symbol, for the rows of its attention maps."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from attnexp.core.writing import Characters, Spaced, Words
from attnexp.runs.attention import NAMES, Map, visible
from attnexp.runs.folder import Run

WRITINGS = (Spaced(), Characters(), *((Words(),) if find_spec("regex") else ()))
"""How predictions.csv may have joined symbols to texts; `Words` needs the package regex."""

NOTHING = "\N{EN DASH}"
"""The label of a place behind the end of an answer."""


def with_answer(one: Map, run: Run, example: int) -> Map:
    """Return a map whose rows also have the symbols that the run decoded in place of its targets.

    The map is unchanged if its rows are not targets, or if predictions.csv does not tell the
    symbols.
    """
    if one.rows.name != NAMES["target"] or example >= len(run.prediction_rows):
        return one
    vocab, ids = run.attention.target_vocab, run.attention.batch["targets"][example]
    target = [vocab[i] for i in ids[one.rows.order]]
    row = run.prediction_rows[example]
    decoded = decoded_symbols(target, row.get("target"), row.get("decoded"), vocab)
    return replace(one, rows=replace(one.rows, decoded=tuple(map(visible, decoded))))


def decoded_symbols(
    target: Sequence[str], target_text: str | None, decoded_text: str | None, vocab: Sequence[str]
) -> list[str]:
    """Return the decoded symbol in place of each symbol of a target, none if the texts lack it.

    `target_text` tells how symbols were joined; the end symbol may be missing there. An answer that
    is shorter than its target is filled up with the end symbol, and then with NOTHING.
    """
    for writing in WRITINGS:
        for end in (target[-1:], []):
            if writing.join(target[: len(target) - len(end)]) != target_text:
                continue
            decoded = writing.split(decoded_text or "")
            known = set(decoded) <= set(vocab) and writing.join(decoded) == decoded_text
            if known and len(decoded) <= len(target):
                return [*decoded, *end, *[NOTHING] * len(target)][: len(target)]
    return []
