"""The private parts of Hydra that we use are those of the version that we were written for."""

import ast
from importlib.metadata import version
from pathlib import Path

import pytest

from attnexp.config.hydra_internals import (
    BASIC_LAUNCHER,
    WRITTEN_FOR,
)

PACKAGE = Path(__file__).resolve().parents[2] / "attnexp"


@pytest.mark.parametrize("package", WRITTEN_FOR)
def test_the_installed_version_is_the_one_this_was_written_for(package):
    written, installed = WRITTEN_FOR[package], version(package)
    assert installed.startswith(tuple(f"{each}." for each in written)), (
        f"attnexp/config/hydra_internals.py uses private parts of {package} "
        f"{' and '.join(written)}, and "
        f"{package} {installed} is installed: check each of them, then raise WRITTEN_FOR"
    )


def test_the_basic_launcher_is_where_we_say():
    from hydra.utils import get_class

    assert get_class(BASIC_LAUNCHER).__name__ == "BasicLauncher"


def test_no_other_module_imports_private_parts():
    private = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.module if isinstance(node, ast.ImportFrom) else None
            if name and name.split(".")[0] in ("hydra", "omegaconf") and "._" in name:
                private.setdefault(path.name, []).append(name)
    assert set(private) == {"hydra_internals.py"}
