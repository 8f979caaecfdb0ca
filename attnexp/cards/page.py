"""The page of a card, and its table in the terminal."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.judge import counts, largest, learned_text, verdicts
from attnexp.core.console import number_text
from attnexp.report.results import grid_content
from attnexp.select.number import AT
from attnexp.select.sample import standings, with_diverged
from attnexp.tables.grid import Cell, Grid, Head, Report

SKIP = "skip"
"""The text of a number that was not measured."""

FEW_PLACES = 3
"""The places from which numbers of one name are a curve."""

REMARKS = (
    "Settings were tuned for each row by the same budget, on validation data, at a seed that is "
    "not compared; the parameters are the best on validation data.",
    "Seeds that learned are compared first, by Fisher's exact test, then means, by sign flips of "
    "the differences paired by seed. Each trial has its own 5%: of twenty trials without a "
    "difference, one may show one.",
)
"""The remarks on every card."""


def summary_sentences(card: Card) -> list[str]:
    """Return how often the subject was better, worse or neither, and the largest differences."""
    found = [verdict for trial in card.trials for verdict in verdicts(trial)]
    sentences = []
    for baseline in dict.fromkeys(verdict.baseline for verdict in found):
        own = [verdict for verdict in found if verdict.baseline == baseline]
        told = ", ".join(f"{word} {number}" for word, number in counts(own))
        sentences.append(f"{card.subject} next to {baseline}, in {len(own)} trials: {told}")
    named = largest(found)
    if named:
        sentences.append("The largest differences: " + "; ".join(v.sentence for v in named))
    return sentences


def overview(card: Card) -> Grid:
    """Return a table with a row per trial: the means, and the verdict on each baseline."""
    labels = list(dict.fromkeys(row.label for trial in card.trials for row in trial.rows))
    heads = [Head("trial"), Head("metric")]
    heads += [Head(label, right=True) for label in labels]
    heads += [Head(f"next to {label}") for label in labels[1:]]
    rows = [_overview_row(trial, labels) for trial in card.trials]
    caption = "Means over seeds; in parentheses the seeds that learned."
    return Grid(heads, rows, card.subject, caption)


def _overview_row(trial: TrialResult, labels: Sequence[str]) -> list[Cell]:
    rows = {row.label: row for row in trial.rows}
    words = {verdict.baseline: verdict.word for verdict in verdicts(trial)}
    means = [_mean(trial, rows.get(label)) for label in labels]
    said = [words.get(label, SKIP) for label in labels[1:]]
    return [
        Cell(trial.name),
        Cell(trial.metric),
        *map(Cell, means),
        *(Cell(word, strong=word in ("better", "worse")) for word in said),
    ]


def _mean(trial: TrialResult, row: RowResult | None) -> str:
    values = [] if row is None else list(row.numbers.get(trial.metric, {}).values())
    if not values:
        return SKIP
    assert row is not None
    learned = learned_text(trial, row)
    return number_text(fmean(values)) + (f" ({learned})" if learned else "")


def leaderboard(trials: Sequence[TrialResult]) -> Report:
    """Return a table with a row per subject: its mean in each trial, the best ones emphasised.

    A mean is emphasised if the row is the best of its trial or is not told apart from it.
    """
    labels = list(dict.fromkeys(row.label for trial in trials for row in trial.rows))
    cells: dict[str, list[Cell]] = {label: [Cell(label)] for label in labels}
    records: dict[str, dict[str, object]] = {label: {"row": label} for label in labels}
    for trial in trials:
        samples = with_diverged([trial.sample(row, trial.metric) for row in trial.rows])
        found = standings(samples, trial.equal_within)
        ahead = {
            row.label
            for row, standing in zip(trial.rows, found, strict=True)
            if standing.word in ("best", "tied", "equal")
        }
        rows = {row.label: row for row in trial.rows}
        for label in labels:
            row = rows.get(label)
            cells[label].append(Cell(_mean(trial, row), strong=label in ahead))
            values = [] if row is None else list(row.numbers.get(trial.metric, {}).values())
            records[label][f"{trial.name} {trial.metric}"] = fmean(values) if values else None
    heads = [Head("row"), *(Head(trial.name, right=True) for trial in trials)]
    legend = "Bold: the best of a trial, and rows that are not told apart from it."
    grid = Grid(heads, list(cells.values()), "cards", "", (), 1, legend)
    return Report([grid], list(records.values()), list(REMARKS))


def card_content(card: Card) -> dict[str, Any]:
    """Return the content of the page, which `report.render.page` writes."""
    first = {
        "name": "Overview",
        "compared": _made(card),
        "dots": None,
        "table": grid_content(overview(card)),
        "costs": None,
    }
    return {
        "title": f"{card.subject}, a card",
        "colours": [],
        "verdicts": summary_sentences(card),
        "results": [first, *map(_trial_content, card.trials)],
        "data": [
            {
                "name": trial.name,
                "result": place,
                "charts": list(_charts(trial)),
                "attention": None,
                "configurations": [],
                "computed": [],
            }
            for place, trial in enumerate(card.trials, 1)
        ],
        "every": [],
        "notes": [*REMARKS, *_lost(card)],
        "live": None,
    }


def _made(card: Card) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in card.versions.items())
    taken = sum(row.seconds for trial in card.trials for row in trial.rows) / 60
    return (
        f"--{card.level}, {card.seeds} seeds, {card.date}; {taken:.0f} minutes of one core in "
        f"training runs, {card.wall_minutes:g} minutes for this command; {card.processor}, "
        f"device={card.device}; {versions}"
    )


def _trial_content(trial: TrialResult) -> dict[str, Any]:
    numbers = [trial.metric, *(name for name in trial.columns if name != trial.metric)]
    heads = [Head("row"), *(Head(name, right=True, measured=True) for name in numbers)]
    heads += [Head("learned"), Head("tuned"), Head("without result")]
    rows = [_trial_row(trial, row, numbers) for row in trial.rows]
    harder = f" Harder by {', '.join(trial.harder)}." if trial.harder else ""
    told = "; ".join(f"next to {v.baseline}: {v.word} ({v.because})" for v in verdicts(trial))
    words = f" Settings: {' '.join(trial.words)}." if trial.words else ""
    caption = f"{told}. Source: {trial.source}.{harder}{words}"
    return {
        "name": trial.name,
        "compared": "",
        "dots": _dots(trial),
        "table": grid_content(Grid(heads, rows, trial.asks, caption)),
        "costs": None,
    }


def _trial_row(trial: TrialResult, row: RowResult, numbers: Sequence[str]) -> list[Cell]:
    found = [list(row.numbers.get(name, {}).values()) for name in numbers]
    tuned = ", ".join(f"{name}={value}" for name, value in row.tuned.items())
    lost = f"{row.lost}: {row.why}" if row.lost else ""
    means = [number_text(fmean(values)) if values else SKIP for values in found]
    return [
        Cell(row.label),
        *map(Cell, means),
        Cell(learned_text(trial, row)),
        Cell(tuned),
        Cell(lost),
    ]


def _dots(trial: TrialResult) -> dict[str, Any] | None:
    samples = [(row.label, trial.sample(row, trial.metric)) for row in trial.rows]
    shown = [(label, sample) for label, sample in samples if sample.means]
    if len(shown) < 2:
        return None
    return {
        "metric": trial.metric,
        "better": trial.better,
        "log": False,
        "omitted": 0,
        "rows": [
            {
                "name": label,
                "mean": fmean(sample.means),
                "low": sample.spread.interval[0],
                "high": sample.spread.interval[1],
                "seeds": sample.means,
            }
            for label, sample in shown
        ],
    }


def _charts(trial: TrialResult) -> Iterator[dict[str, Any]]:
    """Yield a chart of each number that was measured at several places, such as lengths."""
    names = [trial.metric, *trial.columns]
    for curve in dict.fromkeys(name.partition(AT)[0] for name in names if AT in name):
        own = dict.fromkeys(name for name in names if name.partition(AT)[0] == curve)
        places = {name: float(name.partition(AT)[2]) for name in own}
        lines = [
            line
            for place, row in enumerate(trial.rows)
            if len((line := _line(place, row, places))["x"]) > 1
        ]
        if len(places) >= FEW_PLACES and lines:
            unit = " (s)" if curve == "seconds" else ""
            yield {
                "title": curve.replace("_", " "),
                "x": "length",
                "y": f"{curve.replace('_', ' ')}{unit}",
                "log": trial.better == "lower",
                "logX": True,
                "lines": lines,
                "points": [],
            }


def _line(place: int, row: RowResult, places: dict[str, float]) -> dict[str, Any]:
    found = [
        (x, list(row.numbers[name].values())) for name, x in places.items() if name in row.numbers
    ]
    found = sorted((x, values) for x, values in found if values and all(map(math.isfinite, values)))
    return {
        "label": row.label,
        "place": place,
        "seeds": max((len(values) for _, values in found), default=0),
        "x": [x for x, _ in found],
        "mean": [fmean(values) for _, values in found],
        "low": [min(values) for _, values in found],
        "high": [max(values) for _, values in found],
    }


def _lost(card: Card) -> Iterator[str]:
    for trial in card.trials:
        for row in trial.rows:
            if row.lost:
                yield f"{trial.name}: {row.label} has {row.lost} seeds without a result: {row.why}"
