"""Which code the configuration in a run folder may name.

Building a configuration imports and calls every `_target_` in it, and a run folder may be somebody
else's. So each name in it is checked against the names that attnexp ships and those that the
command line trusts, before anything is imported.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from attnexp.config.documents import read_document
from attnexp.config.groups import check_own, conf_dir
from attnexp.config.schema import TARGET
from attnexp.core.errors import message
from attnexp.runs.secret import holds_mask
from attnexp.runs.settings import GROUPS

VARIABLE = re.compile(r"\$\{oc\.env:(\w+)\}")
"""The form in which a run folder writes the value of an environment variable."""


@dataclass(frozen=True)
class Trust:
    """The code of the user's own that a run folder may name.

    A target is trusted if it is one of `targets`, or is defined in one of `modules` or in a
    submodule of one.
    """

    modules: tuple[str, ...] = ()
    targets: frozenset[str] = frozenset()

    def covers(self, target: str) -> bool:
        """Whether a target may be imported."""
        return target in self.targets or self._in_modules(target)

    def _in_modules(self, name: str) -> bool:
        return any(f"{name}.".startswith(f"{module}.") for module in self.modules)

    def check_origin(self, target: str) -> None:
        """Import a target that is covered, and raise ValueError if it is defined elsewhere.

        A module also holds what it has imported: `my_scores.os.system` is not the user's own.
        """
        if target in self.targets:
            return
        module, _, attribute = target.rpartition(".")
        try:
            found = getattr(import_module(module), attribute)
        except (Exception, SystemExit) as error:  # a module of the user's may raise anything
            raise ValueError(f"'{target}' cannot be imported: {message(error)}") from error
        origin = str(getattr(found, "__module__", None))
        if not self._in_modules(origin):
            raise ValueError(f"'{target}' is not defined in a trusted module, but in {origin}")


def read_trust(modules: Sequence[str], config_dir: Path | None) -> Trust:
    """Return the trust that a command line gives: to modules, and to targets in a folder's files.

    With any trust, the user's modules are found as in training. Raises RequestError for a folder
    that does not exist, and for a file in the folder that is not YAML.
    """
    if not modules and config_dir is None:
        return Trust()
    search_user_modules(config_dir)
    files = sorted(config_dir.rglob("*.yaml")) if config_dir is not None else []
    return Trust(tuple(modules), frozenset(name for file in files for name in targets_in(file)))


def search_user_modules(config_dir: Path | None) -> None:
    """Put the current directory, and the folder that holds `config_dir`, on the import path.

    So `_target_: mine.MyScore` finds mine.py, in this process and in its workers. The folders come
    last, so that a random.py does not replace Python's. Raises RequestError as `check_own`.
    """
    folders = [os.getcwd()]
    if config_dir is not None:
        check_own(config_dir)
        folders.append(str(config_dir.absolute().parent))
    added = [folder for folder in dict.fromkeys(folders) if folder not in sys.path]
    sys.path += added
    _searched.update(added)


@contextmanager
def without_user_modules() -> Iterator[None]:
    """Take the user's folders off the import path during a block.

    A process started in the block finds installed plugins of Hydra, and not a folder
    `hydra_plugins` of the user's, which Python would prefer.
    """
    before = sys.path[:]
    sys.path[:] = [folder for folder in before if folder not in _searched]
    try:
        yield
    finally:
        sys.path[:] = before


_searched: set[str] = set()
"""The folders that were put on the import path for modules of the user's."""


def targets_in(path: Path) -> Iterator[str]:
    """Yield the targets that a YAML file names. Raises RequestError if the file is not YAML."""
    found = [read_document(path, Any)]
    while found:
        node = found.pop()
        if isinstance(node, Mapping):
            if isinstance(node.get(TARGET), str):
                yield node[TARGET]
            found += node.values()
        elif isinstance(node, list):
            found += node


def shipped_targets(group: str) -> set[str]:
    """Return the targets of attnexp's choices in a group; for `optim` all of torch.optim.

    Empty for a name that is not a group: run folders give the name, which must not leave `conf/`.
    """
    if group not in GROUPS:
        return set()
    named = {name for path in (conf_dir() / group).rglob("*.yaml") for name in targets_in(path)}
    if group == "optim":
        import torch.optim

        classes = [value for value in vars(torch.optim).values() if isinstance(value, type)]
        named |= {
            f"torch.optim.{c.__name__}" for c in classes if issubclass(c, torch.optim.Optimizer)
        }
    return named


def checked_config(config: Mapping[str, Any], trust: Trust) -> dict[str, Any]:
    """Return the configuration of a run folder, if all names in it are trusted.

    A folder holds plain data: interpolations were resolved when the run began, apart from the names
    of environment variables. Nothing is imported before every name has been checked.

    Raises ValueError for a target that attnexp does not ship for its group and that is not trusted,
    for another key of Hydra's in a node that is not the user's own, for another interpolation, and
    for a secret.
    """
    used: list[str] = []
    checked = {
        name: _checked(value, name, shipped_targets(name), trust, used)
        for name, value in config.items()
    }
    for target in used:
        trust.check_origin(target)
    return checked


def _checked(value: Any, path: str, shipped: set[str], trust: Trust, used: list[str]) -> Any:
    """Return a checked value. Appends targets of the user to `used`."""
    if isinstance(value, str) and holds_mask(value):
        raise ValueError(f"{path} was a secret, which a run folder does not store")
    if isinstance(value, str) and "${" in VARIABLE.sub("", value):
        raise ValueError(f"{path} is {value!r}, and a run folder holds no such interpolations")
    if isinstance(value, list):
        return [
            _checked(entry, f"{path}[{place}]", shipped, trust, used)
            for place, entry in enumerate(value)
        ]
    if not isinstance(value, Mapping):
        return value
    node = dict(value)
    own = False
    if TARGET in node:
        target = node[TARGET]
        if not isinstance(target, str):
            raise ValueError(
                f"{path}.{TARGET} must be the name of a class or a function, got {target!r}"
            )
        own = target not in shipped
        if own:
            if not trust.covers(target):
                module = target.rpartition(".")[0] or "MODULE"
                raise ValueError(
                    f"{path}.{TARGET} is {target!r}, which is not attnexp's own: if you trust that "
                    f"code, add '--trust {module}', or the --config-dir that it was trained with"
                )
            used.append(target)
    special = [key for key in node if key.startswith("_") and key != TARGET]
    if special and not own:
        raise ValueError(f"{path} sets {special[0]!r}, which only code that you trust may be given")
    return {
        key: _checked(entry, f"{path}.{key}", shipped, trust, used) for key, entry in node.items()
    }
