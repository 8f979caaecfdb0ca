"""The user's code that a configuration names, found and read without running it.

A class outside attnexp decides the numbers of a run as a setting does. So its module, and the
modules of the user's that this imports, belong to the key, as syntax trees without docstrings: a
comment, a blank line or another layout changes nothing. Installed packages are not read: the
summary has their versions.
"""

import ast
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from attnexp.runs.files import stamp
from attnexp.runs.settings import leaves

DIGITS = 12
"""Hexadecimal digits of the digest of a module."""

INSTALLED = ("site-packages", "dist-packages")
"""The folders of installed packages, by name."""

PYTHON = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
"""The folders of Python's own modules."""


def user_code(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each module of the user's that a configuration needs, by its name.

    These are the modules of all `_target_`, and those that they import, in alphabetical order.
    """
    targets = (value for path, value in leaves(config) if path.rpartition(".")[2] == "_target_")
    modules = (str(target).rpartition(".")[0] for target in targets)
    waiting = {name for name in modules if all(map(str.isidentifier, name.split(".")))}
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        for module in _with_packages(name):
            if module not in found and (path := _path(module)) is not None:
                found[module], imports = _read(path, module, stamp(path))
                waiting |= imports
    return dict(sorted(found.items()))


def changed_modules(stored: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the modules that differ, or that only one of two codes has."""
    return sorted(name for name in {*stored, *now} if stored.get(name) != now.get(name))


def _with_packages(name: str) -> Iterable[str]:
    """Return the module and the packages that contain it: `a`, `a.b` and `a.b.c`."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _path(name: str) -> Path | None:
    """Return the file of a module of the user's, None for any other. Nothing is imported."""
    if _is_installed(name.partition(".")[0], tuple(sys.path)):
        return None
    spec = None
    for module in _with_packages(name):
        spec = _spec(module, None if spec is None else spec.submodule_search_locations or [])
        if spec is None:
            return None
    return _file(spec)


@lru_cache(maxsize=4096)
def _is_installed(name: str, _sys_path: tuple[str, ...]) -> bool:
    """Return whether a module at the top level is Python's, attnexp's or an installed package's."""
    if name in ("attnexp", *sys.stdlib_module_names):
        return True
    spec = _spec(name, None)
    path = None if spec is None else _file(spec)
    if path is None:
        return False
    return str(path).startswith(PYTHON) or not {*INSTALLED}.isdisjoint(path.parts)


def _file(spec: ModuleSpec | None) -> Path | None:
    """Return the file of a module, None where it has none: a package without `__init__.py`."""
    return Path(spec.origin) if spec and spec.has_location and spec.origin else None


def _spec(name: str, places: Iterable[str] | None) -> ModuleSpec | None:
    """Return where Python would find a module in these places, by default on its path."""
    if not name.rpartition(".")[2].isidentifier():
        return None
    for finder in sys.meta_path:
        found = finder.find_spec(name, places)  # type: ignore[arg-type]
        if found is not None:
            return found
    return None


@lru_cache(maxsize=4096)
def _read(path: Path, module: str, _stamp: tuple[int, ...]) -> tuple[str, frozenset[str]]:
    """Return the digest of a module, and the names that it imports.

    A file that is not Python source counts with its bytes.
    """
    content = path.read_bytes() if path.is_file() else b""
    imports: frozenset[str] = frozenset()
    try:
        tree = ast.parse(content)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        imports = frozenset(_imports(tree, package))
        content = _text(tree).encode(errors="surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return hashlib.sha256(content).hexdigest()[:DIGITS], imports


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the names of modules that may be imported; some are names inside modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(filter(None, [*(above if node.level else []), node.module]))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _text(node: Any) -> str:
    """Return a syntax tree as text, without docstrings and places, alike in all versions of Python.

    `ast.dump` writes what has no value differently from version to version.
    """
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = node.body[ast.get_docstring(node, clean=False) is not None :]
    inside = ",".join(f"{name}={_text(value)}" for name, value in fields.items())
    return f"{type(node).__name__}({inside})"
