"""The choices of each group: the YAML files of conf/, read without Hydra.

Each file begins with a comment line that describes the choice.
"""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.runs.files import UnreadableRunError, read_bytes, stamp
from attnexp.runs.settings import GROUPS

DEFAULT = re.compile(rf"^  - ({'|'.join(GROUPS)}): (\w+)$", re.MULTILINE)
"""A line of the list of defaults: a group and its choice."""


@dataclass(frozen=True)
class Choice:
    """One YAML file of a group: its name on the command line, and its description."""

    name: str
    line: str
    path: Path


def conf_dir() -> Path:
    """The folder with the configuration: inside an installed package, or next to it in a checkout.

    Raises FileNotFoundError if the installation is broken.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "conf", package.parent / "conf"):
        if os.path.isfile(folder / "config.yaml"):
            return folder
    raise FileNotFoundError(f"attnexp's configuration is neither in {package} nor next to it")


def check_own(folder: Path) -> None:
    """Raise RequestError if the user's configuration folder does not exist or hides a file.

    A file hides one of attnexp's or Hydra's with the same name, but not in all commands.
    """
    if not os.path.isdir(folder):
        raise RequestError(f"--config-dir: there is no folder {folder.absolute()}")
    for owner, shipped in {"attnexp": conf_dir(), "Hydra": _hydra_dir()}.items():
        for path in sorted(shipped.rglob("*.yaml")):
            own = folder / path.relative_to(shipped)
            if os.path.isfile(own) and not own.samefile(path):
                named = own.parent if own.name == "claim.yaml" else own
                raise RequestError(f"{named} has the name of one of {owner}'s own: rename it")


def unread(folder: Path) -> list[str]:
    """Return the files in the user's configuration folder that are not read by mistake.

    These end in `.yml` or `.YAML`, or lie in a folder that has a group's name in capital letters.
    Empty if the folder cannot be opened.
    """
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []
    kinds = {entry.name for entry in os.scandir(conf_dir()) if entry.is_dir()}
    return [
        str(path.relative_to(folder))
        for name in inside
        if name.lower() in kinds
        for path in sorted((folder / name).rglob("*"))
        if path.suffix.lower() in (".yaml", ".yml")
        if path.suffix != ".yaml" or stamp(folder / name) != stamp(folder / name.lower())
    ]


def _hydra_dir() -> Path:
    spec = find_spec("hydra")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "conf"


def choices(group: str, extra: Path | None = None) -> list[Choice]:
    """Return the choices of a group in alphabetical order, with those of an extra folder."""
    folders = [conf_dir(), *([extra] if extra else [])]
    files = {
        str(path.relative_to(folder / group).with_suffix("")): path
        for folder in folders
        if os.path.isdir(folder / group)
        for path in (folder / group).rglob("*.yaml")
    }
    return [Choice(name, first_line(path), path) for name, path in sorted(files.items())]


def defaults() -> dict[str, str]:
    """Return the default choice of each group that has one, read without a YAML library."""
    text = read_bytes(conf_dir() / "config.yaml").decode()
    return {group: name for group, name in DEFAULT.findall(text) if name != "null"}


def first_line(path: Path) -> str:
    """Return the first comment of a YAML file that is not a directive to Hydra.

    Empty without such a comment, and for a file that cannot be read.
    """
    try:
        text = read_bytes(path).decode(errors="replace")
    except (FileNotFoundError, UnreadableRunError):
        return ""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    comments = (line.lstrip("#").strip() for line in lines)
    return next((each for each in comments if each and not each.startswith("@package")), "")


def groups_with(name: str) -> list[str]:
    """Return the groups that have a choice of this name."""
    return [group for group in GROUPS if os.path.isfile(conf_dir() / group / f"{name}.yaml")]


def top_level() -> dict[str, object]:
    """Return the settings that are in no group, with their defaults."""
    from attnexp.config.documents import read_document  # reads with a library, at need alone

    content: dict[str, Any] = read_document(conf_dir() / "config.yaml", dict[str, Any])
    return {name: value for name, value in content.items() if name not in ("defaults", "hydra")}
