"""Commands on runs with huge, infinite and tiny metrics."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from attnexp.notebooks.runs import load_runs

INFINITE = "1.7976931348623157e308"
"""The text in which other tools store infinity: the largest float."""

KINDS = {
    "huge": ["1e200", "1.797e308", "-1.7e308", "3e154"],
    "infinite": [INFINITE, "0.5", "0.25", f"-{INFINITE}"],
    "tiny": ["1e-320", "5e-324", "2e-200", "1e-160"],
    "mixed": ["1e200", "1e-320", "0.5", "1e154", "-1e300"],
}
IMPORTED = ("--settings", "model", "--metrics", "acc", "--output", "there")


@pytest.mark.parametrize("kind", KINDS)
def test_no_magnitude_ends_a_command(succeeds, tmp_path, kind):
    values = KINDS[kind]
    given = {
        "dot": [values[s % len(values)] for s in range(7)],
        "cosine": [values[(2 * s + 1) % len(values)] for s in range(7)],
        "additive": [f"0.{s + 1}" for s in range(7)],
    }
    rows = [f"{s},{model},{v}" for model, row in given.items() for s, v in enumerate(row)]
    Path("runs.csv").write_text("\n".join(["seed,model,acc", *rows, ""]))
    succeeds("import", "csv", "runs.csv", *IMPORTED)
    for form in ("table", "csv", "latex", "markdown"):
        succeeds("results", "there", "--explain", "--format", form)
    shown = json.loads(succeeds("results", "there", "--format", "json").stdout)["rows"]
    means = {row["model"]: row["mean"] for row in shown}
    finite = [Fraction(float(v)) for row in given.values() for v in row if INFINITE not in v]
    for model, row in given.items():  # an infinite one diverged, and counts as the worst
        counted = [min(finite) if INFINITE in v else Fraction(float(v)) for v in row]
        expected = float(sum(counted) / len(counted))
        assert means[model] == pytest.approx(expected, rel=1e-12, abs=5e-324)
    succeeds("report", "there", "--static", "--output", "page.html")
    succeeds("status", "there")
    known = load_runs("there").table["acc"].dropna()
    assert len(known) == sum(INFINITE not in row for row in rows)
