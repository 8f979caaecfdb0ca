"""The Python of one claim: own.py in its folder, read without running it or loaded."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from inspect import isfunction
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from attnexp.claims.decision import Decision
from attnexp.core.errors import RequestError, choices_text, nearest_text, with_choices
from attnexp.runs.files import stamp
from attnexp.runs.user_code import file_code

FILE = "own.py"

PREFIX = "own."
"""The beginning of the words in a claim.yaml that name something in own.py."""


@dataclass(frozen=True)
class Own:
    """The file own.py in the `folder` of a claim, which a claim need not have.

    `is_shipped` is true for a claim of attnexp's.
    """

    folder: Path
    is_shipped: bool

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / FILE

    def code(self) -> dict[str, str]:
        """Return a digest of own.py and of each module of the user's that it imports, by name.

        No code is run. A claim without an own.py has none.
        """
        return file_code(self.path, FILE) if self.path.is_file() else {}

    def module(self, path: str) -> ModuleType:
        """Return own.py as a module. It is run again only if it was edited.

        `path` is that of the settings that need it, such as `computes`. Raises RequestError if it
        is not there or ends in an error.
        """
        if not self.path.is_file():
            raise RequestError(f"{path}: there is no file {self.path}")
        try:
            return _loaded(f"attnexp_claim_{self.folder.name}", self.path, stamp(self.path))
        except (Exception, SystemExit) as error:  # a file of the user's may raise anything
            reason = f"{type(error).__name__}: {error}"
            raise RequestError(f"{path}: {self.path} cannot be loaded: {reason}") from error

    def function(self, name: str, path: str) -> Callable[..., Any]:
        """Return a function of own.py. Raises RequestError if it has none of the name."""
        module = self.module(path)
        found = getattr(module, name, None)
        if not isfunction(found):
            known = [
                each
                for each, value in vars(module).items()
                if isfunction(value) and value.__module__ == module.__name__ and each[0] != "_"
            ]
            raise RequestError(_has_no("function", name, known, path))
        return found

    def decision(self, name: str, path: str) -> type[Decision]:
        """Return a class of own.py. Raises RequestError unless it is a subclass of Decision."""
        module = self.module(path)
        found = getattr(module, name, None)
        if found is None:
            known = [
                each
                for each, value in vars(module).items()
                if _is_decision(value) and value is not Decision
            ]
            raise RequestError(_has_no("decision", name, known, path))
        if not _is_decision(found):
            raise RequestError(f"{path}: '{PREFIX}{name}' is not a subclass of Decision")
        made: type[Decision] = found
        return made


class _Loader(SourceFileLoader):
    """Reads the file itself: Python's compiled copy does not tell two edits within a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


@lru_cache
def _loaded(name: str, path: Path, _stamp: tuple[int, ...]) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _is_decision(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Decision)


def _has_no(kind: str, name: str, known: list[str], path: str) -> str:
    problem = f"{path}: {FILE} has no {kind} '{name}'"
    choices = f"choose {choices_text(known)}" if known else "it has none"
    return with_choices(problem, nearest_text(name, known), choices)
