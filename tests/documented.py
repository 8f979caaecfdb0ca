"""Command lines and code of the documents, and how a command line is held against the program."""

import re
import shlex
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from conftest import ROOT

EXTRAS = {
    "launcher=joblib": "hydra_plugins.hydra_joblib_launcher",
    "launcher=slurm": "hydra_plugins.hydra_submitit_launcher",
    "launcher=ray_tasks": "hydra_plugins.hydra_ray_launcher",
}
"""What a command line needs that is not always installed."""


def script(name: str) -> ModuleType:
    """Return a script of docs/ as a module, which may import its neighbours."""
    spec = spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    module = module_from_spec(spec)
    neighbours = [path.stem for path in (ROOT / "docs").glob("*.py")]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        for each in neighbours:  # a benchmark may have the same name
            patch.delitem(sys.modules, each, raising=False)
        spec.loader.exec_module(module)
        for each in neighbours:
            sys.modules.pop(each, None)
    return module


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of code of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def commands(page: str) -> list[str]:
    """Return the lines of the shell blocks of a page that begin with attnexp, each once."""
    text = "".join([*blocks(page, "sh"), *blocks(page, "")]).replace("\\\n", " ")
    lines = (line.partition("  #")[0].strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if re.match(r"attnexp\b", line)))


def words_of(line: str) -> list[str]:
    """Return the arguments of a command line, or skip the test where an extra is missing."""
    for needed, module in EXTRAS.items():
        if needed in line and find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    words = [word for word in shlex.split(line)[1:] if word != "..."]
    return [word for word in words if not word.startswith("device=cuda")]


def verb_of(words: list[str]) -> str | None:
    """Return the verb of a command line, None where it is Hydra's."""
    from attnexp.cli.verbs import VERBS

    return words[0] if words and words[0] in VERBS else None


def compose(line: str, in_process) -> None:
    """Parse the arguments of a verb, compose the configuration of a run, or plan a sweep."""
    from attnexp.cli.parser import parser_of

    words = words_of(line)
    if verb := verb_of(words):
        parser_of(verb).parse(words[1:])
        return
    plain = {"--help", "--version", "--cfg", "--info", "--dry-run"} & set(words)
    more = [] if plain else ["--dry-run"] if "-m" in words else ["--cfg", "job"]
    answer = in_process(*words, *more)
    assert answer.returncode == 0, answer.stderr
