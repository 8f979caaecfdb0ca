"""`attnexp new`: writes a score, normalizer, data set, law, claim or the like to fill in."""

import builtins
import importlib.util
import keyword
import os
import re
from datetime import date
from pathlib import Path
from string import Template
from typing import Annotated

from attnexp.claims import claim_file as claims
from attnexp.cli.arguments import Folder
from attnexp.cli.parser import Argument
from attnexp.config.groups import choices
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, writable

TEMPLATES = Path(__file__).parent / "templates"

KINDS = {
    "score": ("model", "`compare`"),
    "normalizer": ("normalizer", "`normalize`"),
    "data": ("data", "`truth`"),
    "sequences": ("data", "`families` and `batch_of`"),
    "estimator": ("estimator", "`forward`"),
    "attention": ("attention", "`joined`"),
    "positions": ("positions", "`bias`"),
    "arch": ("arch", "`forward`"),
    "law": ("law", "`replace`"),
}
"""For each kind, the group of which it is a choice, and the methods that must be filled in."""

AROUND = dict.fromkeys(("attention", "positions"), "data=reverse arch=transformer ")
"""Settings that a command needs to try a choice, for groups without a place in the defaults."""

OF_YAML = ("none", "null", "true", "false", "yes", "no", "on", "off", "nan", "inf")
"""Names that YAML or a command line may read as values."""

DEVICE = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
"""Names that a file cannot have on Windows."""


def _filled(path: Path, name: str) -> str:
    template = Template(path.read_text(encoding="utf-8"))
    words = "".join(map(str.capitalize, name.split("_")))
    return template.substitute(name=name, Class=words, date=date.today())


WRITTEN = [*KINDS, claims.GROUP]

EPILOG = """examples:
  attnexp new score laplace           a class, its YAML file and a test
  attnexp new data steps --into mine  the same below mine/, for a noisy curve
  attnexp new sequences lookup        sequences, with all they need
  attnexp new law blurred             a law of `attnexp probe`
  attnexp new claim smooth            a claim of `attnexp claims`

The test runs the contract of the kind. Its worked case fails until you have
written your own. The class declares facts such as `sums_to_one`: the contract
fails if one is wrong, and a run believes it. `attnexp docs own_code` explains
the declarations of each kind.
"""


def main(
    kind: Annotated[
        str,
        Argument(choices_text(WRITTEN), choices=WRITTEN, metavar="KIND"),
    ],
    name: str,
    *,
    into: Folder = Path(),
) -> None:
    """Write a class, a YAML file and a test of your own.

    Names the next steps. A claim is one YAML file.

    Raises RequestError for a name that cannot be used, for a file that exists already and for one
    that cannot be written.

    Args:
        name: its name on the command line
        into (DIR): default: here
    """
    if kind == claims.GROUP:
        _write_claim(name, into)
        return
    group, methods = KINDS[kind]
    _check_name(name, group)
    _check_free(name, group)
    files = {
        "class": into / f"{name}.py",
        "choice": into / "conf" / group / f"{name}.yaml",
        "test": into / f"test_{name}.py",
    }
    templates = TEMPLATES / kind
    _write({path: _filled(templates / f"{part}.txt", name) for part, path in files.items()})
    console.print_line(f"wrote {files['class']}, {files['choice']} and {files['test']}")
    console.print_line(
        f"fill in {methods} in {files['class']}, and write the worked case of the test,"
    )
    console.print_line("which fails until then; then")
    if importlib.util.find_spec("pytest") is None:
        console.print_line("  python -m pip install 'attnexp[exercises]'  # brings pytest")
    console.print_line(f"  python -m pytest {files['test']}")
    own = f"--config-dir {into / 'conf'}"
    words = f"{AROUND.get(group, '')}{group}={name}"
    line = f"probe RUN {name} {own}" if group == "law" else f"{own} {words}"
    console.print_line(f"  attnexp {line}")


def _write_claim(name: str, folder: Path) -> None:
    """Write the file of a claim to be filled in, and print the next steps."""
    _check_name(name, claims.GROUP)
    if name in claims.names():
        raise RequestError(f"claim {name} is one of attnexp's own: choose another name")
    path = folder / "conf" / claims.GROUP / name / claims.FILE
    _write({path: _filled(claims.TEMPLATE, name)})
    console.print_line(f"wrote {path}: fill in its words, its sweeps and its decision,")
    console.print_line("and write the prediction before the first run; then")
    console.print_line(f"  attnexp claims {name} --config-dir {folder / 'conf'}")


def _check_name(name: str, group: str) -> None:
    """Raise RequestError for a name that a module or a word of a command line cannot have."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise RequestError(
            f"NAME must be lower-case ASCII, digits and underscores, such as my_{group}, "
            f"got '{name}'"
        )
    if keyword.iskeyword(name) or name in (*keyword.softkwlist, *vars(builtins), "self"):
        raise RequestError(f"'{name}' is a word of Python's: choose another name")
    if name in OF_YAML:
        raise RequestError(f"'{name}' is a word of YAML's: choose another name")
    if DEVICE.fullmatch(name):
        raise RequestError(f"'{name}' is a device of Windows: choose another name")


def _check_free(name: str, group: str) -> None:
    """Raise RequestError for a name that a choice of attnexp or a Python module already has."""
    for own in dict.fromkeys([group, *(each for each, _ in KINDS.values())]):
        if name in {choice.name for choice in choices(own)}:
            raise RequestError(f"{own}={name} is one of attnexp's own: choose another name")
    if importlib.util.find_spec(name) is not None:
        raise RequestError(f"Python has a module '{name}' already: choose another name")


def _write(texts: dict[Path, str]) -> None:
    """Write new files, all of them or none.

    Raises RequestError for a file that exists already, and for one that cannot be written.
    """
    for path in texts:
        if os.path.lexists(path):
            raise RequestError(f"{path} exists already: choose another name, or remove it")
    written: list[Path] = []
    for path, text in texts.items():
        try:
            with writable("--into", path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "x", encoding="utf-8") as file:
                    written.append(path)
                    file.write(text)
        except RequestError:
            for each in written:
                each.unlink()
            raise
