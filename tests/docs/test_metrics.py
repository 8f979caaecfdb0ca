"""docs/metrics.md has every metric as it is declared."""

import pkgutil
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize(
    "metrics",
    [
        "regression.METRICS",
        "seq2seq.METRICS",
        "translation.TRANSLATION_METRICS",
        "pronunciation.PRONUNCIATION_METRICS",
    ],
)
def test_the_tables_are_as_declared(metrics):
    for metric in pkgutil.resolve_name(f"attnexp.tasks.{metrics}"):
        doc = metric.doc.replace("|", "&#124;")
        assert f"| `{metric.name}` | {metric.better or ''} | {metric.unit} | {doc} |\n" in PAGE


@pytest.mark.parametrize("task", ["regression", "seq2seq"])
def test_what_stands_beside_a_metric_is_a_metric_and_has_its_column(task):
    from attnexp.tables.columns import COLUMNS
    from attnexp.tasks import regression, seq2seq

    metrics = {"regression": regression, "seq2seq": seq2seq}[task].METRICS
    beside = [pair for metric in metrics for pair in metric.beside.items()]
    assert {name for _, name in beside} <= {metric.name for metric in metrics}
    assert {head for head, _ in beside} <= {column.title for column in COLUMNS}
    assert beside
