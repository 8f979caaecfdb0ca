"""The cells of a notebook over the files of runs.

What stands in a run folder may be somebody else's. A cell of code holds nothing of it but Python's
own spelling of a text, and a cell of Markdown holds names as code, in which nothing has a meaning.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attnexp.errors import RequestError, shortened
from attnexp.notebooks.run import NotebookRun
from attnexp.notebooks.runs import NotebookRuns
from attnexp.plots.catalogue import PICTURES, first_figure
from attnexp.runs.configurations import Comparison
from attnexp.runs.frame import make_frame
from attnexp.runs.run import Run
from attnexp.runs.settings import clean

LONGEST_NAME = 200
"""Letters of a name that a cell of Markdown shows."""

SEEN = {
    "fit": "The line is what the run answers; the points are those that it was trained on.",
    "attention": "A row is a query, a column is a key. The weights of a row sum to 1, or to less "
    "where the normalizer withholds some.",
    "loss": "The losses after each epoch.",
    "growth": "One map after some epochs of training.",
    "lengths": "The share of right answers against their length.",
    "encoding": "The vectors that tell symbols their positions.",
    "difference": "Two maps, and the first minus the second.",
}
"""What is to be seen on a picture."""

MODEL = """The trained model answers the kept test examples once more. Below are the largest
differences between its weights and the stored ones: a few rounding errors, but more where the run
kept some of the keys alone, or computed on a GPU or with `precision=bf16`."""

AGAIN = """import torch

model = run.trained_model()
with torch.no_grad():
    again = model(run.batch, need_weights=True).weights
{name: float(abs(own.numpy() - run.attention[name]).max()) for name, own in again.items()}"""

STEPS = """The same weights step by step: the score compares each query with each key, and the
normalizer turns a row of scores into weights."""

BY_HAND = """pooling = model.pooling
queries, keys = model.phi(run.batch.queries), model.phi(run.batch.keys)
with torch.no_grad():
    by_hand = pooling.normalizer(pooling.score(queries, keys), run.batch.mask)
float(abs(by_hand.numpy() - weights[:, 0, 0]).max())"""

POINTS = """## Questions

1. How many training points hold 90% of the weight of a query? Where are they few, and why there?
2. Train a copy of the run with another width, or another `model=`. Which map is sharper, and which
   of the two fits better?"""

SYMBOLS = """## Questions

1. Which key has the largest weight of each query? For which of them is it not where you expected?
2. Train a copy of the run with `model=average`, whose weights are all the same. What can the model
   still answer, and what not?"""

SHARES = """import numpy as np

largest_first = np.sort(weights[0, 0, 0], axis=-1)[:, ::-1]
(largest_first.cumsum(axis=-1) < 0.9).sum(axis=-1) + 1"""

LARGEST = "weights[:, -1].mean(axis=1).argmax(axis=-1)"

Cell = dict[str, Any]


def notebook(cells: Iterable[Cell]) -> bytes:
    """Return the file of a notebook that has not been executed, in version 4.5 of the format."""
    content = {
        "cells": [{"id": f"cell-{place}", **cell} for place, cell in enumerate(cells, start=1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, indent=1) + "\n").encode("ascii")


def run_cells(run: NotebookRun, path: str) -> Iterator[Cell]:
    """Yield the cells about one run, which lies at a path as seen from the notebook.

    What the run does not have is left out, so that all cells work. Raises RequestError for files
    that cannot be read.
    """
    run.check_files()
    yield _text(f"# {_named(run.model)} on {_named(run.data)}, seed {run.seed}")
    yield _code(f"import attnexp\n\nrun = attnexp.load_run({path!r})\nrun")
    yield _text("## What the run was", "The names that were chosen, and the settings behind them.")
    yield _code("dict(run.choices)")
    yield _code("dict(run.settings)")
    if run.epochs:
        yield _text("## Its course", "A row is an epoch.")
        yield _code("run.history.tail()")
    if run.prediction_rows:
        yield _text("## Its answers to the test set")
        yield _code("run.predictions.head()")
    yield from _pictures("run", run)
    if run.has_attention:
        yield from _attention(run)


def comparison_cells(runs: NotebookRuns, paths: Sequence[str]) -> Iterator[Cell]:
    """Yield the cells about the runs at or below paths as seen from the notebook."""
    yield _text(f"# {len(runs)} runs")
    listed = ", ".join(map(repr, paths))
    yield _code(f"import attnexp\n\nruns = attnexp.load_runs({listed})\nruns")
    yield _text("## As a DataFrame", "A row is a run, a column a setting, a metric or a cost.")
    yield _code("runs.table")
    frame = make_frame(runs)
    groups = [name for name in ("data", "model") if name in frame.choices]
    for metric in dict.fromkeys(frame.column("primary").tolist()):
        if groups and metric in frame.metrics:
            yield _text(f"The mean of {_named(metric)} over the seeds, and how far they are apart.")
            yield _code(f'runs.table.groupby({groups})[{metric!r}].agg(["count", "mean", "std"])')
    if len(runs.comparisons) == 1:
        yield from _pictures("runs", runs.comparisons[0])
    else:
        yield _text(
            "## Pictures",
            "Runs on the same data share a picture: choose them by `runs.where`, such as "
            '`runs.where("data=reverse").plot("attention")`.',
        )


def _pictures(variable: str, subject: Run | Comparison) -> Iterator[Cell]:
    for picture in PICTURES:
        try:
            there = first_figure(picture, subject) is not None
        except RequestError as error:
            yield _text(f"## Picture: {picture.name}", f"It cannot be drawn: {_named(str(error))}")
        else:
            if there:
                yield _text(f"## Picture: {picture.name}", SEEN.get(picture.name, ""))
                yield _code(f"{variable}.plot({picture.name!r})")


def _attention(run: NotebookRun) -> Iterator[Cell]:
    """Yield the cells about the weights as numbers, and how they come about."""
    from attnexp.architectures.kernel_regression import KernelRegression
    from attnexp.attention.pooling import AttentionPooling

    yield _text("## The weights", "Their axes are (examples, layers, heads, queries, keys).")
    yield _code(f"weights = run.attention[{run.attention.main!r}]\nweights.shape")
    yield _code("weights.sum(axis=-1).round(4)")
    yield _text("## The weights again", MODEL)
    try:
        model = run.trained_model()
    except RequestError as error:
        yield _text(f"They cannot be computed here: {_named(str(error))}")
    else:
        yield _code(AGAIN)
        if isinstance(model, KernelRegression) and isinstance(model.pooling, AttentionPooling):
            yield _text(STEPS)
            yield _code(BY_HAND)
    if run.attention.source_vocab:
        yield _text(SYMBOLS)
        yield _code(LARGEST)
    else:
        yield _text(POINTS)
        yield _code(SHARES)


def _text(*paragraphs: str) -> Cell:
    return {
        "cell_type": "markdown",
        "metadata": {},
        "source": "\n\n".join(filter(None, paragraphs)),
    }


def _code(source: str) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _named(name: str) -> str:
    """Return text from a run folder as code in Markdown, which no letter in it can end."""
    shown = shortened(clean(name), LONGEST_NAME).replace("`", "'").strip()
    return f"`{shown or '?'}`"
