"""The user's code that a configuration names, found and read without running it.

A class outside attnexp decides the numbers of a run as a setting does. So its module, and the
modules of the user's that this imports, belong to the key, as syntax trees without docstrings: a
comment, a blank line or another layout changes nothing. Installed packages are not read: the
summary has their versions. Nor are the files and variables that the code
reads while it runs: `warn_of_reads` names them.
"""

import ast
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec
from importlib.util import decode_source
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from attnexp.core import console
from attnexp.runs.code_reads import Read, reads_in
from attnexp.runs.files import OWN_CODE, UnreadableRunError, read_part, stamp, write_bytes
from attnexp.runs.key import NEUTRAL
from attnexp.runs.settings import leaves, without

NO_CODE = "-"
"""What `code_digits` returns for a run that needs no module of the user's."""

DIGITS = 12
"""Hexadecimal digits of the digest of a module."""

INSTALLED = ("site-packages", "dist-packages")

PYTHON = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))

MOST_BYTES = 200_000
"""The most bytes that a run folder holds of the texts of the user's modules."""

MOST_NAMED = 3
"""The most reads that a warning names."""


class _Module(NamedTuple):
    """The source of a module: its digest, the names that it imports, and its reads."""

    digest: str
    imports: frozenset[str]
    reads: tuple[Read, ...]


def user_code(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each module of the user's that decides the numbers, by its name.

    These are the modules of each `_target_` that is part of the key, and those that they import, in
    alphabetical order.
    """
    settings = leaves(without(config, NEUTRAL))
    targets = (value for path, value in settings if path.rpartition(".")[2] == "_target_")
    return _with_imports({str(target).rpartition(".")[0] for target in targets})


def code_digits(code: Mapping[str, str]) -> str:
    """Return six digits of a digest over all modules of `code`, NO_CODE if there are none."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(code.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:6] if lines else NO_CODE


def file_code(path: Path, name: str) -> dict[str, str]:
    """Return a digest of a file of Python, by a name for it, and of the modules it imports.

    The modules are those of the user's, as `user_code` has them.
    """
    read = _read(path, name, stamp(path))
    return {name: read.digest, **_with_imports(set(read.imports))}


def _with_imports(waiting: set[str]) -> dict[str, str]:
    """Return a digest of each of these modules that is the user's, and of those they import."""
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        for module in _with_packages(name):
            if module not in found and (path := _path(module)) is not None:
                read = _read(path, module, stamp(path))
                found[module] = read.digest
                waiting |= read.imports
    return dict(sorted(found.items()))


def write_texts(code: Mapping[str, str], folder: Path) -> None:
    """Write the text of each module of `code` into a run folder, as JSON by the module's name.

    Nothing is written if one module is not Python source in the encoding that it declares, if one
    has another digest by now, or if there are more than MOST_BYTES.
    """
    texts: dict[str, str] = {}
    for name, digest in code.items():
        path = _path(name)
        try:
            texts[name] = decode_source(path.read_bytes()) if path is not None else ""
        except (SyntaxError, ValueError, LookupError):
            return
        if path is None or text_digest(texts[name]) != digest:
            return
    content = json.dumps(texts, ensure_ascii=False, indent=1).encode(errors="replace")
    if texts and len(content) <= MOST_BYTES:
        write_bytes(folder / OWN_CODE, content)


def stored_texts(folder: Path) -> dict[str, str]:
    """Return the text of each module that a run folder holds, by its name; empty without any.

    Raises UnreadableRunError for a file that `write_texts` has not written.
    """
    path = folder / OWN_CODE
    if not os.path.lexists(path):
        return {}
    try:
        content = read_part(path, MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UnreadableRunError(f"{path} has more than {MOST_BYTES:,} bytes")
        return msgspec.json.decode(content, type=dict[str, str])
    except FileNotFoundError as error:
        raise UnreadableRunError(f"{path} is a link to a file that is not there") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error


def text_digest(text: str) -> str:
    """Return the digest that a module of this text has in a summary."""
    return _module_of(text, "").digest


def warn_of_reads(modules: Iterable[str]) -> None:
    """Warn of files and variables that the user's modules read: the key does not cover them."""
    places = [
        f"{module}, line {read.line}: {read.what}"
        for module in modules
        if (path := _path(module)) is not None
        for read in _read(path, module, stamp(path)).reads
    ]
    if places:
        named = "; ".join(places[:MOST_NAMED])
        more = f"; and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
        console.warn_aside(
            f"your code reads while it runs ({named}{more}): a change there leaves "
            "the key of a run as it is; rerun=true runs it again"
        )


def changed_modules(stored: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of the modules whose digest differs, or that only one side has."""
    return sorted(name for name in {*stored, *now} if stored.get(name) != now.get(name))


def _with_packages(name: str) -> Iterable[str]:
    """Return the module and the packages that contain it: `a`, `a.b` and `a.b.c`."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _path(name: str) -> Path | None:
    """Return the file of a module of the user's, None for any other. Nothing is imported."""
    parts = name.split(".")
    if parts[0] in ("attnexp", *sys.stdlib_module_names) or not all(map(str.isidentifier, parts)):
        return None
    *packages, module = _with_packages(name)
    places: list[str] | None = None
    for package in packages:
        found = _spec(package, places)
        if found is None:
            return None
        places = found.submodule_search_locations or []
    spec = _spec(module, places)
    if spec is None or not spec.has_location or not spec.origin:
        return None
    path = Path(spec.origin)
    is_installed = spec.origin.startswith(PYTHON) or not {*INSTALLED}.isdisjoint(path.parts)
    return None if is_installed else path


def _spec(name: str, places: list[str] | None) -> ModuleSpec | None:
    specs = (finder.find_spec(name, places) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


@lru_cache(maxsize=4096)
def _read(path: Path, module: str, _stamp: tuple[int, ...]) -> _Module:
    """Return what is known of a module from its file. A file with the same stamp is read once."""
    content = path.read_bytes() if os.path.isfile(path) else b""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _module_of(content, package)


def _module_of(source: str | bytes, package: str) -> _Module:
    """Return what is known of a module of a package from its source.

    Content that is not Python source has the digest of its bytes.
    """
    content = source if isinstance(source, bytes) else source.encode(errors="surrogatepass")
    imports: frozenset[str] = frozenset()
    reads: tuple[Read, ...] = ()
    try:
        tree = ast.parse(source)
        imports = frozenset(_imports(tree, package))
        reads = reads_in(tree)
        content = _text(tree).encode(errors="surrogatepass")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return _Module(hashlib.sha256(content).hexdigest()[:DIGITS], imports, reads)


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
    """Return a syntax tree as text without docstrings and line numbers, the same in every Python.

    `ast.dump` writes empty fields differently from version to version.
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
