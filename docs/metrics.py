"""Writes the tables of docs/metrics.md from the declared metrics: `python docs/metrics.py`.

A table follows the comment that names its metrics: `<!-- attnexp.tasks.seq2seq.METRICS -->`.
The Chinese page keeps its texts. A metric that it lacks has its English row there.
"""

import pkgutil
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "metrics.md"
CHINESE_PAGE = PAGE.parent / "zh" / "metrics.md"
HEAD = "| metric | better | unit | what |\n|---|---|---|---|\n"
ROW = re.compile(r"^\| `(\w+)` \|.*\n", re.MULTILINE)
TOLD = re.compile(r"; of the best head$|[,;] mean over queries\b")
"""What the page says of all metrics of weights, before their table."""
TABLE = re.compile(r"<!-- (attnexp\.[\w.]+) -->\n\n(?:\|.*\n)*")


def written(page: str) -> str:
    """Return a page with its tables written anew."""
    return TABLE.sub(lambda found: f"<!-- {found[1]} -->\n\n{table(found[1])}", page)


def written_in_chinese(page: str) -> str:
    """Return the Chinese page with a row for each metric, its own or else the English one."""

    def kept(found: re.Match) -> str:
        own = {row[1]: row[0] for row in ROW.finditer(found[0])}
        head, *_ = ROW.split(found[0], maxsplit=1)
        return head + ROW.sub(lambda row: own.get(row[1], row[0]), rows(found[1]))

    return TABLE.sub(kept, page)


def table(metrics: str) -> str:
    """Return the table of the metrics under a dotted name."""
    return HEAD + rows(metrics)


def rows(metrics: str) -> str:
    """Return a row for each of the metrics under a dotted name."""
    return "".join(
        f"| `{metric.name}` | {metric.better or ''} | {metric.unit} | "
        f"{TOLD.sub('', metric.doc).replace('|', '&#124;')} |\n"
        for metric in pkgutil.resolve_name(metrics)
    )


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    chinese = CHINESE_PAGE.read_text(encoding="utf-8")
    CHINESE_PAGE.write_text(written_in_chinese(chinese), encoding="utf-8")
