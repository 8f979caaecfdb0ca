"""The cells of a notebook over the files of runs, from templates in Markdown.

The text in a run folder may be somebody else's. A cell of code holds nothing of it but Python's own
spelling of a text, and a cell of Markdown holds names as code, in which nothing has a meaning.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from attnexp.errors import RequestError, shortened
from attnexp.notebooks.run import NotebookRun
from attnexp.notebooks.runs import NotebookRuns
from attnexp.plots.catalogue import first_figures
from attnexp.runs.folder import Run
from attnexp.runs.settings import clean
from attnexp.select.frame import make_frame
from attnexp.select.groups import Comparison

LONGEST_NAME = 200
"""The most characters of a name in a cell of Markdown."""

CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run_notebook(run: NotebookRun, path: str) -> bytes:
    """Return the notebook about one run, at a path as seen from the notebook.

    It leaves out what the run does not have, so that all cells work. Raises RequestError for files
    that cannot be read.
    """
    from attnexp.architectures.kernel_regression import KernelRegression
    from attnexp.attention.pooling import AttentionPooling

    run.check_files()
    pooling, problem = None, ""
    if run.has_attention:
        try:
            model = run.trained_model()
            pooling = model.pooling if isinstance(model, KernelRegression) else None
        except RequestError as error:
            problem = str(error)
    by_hand = isinstance(pooling, AttentionPooling)
    shown = {"variable": "run", "pictures": _pictures(run)}
    return _notebook("run.md", run=run, path=path, problem=problem, by_hand=by_hand, **shown)


def comparison_notebook(runs: NotebookRuns, paths: Sequence[str]) -> bytes:
    """Return the notebook about the runs at or below paths as seen from the notebook."""
    frame = make_frame(runs)
    groups = [name for name in ("data", "model") if name in frame.choices]
    primary = dict.fromkeys(frame.column("primary").tolist()) if groups else {}
    metrics = [name for name in primary if name in frame.metrics]
    alone = runs.comparisons[0] if len(runs.comparisons) == 1 else None
    shown = {"variable": "runs", "pictures": _pictures(alone) if alone else {}}
    return _notebook("runs.md", runs=runs, paths=paths, groups=groups, metrics=metrics, **shown)


def _pictures(subject: Run | Comparison) -> dict[str, str]:
    """Return the names of the pictures of a subject, each with why it cannot be drawn, or ''."""
    return {name: found if isinstance(found, str) else "" for name, found in first_figures(subject)}


def _notebook(template: str, **values: Any) -> bytes:
    """Return the file of a notebook that has not been executed, in version 4.5 of the format."""
    environment = Environment(
        loader=PackageLoader("attnexp.notebooks", "template"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"repr": repr, "named": _named}
    parts = CODE.split(environment.get_template(template).render(values))
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(parts):  # text and code take turns
        if source := part.strip():
            code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}
            kind = code if number % 2 else {"cell_type": "markdown"}
            identity = {"id": f"cell-{len(cells) + 1}", "metadata": {}}
            cells.append({**identity, **kind, "source": source})
    content = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, indent=1) + "\n").encode("ascii")


def _named(name: str) -> str:
    """Return text from a run folder as code in Markdown, which no character in it can end."""
    shown = shortened(clean(name), LONGEST_NAME).replace("`", "'").strip()
    return f"`{shown or '?'}`"
