"""Writes the wings in docs/inside.md from the table of parts: `python docs/inside.py`.

The table of parts is `PARTS` in tests/test_layers.py, which checks every import against it.
"""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent / "inside.md"
LAYERS = PAGE.parent.parent / "tests" / "test_layers.py"
TABLE = re.compile(r"<!-- wings -->\n(?:\n(?:\|.*\n)+)?")

WINGS = {
    "the command line": "cli",
    "whole studies": "attend cards claims course d2l notebooks",
    "running": "config probe sweeps tracing training",
    "mathematics": "scores normalizers estimators attention architectures data tasks",
    "comparing": "stats select tables plots report",
    "stored runs": "runs trackers imported version",
    "for all": "core",
}
"""The parts of each wing, from the top of the house."""


def parts() -> dict[str, list[str]]:
    """Return the parts that each part may import."""
    tree = ast.parse(LAYERS.read_text(encoding="utf-8"))
    (table,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PARTS"
    )
    return {part: others.split() for part, others in ast.literal_eval(table).items()}


def imports(wing: str) -> list[str]:
    """Return the other wings that a wing imports parts of."""
    used = {name for part in WINGS[wing].split() for name in parts()[part]}
    return [other for other in WINGS if other != wing and used.intersection(WINGS[other].split())]


def written(page: str) -> str:
    """Return the page with its table written anew."""
    rows = ["| wing | its parts | imports |", "|---|---|---|"]
    for wing, names in WINGS.items():
        rows.append(f"| **{wing}** | {', '.join(names.split())} | {', '.join(imports(wing))} |")
    return TABLE.sub(lambda _: "\n".join(["<!-- wings -->", "", *rows, ""]), page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
