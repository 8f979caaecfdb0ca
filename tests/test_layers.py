"""Which part of attnexp may import which: the architecture, as a table that is checked."""

import ast
import os
import re
import textwrap
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from imported import python

from attnexp.cli.verbs import VERBS

PACKAGE = Path(__file__).resolve().parent.parent / "attnexp"

PARTS = {
    # A part: the parts of attnexp that it may import. Everybody may import `core`.
    "core": "",
    "version": "",
    "stats": "",
    "scores": "",
    "normalizers": "scores",
    "estimators": "scores",
    "attention": "estimators normalizers scores",
    "architectures": "attention estimators normalizers scores",
    "d2l": "architectures data normalizers plots runs scores",
    "data": "runs",
    "tasks": "architectures attention data",
    "runs": "version",
    "select": "runs stats",
    "tables": "runs select stats",
    "plots": "runs select stats tables",
    "report": "plots runs select stats tables",
    "trackers": "runs",
    "imported": "runs",
    "training": "architectures data plots runs scores tasks trackers",
    "config": "architectures attention data estimators normalizers probe runs scores tasks "
    "trackers training",
    "sweeps": "architectures config plots runs select stats tables training",
    "notebooks": "architectures attention config plots runs select sweeps tables",
    "probe": "architectures attention data estimators normalizers runs scores stats tasks training",
    "tracing": "architectures attention data normalizers probe report scores training",
    "cards": "attention config report runs select stats sweeps tables training",
    "claims": "config plots runs select stats sweeps training",
    "attend": "attention config normalizers plots report runs scores tracing",
    "course": "claims config data runs scores select stats tables",
    "cli": "architectures attend attention cards claims config course data imported normalizers "
    "notebooks plots probe report runs scores select stats sweeps tables tasks tracing "
    "training version",
}
LAYERS = {part: set(others.split()) for part, others in PARTS.items()}

MOST_LINES = {
    # A part: its most lines of code, without CHOICES. One that rises has a line in CHANGELOG.md.
    "core": 805,
    "version": 1,
    "stats": 721,
    "scores": 367,
    "normalizers": 198,
    "estimators": 59,
    "attention": 886,
    "architectures": 1_142,
    "d2l": 946,
    "data": 1_016,
    "tasks": 218,
    "runs": 2_006,
    "select": 1_128,
    "tables": 2_704,
    "plots": 2_187,
    "report": 515,
    "trackers": 37,
    "imported": 813,
    "training": 1_902,
    "config": 1_926,
    "sweeps": 1_790,
    "notebooks": 102,
    "probe": 814,
    "tracing": 307,
    "cards": 1_134,
    "claims": 896,
    "attend": 385,
    "course": 563,
    "cli": 2_444,
}

MOST_LINES_OF_A_CHOICE = 304

SHARED_BY_VERBS = {"arguments", "candidates", "drawing", "main", "parser", "renaming", "verbs"}
"""The modules of cli that a verb may import; `main` alone starts another verb."""

TARGET = re.compile(r"_target_: (attnexp\S+)\.\w+")
CHOICES = {
    PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    for choice in (PACKAGE.parent / "conf").rglob("*.yaml")
    for module in TARGET.findall(choice.read_text())
}
"""The files of classes that choices of conf/ name: a mechanism adds such a file."""

HYDRA = {"config", "sweeps"}
"""The only parts that know Hydra and OmegaConf."""

STORED = str(PACKAGE.parent / "tests" / "runs" / "stored" / "v2")
OF_TEXT = {"sacrebleu", "rapidfuzz", "regex"}
"""The packages that only runs on text import."""


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
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
    used = {name.removeprefix("attnexp.") for name in imports(path) if name.startswith("attnexp.")}
    allowed = LAYERS[part] | {part, "core"}
    assert not {name for name in used if not any(f"{name}.".startswith(f"{a}.") for a in allowed)}
    if part not in HYDRA:
        assert not {name for name in imports(path) if name.split(".")[0] in ("hydra", "omegaconf")}


def test_shapes_are_checked_wherever_they_are_annotated(pytestconfig):
    (packages,) = re.findall(
        r"--jaxtyping-packages=(\S+)", " ".join(pytestconfig.getini("addopts"))
    )
    *checked, _ = packages.split(",")
    for path in FILES:
        if any(name.startswith("jaxtyping.") for name in imports(path)):
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            assert any(f"{module}.".startswith(f"{each}.") for each in checked), module


def code_lines(tree: ast.Module) -> int:
    """The lines with a statement or an expression, without imports and texts that stand alone.

    Of a statement that holds others, the first line counts, and those of expressions in its head.
    """
    counted, left_out = set[int](), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            whole = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            holds = isinstance(node, ast.stmt) and hasattr(node, "body")
            counted |= {node.lineno} if holds else set(whole)
            if isinstance(node, ast.Import | ast.ImportFrom) or is_text(node):
                left_out |= set(whole)
    return len(counted - left_out)


def is_text(node: ast.AST) -> bool:
    """Whether a node is a text that stands alone, such as a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def test_code_lines_are_those_that_do_something():
    text = """
    '''A docstring.'''
    import os

    def f(  # 1
        x: int,  # 2
    ) -> int:  # 3
        '''Another,
        of two lines.'''
        # a comment
        if (x  # 4
            and x > 1):  # 5
            return [  # 6
                x,  # 7
            ]  # 8
        else:
            return x  # 9
    """
    assert code_lines(ast.parse(textwrap.dedent(text))) == 9


@pytest.mark.check
def test_no_part_has_more_code_than_its_ceiling():
    """Whether a ceiling may rise is a question of its own, which a line in CHANGELOG.md answers."""
    found = Counter[str]()
    lines = {path: code_lines(ast.parse(path.read_text())) for path in FILES}
    for path in set(FILES) - CHOICES:
        found[part_of(path)] += lines[path]
    assert found.keys() == MOST_LINES.keys() == PARTS.keys()
    assert {part: count for part, count in found.items() if count > MOST_LINES[part]} == {}
    assert {path: lines[path] for path in CHOICES if lines[path] > MOST_LINES_OF_A_CHOICE} == {}


LOOK = re.compile(r"\.(exists|is_file|is_dir)\b")

OWN_NAMES = {"marker.exists()"}
"""Looks for files that attnexp itself has named."""


def test_paths_are_looked_up_by_os_path():
    """Those of pathlib raise OSError for a name of 300 letters, which is a name of no file."""
    found = {
        f"{path.relative_to(PACKAGE)}: {ast.unparse(node)}"
        for path in FILES
        if LOOK.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and LOOK.fullmatch(f".{node.func.attr}")
        and not ast.unparse(node.func).startswith(("os.path.", "entry."))
    }
    assert {x for x in found if not {x, x.partition(": ")[2]} & OWN_NAMES} == set()


LINES = r"(collections\.abc\.)?Callable\[(\.\.\.|\[[\w.]+\[str(, \.\.\.)?\]\]), (None|int)\]"
"""The type of a function that runs a command line: of words, with an exit code or nothing."""


def ways_up(tree: ast.Module) -> list[str]:
    """The types in a file of functions that run command lines, and what it calls in cli by name."""
    expressions = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr)]
    unquoted = [text.strip("'\"") for text in expressions]
    return [x for x in unquoted if re.fullmatch(rf"{LINES}|Command|attnexp\.cli\b[\w.]*", x)]


def test_only_cli_runs_command_lines():
    below = [path for path in FILES if part_of(path) != "cli"]
    assert {path: up for path in below if (up := ways_up(ast.parse(path.read_text())))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "Command = Callable[[Sequence[str]], None]",
        "def f(run: 'Callable[[list[str]], int]'): ...",
        "def f(*, run: Callable[[tuple[str, ...]], int] | None = None): ...",
        "def f(run: collections.abc.Callable[..., None]): ...",
        "class Effort:\n    command: Command",
        "import_module('attnexp.cli.main').run(['probe', 'outputs'])",
    ],
)
def test_a_way_up_to_the_command_line_is_seen(line):
    assert ways_up(ast.parse(line))
    assert not ways_up(ast.parse("command: str\nsettings: Callable[[Sequence[str]], Mapping]"))


@pytest.mark.parametrize("module", sorted(module for module, _ in VERBS.values()))
def test_no_verb_imports_another(module):
    found = imports(PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py"))
    used = {name.split(".")[2] for name in found if name.startswith("attnexp.cli.")}
    assert used <= SHARED_BY_VERBS


def test_a_class_has_a_name_of_its_own():
    """But for choices that files name, and the names of the book."""
    found = Counter(
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, times in found.items() if times > 1} == {
        *("Cosine", "Encoder", "Seq2Seq", "TopK")
    }


def test_only_what_drives_runs_imports_the_composition_root():
    drivers = {
        part_of(path)
        for path in FILES
        if any(re.match(r"attnexp\.config\.(build|restore)\b", name) for name in imports(path))
    }
    assert drivers - {"config"} == {"attend", "cards", "cli", "notebooks", "sweeps"}


@pytest.mark.first(8)
@pytest.mark.check
@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (["--help"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf", *OF_TEXT}),
        (["--version"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf", "rich"}),
        (["results"], {"torch", "matplotlib", "hydra", *OF_TEXT}),
        (["results", STORED], {"torch", "matplotlib", "hydra", *OF_TEXT}),
        (["show", f"{STORED}/additive-reverse"], {"torch", "matplotlib", "pandas", *OF_TEXT}),
        (["status"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["claims"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf", *OF_TEXT}),
        (["attend"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["exercise", "list"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["docs"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["docs", "results"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["chapter"], {"torch", "matplotlib", "pandas", "hydra", "omegaconf"}),
        (["--cfg", "job"], {"torch", "matplotlib", "pandas"}),
        (["-sc", "query=bash"], {"torch", "matplotlib", "pandas", *OF_TEXT}),
        (["model=dott"], {"torch", "matplotlib", "pandas"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_light_commands_import_nothing_heavy(arguments, forbidden, tmp_path):
    code = (
        "import sys\n"
        "from attnexp.cli.main import run\n"
        f"run({arguments!r})\n"
        f"heavy = {forbidden!r} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    answer = python("-c", code, cwd=tmp_path, PATH="", COMP_LINE="attnexp mo")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.first(4)
@pytest.mark.check
@pytest.mark.parametrize(
    ("line", "forbidden"),
    [
        *((f"attnexp {verb} -", {"numpy", "hydra", "omegaconf"}) for verb in VERBS),
        ("attnexp plot --kind ", {"numpy", "hydra", "omegaconf"}),
        ("attnexp plot --venue ", {"numpy", "hydra", "omegaconf"}),
        ("attnexp claims ", {"numpy", "hydra", "omegaconf"}),
        ("attnexp probe ", {"hydra", "omegaconf"}),
        ("attnexp show ", {"hydra", "omegaconf"}),
        ("attnexp model=", set()),
        ("attnexp model.", set()),
    ],
)
def test_completion_imports_nothing_heavy(line, forbidden, tmp_path):
    code = (
        "import os, sys\n"
        "from attnexp.cli.completion import answer\n"
        "def leave(code):\n"
        f"    heavy = {forbidden | {'torch', 'matplotlib', 'pandas', *OF_TEXT}!r}\n"
        "    sys.exit(str(heavy & set(sys.modules)) if code or heavy & set(sys.modules) else 0)\n"
        "os._exit = leave\n"
        "answer()\n"
    )
    answer = python(
        "-c",
        code,
        cwd=tmp_path,
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=os.devnull,
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
    )
    assert answer.returncode == 0, answer.stderr
