"""The words for numbers of a run: a metric, `probe.INTERVENTION.METRIC`, or `DETAIL@PLACE`.

`--metric`, `--sort`, `--where`, claims, exercises and `hydra/sweeper=tuned` take these words.
`exact_match_by_length@16` is exact match at sources of 16 symbols.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from attnexp.core.errors import RequestError, nearest_text
from attnexp.runs.files import is_finite
from attnexp.runs.folder import Run
from attnexp.runs.probed import on_test
from attnexp.runs.summary import LENGTHS
from attnexp.select.frame import Frame

PROBED = "probe."
"""The prefix of numbers that `attnexp probe` stored."""

AT = "@"
"""The sign between a detail and a place in it."""


def is_compound(word: str) -> bool:
    """Return whether a word names a number that is not a metric of summary.json."""
    return word.startswith(PROBED) or AT in word


def metric_of(word: str) -> str:
    """Return the metric whose unit and direction a number has.

    This is `exact_match` for `probe.hard.exact_match` and `exact_match_by_length@16`.
    """
    if word.startswith(PROBED):
        return word.rpartition(".")[2]
    detail, at, _ = word.partition(AT)
    return detail.partition("_by_")[0] if at else word


def number_of(run: Run, word: str) -> float | None:
    """Return a number of a run; None if the run does not have it or if it is not finite."""
    if word.startswith(PROBED):
        intervention, _, metric = word.removeprefix(PROBED).rpartition(".")
        value = on_test(run.interventions).get(intervention, {}).get(metric)
    elif AT in word:
        detail, _, place = word.partition(AT)
        value = run.summary.details.get(detail, {}).get(place)
    else:
        value = run.metrics.get(word)
    return value if value is not None and is_finite(value) else None


def numbers_of(runs: Iterable[Run]) -> list[str]:
    """Return the words for all numbers that some run has."""
    found: dict[str, None] = {}
    for run in runs:
        found |= dict.fromkeys(run.metrics)
        for detail, values in run.summary.details.items():
            found |= dict.fromkeys(f"{detail}{AT}{place}" for place in values)
        for intervention, numbers in on_test(run.interventions).items():
            found |= dict.fromkeys(f"{PROBED}{intervention}.{metric}" for metric in numbers)
    return list(found)


def with_numbers(frame: Frame, words: Sequence[str]) -> Frame:
    """Return a frame in which the numbers of compound words are metrics, too.

    A number has the unit and the direction of its metric, and the chance if measured at the place.
    Raises RequestError for a number that no run of the frame has.
    """
    asked = [word for word in dict.fromkeys(words) if is_compound(word)]
    for word in asked:
        if word in frame.data:
            continue
        column = np.array([number_of(run, word) for run in frame.runs], dtype=float)
        if np.isnan(column).all():
            raise RequestError(_missing(frame.runs, word))
        metric, chance = metric_of(word), _chance_of(word)
        columns = {word: column}
        companions = frame.companions
        if chance and any(number_of(run, chance) is not None for run in frame.runs):
            columns[chance] = np.array([number_of(run, chance) for run in frame.runs], dtype=float)
            companions = companions | {word: {"chance": chance}}
        frame = replace(
            frame,
            data=frame.data.assign(**columns),
            metrics=(*frame.metrics, word),
            better=frame.better | _declared(frame.better, metric, word),
            units=frame.units | _declared(frame.units, metric, word),
            companions=companions,
        )
    return frame


def _chance_of(word: str) -> str:
    """Return the word for the chance of a detail at a place; empty for other numbers.

    For `exact_match_by_length@16` this is `exact_match_chance_by_length@16`.
    """
    detail, at, place = word.partition(AT)
    metric, by, cut = detail.partition("_by_")
    return f"{metric}_chance_by_{cut}{AT}{place}" if at and by else ""


def require_number(frame: Frame, word: str) -> Frame:
    """Return `with_numbers` of one word. Also raises RequestError for a metric that no run has."""
    frame = with_numbers(frame, [word])
    if word not in frame.metrics or frame.data[word].isna().all():
        raise RequestError(_missing(frame.runs, word))
    return frame


def _declared(known: dict[str, str], metric: str, word: str) -> dict[str, str]:
    return {word: known[metric]} if metric in known else {}


def lengths_notes(runs: Iterable[Run]) -> list[str]:
    """Return the distinct notes of runs on the lengths of sources."""
    notes = (note for run in runs for note in run.summary.notes)
    return list(dict.fromkeys(note for note in notes if note.startswith(LENGTHS)))


def _missing(runs: Sequence[Run], word: str) -> str:
    """Return that no run has a number, the nearest names, and the command that measures it."""
    sentence = f"nothing has the number '{word}' yet."
    sentence += nearest_text(word, numbers_of(runs))
    if word.startswith(PROBED):
        intervention = word.removeprefix(PROBED).rpartition(".")[0] or "INTERVENTION"
        sentence += f" `attnexp probe RUN {intervention}` measures what it can."
    if "_by_length@" in word:
        sentence += "".join(f" {note.capitalize()}." for note in lengths_notes(runs))
    return sentence.removesuffix(".")
