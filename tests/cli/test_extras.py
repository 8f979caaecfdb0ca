"""Without the packages of the extras, what needs none of them works, and the rest names its own."""

import ast
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from imported import IMPORTED, python
from packaging.requirements import Requirement

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def packages_of(extra: str) -> set[str]:
    """The packages of an extra, those of the extras that it names included."""
    needed = [Requirement(line) for line in EXTRAS[extra]]
    named = {each.name for each in needed if each.name != "attnexp"}
    return named.union(*(packages_of(own) for each in needed for own in each.extras))


PACKAGES = packages_of("all")

FILES = [
    path
    for folder in ("attnexp", "hydra_plugins")
    for path in (Path(IMPORTED) / folder).rglob("*.py")
]


def imports(tree: ast.AST, inside: bool) -> Iterator[str]:
    """Yield the packages that a file imports, those inside of its functions or the others."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            if inside:
                yield from imports(ast.Module(node.body, []), inside=False)
        elif isinstance(node, ast.Import) and not inside:
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not inside:
            yield (node.module or "").partition(".")[0]
        elif not isinstance(node, ast.expr):
            yield from imports(node, inside)


def test_only_functions_import_packages_of_extras():
    trees = [ast.parse(path.read_text()) for path in FILES]
    assert PACKAGES & {name for tree in trees for name in imports(tree, inside=False)} == set()
    assert {name for tree in trees for name in imports(tree, inside=True)} >= PACKAGES


def test_the_tests_install_what_the_user_may():
    assert packages_of("test") >= PACKAGES
    (line,) = re.findall(r"^\.venv/installed:.*\n\t(.*)", (ROOT / "Makefile").read_text(), re.M)
    assert line == "$(PIP) --editable '.[all]'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bare")


@pytest.fixture(scope="module")
def bare(tmp_path_factory, folder):
    """Runs Python in a folder, in processes for which no package of the extras is installed."""
    hidden = tmp_path_factory.mktemp("hidden")
    hide = f"import sys\nsys.modules.update(dict.fromkeys({sorted(PACKAGES)!r}))\n"
    (hidden / "sitecustomize.py").write_text(hide)
    path = os.pathsep.join([IMPORTED, str(hidden)])
    return lambda *words: python("-W", "error", *words, cwd=folder, PYTHONPATH=path)


LITTLE = "train.max_epochs=1 data.num_train=200 data.num_validation=50 data.num_test=50"

TRAINED = ("train.max_epochs=1", f"data=reverse model=additive {LITTLE}")
"""The lines of two runs, which the others find."""

NEEDS_NO_EXTRA = {
    "--help": "attnexp data=reverse model=additive",
    "plot --help": "--venue",
    "results": "additive",
    "plot outputs": "outputs/figures/",
    "claims": "uniform_is_enough",
    "report outputs": "2 runs in report.html",
    "card --quick model=average --baseline model=dot --dry-run": "dates: Can it write",
    "data=text --dry-run": "to do: ",
}
"""Lines, and what they print."""

NEEDS = {
    "data=dates": "data=dates needs the package babel: pip install 'attnexp[dates]'",
    "-m data=sine,dates": "data=dates needs the package babel: pip install 'attnexp[dates]'",
    "data=pairs": "data=pairs needs the package regex: pip install 'attnexp[text]'",
    "-m data=sort,reverse task=translation": (
        "task=translation needs the package sacrebleu: pip install 'attnexp[text]'"
    ),
    "plot outputs --venue icml2024": (
        "--venue needs the package tueplots: pip install 'attnexp[venues]'"
    ),
    "completion bash": (
        "completion needs the package argcomplete: pip install 'attnexp[completion]'"
    ),
}
"""Lines, and the sentences that name a package they need."""

EACH = """
import json, os, sys, tempfile, warnings
from attnexp.cli.main import run
import torch

warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork")
answers = {}
for line in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            try:
                code = run(line.split())
            except SystemExit as end:
                code = end.code or 0
            sys.stdout.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answers[line] = [code, *([file.seek(0), file.read()][1] for file in (out, err))]
print(json.dumps(answers))
"""
"""Runs command lines, each in a process of its own, which has imported PyTorch already."""


@pytest.fixture(scope="module")
def answers(bare):
    """The exit code, the output and the errors of each line."""
    lines = [*TRAINED, *NEEDS_NO_EXTRA, *NEEDS]
    return json.loads(bare("-c", EACH, json.dumps(lines)).stdout)


def test_the_packages_are_out_of_sight(bare):
    found = f"from importlib.util import find_spec\nprint([*map(find_spec, {sorted(PACKAGES)})])"
    assert bare("-c", found).stdout == f"{[None] * len(PACKAGES)}\n"


@pytest.mark.first(5)
@pytest.mark.parametrize("line", TRAINED)
def test_a_run_needs_no_extra(answers, line):
    code, out, err = answers[line]
    assert code == 0, err
    assert "figures/loss.png" in out


@pytest.mark.parametrize("line", NEEDS_NO_EXTRA)
def test_what_needs_no_extra_works(answers, line):
    code, out, err = answers[line]
    assert code == 0, err
    assert NEEDS_NO_EXTRA[line] in out
    assert "pip install" not in out + err


@pytest.mark.slow
def test_a_card_is_made_of_the_other_trials(bare):
    line = "card --quick model=average --baseline model=dot --trials sine,dates --minutes 1"
    answer = bare("-m", "attnexp", *line.split())
    assert answer.returncode == 0, answer.stderr
    assert "average is worse than dot" in answer.stdout
    note = "note: not measured: dates needs the package babel: pip install 'attnexp[dates]'\n"
    assert note in answer.stderr


@pytest.mark.parametrize("line", NEEDS)
def test_a_missing_package_is_named_before_the_first_job(answers, folder, line):
    assert answers[line] == [2, "", f"attnexp: {NEEDS[line]}\n"]
    assert len(list(folder.glob("outputs/*/summary.json"))) == len(TRAINED)


def test_the_answers_of_a_run_without_words_are_found(bare):
    """An answer that is longer than its target is tried in every writing that there is."""
    told = "['1', '2', '<eos>'], '1 2', {!r}, ['<eos>', '1', '2']"
    found = bare(
        "-c",
        "from attnexp.plots.answers import decoded_symbols\n"
        f"print(decoded_symbols({told.format('2 1')}))\n"
        f"print(decoded_symbols({told.format('1 2 1 2')}))\n",
    )
    assert found.stdout == "['2', '1', '<eos>']\n[]\n", found.stderr


def test_a_text_of_words_names_what_it_needs(bare):
    found = bare("-c", "from attnexp.core.writing import Words\nWords().split('a b')")
    assert "a text of words needs the package regex: pip install 'attnexp[text]'" in found.stderr


def test_classes_name_the_packages_of_their_extra():
    from attnexp.data.dates import Dates
    from attnexp.data.nile import Nile
    from attnexp.data.pairs import Pairs
    from attnexp.tasks.translation import Translation

    made = {"dates": Dates.packages, "nile": Nile.packages, "text": Translation.packages}
    for extra, packages in made.items():
        assert dict(packages) == dict.fromkeys(packages_of(extra), f"attnexp[{extra}]")
    assert Pairs.packages.items() <= Translation.packages.items()
