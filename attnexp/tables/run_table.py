"""The table with one row a run."""

from collections.abc import Sequence

import pandas as pd

from attnexp.runs.frame import Frame, depends_only_on, varying
from attnexp.runs.names import short_names
from attnexp.tables.table import Column, Grid, Report, cell

ALWAYS = ("model", "data", "seed")


def runs_report(frame: Frame, metrics: Sequence[str]) -> Report:
    """Model, data, seed, what differs between the runs, and the metrics (all, where none is named).

    What follows from the choice of data is not repeated. The records hold every column there is.
    """
    table = frame.table
    told = [
        name
        for name in varying(frame)
        if name not in ALWAYS and not depends_only_on(table, name, ["data"])
    ]
    status = ["status"] if (table["status"] != "finished").any() else []
    shown = [*(name for name in ALWAYS if name in table), *told, *status]
    names = short_names(shown)
    ordered = list(metrics) or in_order(frame)
    heads = [
        *(Column(names[name], right=pd.api.types.is_numeric_dtype(table[name])) for name in shown),
        *(Column(name, right=True, spare=i > 0) for i, name in enumerate(ordered)),
    ]
    rows = [
        [cell(value) for value in row]
        for row in table[[*shown, *ordered]].astype(object).itertuples(index=False, name=None)
    ]
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return Report([Grid(heads, rows)], [{str(k): v for k, v in r.items()} for r in records])


def in_order(frame: Frame) -> list[str]:
    """The metrics: those that runs are compared by, others that rank, and those that describe."""
    primary = [name for name in frame.table["primary"].unique() if name in frame.metrics]
    return list(dict.fromkeys([*primary, *frame.better, *frame.metrics]))
