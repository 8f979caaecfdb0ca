"""The reads of a module while it runs, found in its syntax tree.

A file, an environment variable, or a module whose name is computed is not part of the syntax tree
that reads it. The search goes by the names of functions, so it finds the usual ways, not all.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

READERS = {
    *("open", "read_text", "read_bytes", "getenv", "import_module", "__import__"),
    *("spec_from_file_location", "run_path", "run_module", "get_data", "urlopen", "urlretrieve"),
    *("fromfile", "loadtxt", "genfromtxt", "memmap", "load_file", "safe_open"),
    "load_state_dict_from_url",
}
"""The names of functions and methods that read, whatever they belong to."""

OF_MODULES = re.compile(r"load(_(?!state_dict).*)?|read_.*")
"""The names of functions that read if they are a module's: `torch.load`, `pandas.read_csv`."""

ENVIRONMENT = {"os.environ", "os.environb"}

WRITES = re.compile(r"[wax][bt]?")


class Read(NamedTuple):
    """Something that reads: its line, and its name with the names of imports written out."""

    line: int
    what: str


def reads_in(tree: ast.AST) -> tuple[Read, ...]:
    """Return the reads in a syntax tree, by line."""
    nodes = list(ast.walk(tree))
    imported = dict(_imported(nodes))
    found = {
        Read(node.lineno, what)
        for node in nodes
        if isinstance(node, ast.Call | ast.Attribute | ast.Name)
        and (what := _what(node, imported)) is not None
    }
    return tuple(sorted(found))


def _what(node: ast.Call | ast.Attribute | ast.Name, imported: Mapping[str, str]) -> str | None:
    """Return the name of the read in a node, None if it reads nothing."""
    if not isinstance(node, ast.Call):
        name = _name(node, imported)
        return name if name in ENVIRONMENT else None
    name = _name(node.func, imported)
    owner, _, function = name.rpartition(".")
    of_module = bool(owner) and owner.partition(".")[0] in {
        full.partition(".")[0] for full in imported.values()
    }
    if function in READERS or (of_module and OF_MODULES.fullmatch(function)):
        return None if function == "open" and _writes(node) else f"{name}()"
    return None


def _imported(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that imports define, each with its full name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                short = alias.name.partition(".")[0]
                yield alias.asname or short, alias.name if alias.asname else short
        elif isinstance(node, ast.ImportFrom):
            module = f"{node.module}." if node.module else ""
            yield from ((alias.asname or alias.name, module + alias.name) for alias in node.names)


def _name(node: ast.AST, imported: Mapping[str, str]) -> str:
    """Return the dotted name of an expression, with the names of imports written out.

    Calls are written without arguments, as in `Path().open`. Of an index, and of anything else
    without a name, only the attributes behind it are written.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(imported.get(node.id, node.id))
    elif isinstance(node, ast.Call):
        parts.append(f"{_name(node.func, imported)}()")
    return ".".join(reversed(parts))


def _writes(call: ast.Call) -> bool:
    """Return whether a call of `open` has a mode that only writes."""
    modes = [*call.args[:2], *(word.value for word in call.keywords if word.arg == "mode")]
    return any(
        isinstance(mode, ast.Constant) and WRITES.fullmatch(str(mode.value)) is not None
        for mode in modes
    )
