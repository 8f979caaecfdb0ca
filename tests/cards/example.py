"""A card by hand."""

from typing import Any

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.runs.key import RESULTS_VERSION


def row(label: str, *values: float, number: str = "exact_match", **others: Any) -> RowResult:
    """A row whose seeds 1, 2, ... have these values."""
    measured = {number: dict(enumerate(values, 1))} if values else {}
    return RowResult(label, [f"model={label}"], measured, **others)


def trial(*rows: RowResult, metric: str = "exact_match", **others: Any) -> TrialResult:
    """A trial of a share, which guessing reaches in 0 of 100."""
    settings: dict[str, Any] = {
        "unit": "share",
        "better": "higher",
        "chance": 0.0,
        "equal_within": 0.02,
    } | others
    return TrialResult(
        name="reverse",
        asks="Can it?",
        source="a paper",
        words=["data=reverse"],
        tune=[],
        harder=["data.max_length"],
        metric=metric,
        columns=settings.pop("columns", []),
        rows=list(rows),
        **settings,
    )


def card(*trials: TrialResult, **others: Any) -> Card:
    """A card of trials."""
    settings: dict[str, Any] = {
        "subject": "mine",
        "level": "quick",
        "seeds": 6,
        "date": "2026-11-25",
    } | others
    return Card(
        versions={"attnexp": "0.1.0"},
        results_version=RESULTS_VERSION,
        processor="a processor",
        device="cpu",
        wall_minutes=1.5,
        trials=list(trials),
        **settings,
    )
