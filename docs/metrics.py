"""Writes the tables of docs/metrics.md from the declared metrics: `python docs/metrics.py`.

A table follows the comment that names its metrics: `<!-- attnexp.tasks.seq2seq.METRICS -->`.
"""

import pkgutil
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "metrics.md"
HEAD = "| metric | better | unit | what |\n|---|---|---|---|\n"
TOLD = re.compile(r"; of the best head$|[,;] mean over queries\b")
"""What the page says of all metrics of weights, before their table."""
TABLE = re.compile(r"<!-- (attnexp\.[\w.]+) -->\n\n(?:\|.*\n)*")


def written(page: str) -> str:
    """Return a page with its tables written anew."""
    return TABLE.sub(lambda found: f"<!-- {found[1]} -->\n\n{table(found[1])}", page)


def table(metrics: str) -> str:
    """Return the table of the metrics under a dotted name, one row for each."""
    rows = (
        f"| `{metric.name}` | {metric.better or ''} | {metric.unit} | "
        f"{TOLD.sub('', metric.doc).replace('|', '&#124;')} |\n"
        for metric in pkgutil.resolve_name(metrics)
    )
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
