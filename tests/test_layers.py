"""Which part of attnexp may import which: the architecture, as a table that is checked."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "attnexp"

LAYERS = {
    # A part: the parts of attnexp that it may import. Everybody may import `errors`.
    "errors": set(),
    "batch": set(),
    "scores": set(),
    "attention": {"scores"},
    "architectures": {"attention", "scores", "batch"},
    "data": {"batch"},
    "tasks": {"architectures", "attention", "data", "batch"},
    "optimizers": set(),
    "schedules": set(),
    "train": {"architectures", "batch", "data", "tasks"},
    "catalogue": set(),
    "settings": set(),
    "device": set(),
    "key": set(),
    "record": set(),
    "screen": set(),
    "results": {"catalogue", "key", "record", "screen"},
    "arguments": set(),
    "trackers": {"lock", "record", "screen"},
    "pictures": {"arguments", "record", "results", "screen"},
    "lock": {"screen"},
    "summary": {"key", "record"},
    "job": {"key", "record"},
    "tensors": {"batch", "record", "tasks"},
    "build": {
        "architectures",
        "catalogue",
        "data",
        "device",
        "job",
        "settings",
        "tasks",
        "tensors",
        "trackers",
        "train",
    },
    "run": {
        "architectures",
        "build",
        "data",
        "device",
        "pictures",
        "record",
        "screen",
        "summary",
        "tasks",
        "tensors",
        "train",
    },
    "answer": {"architectures", "batch", "data"},
    "decode": {
        "answer",
        "architectures",
        "arguments",
        "batch",
        "build",
        "pictures",
        "record",
        "screen",
        "tensors",
    },
    "sweeps": {"build", "job", "key", "lock", "record", "results", "run", "screen", "summary"},
    "explain": {"settings"},
    "compose": {
        "build",
        "catalogue",
        "explain",
        "job",
        "key",
        "lock",
        "record",
        "run",
        "screen",
        "sweeps",
    },
    "help": {"catalogue", "cli", "screen"},
    "cli": {"arguments", "compose", "help", "screen"},
}

HYDRA = {"build", "compose", "explain", "job", "sweeps"}
"""The only parts that know Hydra and OmegaConf."""


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Full names of the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


FILES = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem[0] != "_"]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_imports_stay_within_the_table(path):
    part = part_of(path)
    assert part in LAYERS, f"{part} is missing from the table"
    used = {
        name.split(".")[1]
        for name in imports(path)
        if name.startswith("attnexp.") and name != "attnexp.__version__"
    }
    assert used - {part, "errors"} <= LAYERS[part]
    if part not in HYDRA:
        assert not {name for name in imports(path) if name.split(".")[0] in ("hydra", "omegaconf")}


def test_nothing_imports_the_composition_root_but_what_drives_it():
    assert {part for part, used in LAYERS.items() if "run" in used} == {"compose", "sweeps"}


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (["--help"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["--version"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf", "rich"}),
        (["results"], {"torch", "matplotlib", "hydra"}),
        (["--cfg", "job"], {"torch", "matplotlib", "pandas"}),
        (["-sc", "query=bash"], {"torch", "matplotlib", "pandas"}),
        (["model=dott"], {"torch", "matplotlib", "pandas"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_light_commands_import_nothing_heavy(arguments, forbidden, tmp_path):
    code = (
        "import sys\n"
        "from attnexp.cli import run\n"
        f"run({arguments!r})\n"
        f"heavy = {forbidden!r} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(PACKAGE.parent), "PATH": "", "COMP_LINE": "attnexp mo"},
    )
    assert answer.returncode == 0, answer.stderr
