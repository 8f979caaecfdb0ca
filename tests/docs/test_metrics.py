"""docs/metrics.md has every metric as it is declared."""

from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize("task", ["regression", "seq2seq"])
def test_the_tables_are_as_declared(task):
    from attnexp.tasks import regression, seq2seq

    for metric in {"regression": regression, "seq2seq": seq2seq}[task].METRICS:
        doc = metric.doc.replace("|", "&#124;")
        assert f"| `{metric.name}` | {metric.better or ''} | {metric.unit} | {doc} |\n" in PAGE
