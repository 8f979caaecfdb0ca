"""A published claim: the fields of claim.yaml, the user's own.py, and the decision."""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from inspect import isfunction
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeGuard

import msgspec

from attnexp.claims.bounded import Bounded
from attnexp.claims.claim_file import GROUP, Written, folders, read_written
from attnexp.claims.decision import AllOf, Decision, Verdict
from attnexp.claims.direction import Direction
from attnexp.claims.escaped import Escaped
from attnexp.claims.evidence import Evidence, Point
from attnexp.config.groups import conf_dir
from attnexp.config.schema import check_settings, check_type
from attnexp.core.console import number_text
from attnexp.core.errors import (
    RequestError,
    any_error_as,
    choices_text,
    nearest_text,
    none_of,
    with_choices,
    with_type,
)
from attnexp.runs.files import stamp
from attnexp.runs.user_code import file_code
from attnexp.stats.scaled import mean

OWN = "own.py"

PREFIX = "own."
"""The prefix of words in claim.yaml that name something in own.py."""

IS = "is"
"""The key for the name of a decision, or of a function that computes points."""

DECISIONS: dict[str, type[Decision]] = {
    "all_of": AllOf,
    "bounded": Bounded,
    "direction": Direction,
    "escaped": Escaped,
}
"""The shipped decisions by the name in claim.yaml."""

CHOICES = (*DECISIONS, f"{PREFIX}CLASS")

CARRIES_OVER: dict[str, str] = {
    "reproduced": "carries over to this task",
    "not reproduced": "does not carry over to this task",
}
"""The words of a verdict if the paper's claim is about another kind of task."""


@dataclass(frozen=True)
class Own:
    """The optional file own.py in the `folder` of a claim.

    `is_shipped` is true for the claims of attnexp.
    """

    folder: Path
    is_shipped: bool

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / OWN

    def code(self) -> dict[str, str]:
        """Return digests of own.py and of the user's modules that own.py imports, by name.

        No code is run. Empty without own.py.
        """
        return file_code(self.path, OWN) if os.path.isfile(self.path) else {}

    def module(self, path: str) -> ModuleType:
        """Return own.py as a module, loaded again only after an edit.

        `path` names the setting in errors, such as `computes`. Raises RequestError if own.py does
        not exist or ends in an error.
        """
        if not os.path.isfile(self.path):
            raise RequestError(f"{path}: there is no file {self.path}")
        with any_error_as(f"{path}: {self.path} cannot be loaded", with_type):
            return _loaded(f"attnexp_claim_{self.folder.name}", self.path, stamp(self.path))

    def function(self, name: str, path: str) -> Callable[..., Any]:
        """Return a function of own.py. Raises RequestError if own.py has none of this name."""
        module = self.module(path)
        if not isfunction(found := getattr(module, name, None)):
            own = {n: v for n, v in vars(module).items() if isfunction(v) and n[0] != "_"}
            known = [each for each, value in own.items() if value.__module__ == module.__name__]
            raise RequestError(_has_no("function", name, known, path))
        return found

    def decision(self, name: str, path: str) -> type[Decision]:
        """Return a class of own.py. Raises RequestError unless that is a subclass of Decision."""
        known = {n: v for n, v in vars(self.module(path)).items() if _is_decision(v)}
        if name in known:
            return known[name]
        if hasattr(self.module(path), name):
            raise RequestError(f"{path}: '{PREFIX}{name}' is not a subclass of Decision")
        own = [each for each, value in known.items() if value is not Decision]
        raise RequestError(_has_no("decision", name, own, path))


class Claim(Written, frozen=True, kw_only=True):
    """A claim: the fields of claim.yaml, and own.py."""

    own: Own

    def decision(self) -> Decision:
        """Return the decision. Raises RequestError for an unknown name or wrong arguments."""
        return made(self.decides, self.own)

    @property
    def needs_user_code(self) -> bool:
        """Whether code of the user's decides the claim."""
        return not self.own.is_shipped and names_own(self.decides)

    def verdict(self, evidence: Evidence) -> Verdict:
        """Return the verdict on the evidence; `cannot tell`, with a reason, if some is missing."""
        if not evidence.runs and not evidence.points:
            return Verdict("not run", f"it takes {self.minutes:g} minutes of one core")
        decision = self.decision()
        try:
            verdict = decision.decide(evidence)
        except RequestError as error:
            verdict = Verdict("cannot tell", str(error))
        except (Exception, SystemExit) as error:  # a decision of one's own may raise anything
            verdict = Verdict("failed", f"{type(decision).__name__} ended in {with_type(error)}")
        return replace(verdict, shown=[*verdict.shown, *self._shown(evidence)])

    def text_of(self, verdict: Verdict) -> str:
        """Return a verdict in words."""
        return verdict.text if self.same_task else CARRIES_OVER.get(verdict.word, verdict.text)

    def require_numbers(self, evidence: Evidence) -> None:
        """Raise RequestError for a deciding number, or a `tune_by`, that was not measured.

        `evidence` comes from the first job of each sweep, and the first seed of computed points. If
        a job diverged, nothing is checked.
        """
        if any(run.summary.diverged for run in evidence.runs):
            return
        known = evidence.names()
        for name in filter(None, [*self.decision().numbers(), self.tune_by]):
            if name not in known:
                near = nearest_text(name, known)
                raise RequestError(f"the first job of the claim has no number '{name}'.{near}")

    def _shown(self, evidence: Evidence) -> Iterator[tuple[str, str]]:
        """Yield name and mean of each number that does not decide, `skip` if not measured."""
        for shown in self.shown:
            named = shown.number if shown.where is None else f"{shown.number} where {shown.where}"
            try:
                means = evidence.sample(shown.number, shown.where).means
            except RequestError:
                yield named, "skip"
            else:
                yield named, f"{number_text(mean(means))}, mean of {len(means)} seeds"

    def missing_points(self, seeds: Sequence[int], there: Sequence[Point]) -> Iterator[list[Point]]:
        """Compute and yield the points of each seed that has no point in `there`.

        Raises RequestError if the function does not exist, does not take the arguments or fails,
        and for a point that is not finite.
        """
        arguments = {name: value for name, value in self.computes.items() if name != IS}
        compute = self._function()
        name = compute.__name__
        check_settings(arguments, compute, "computes", given=("seed",))
        known = {point.seed for point in there}
        for seed in seeds:
            if seed not in known:
                with any_error_as(f"computes: {name} failed for seed {seed}", with_type):
                    points = [
                        Point(seed, str(curve), float(x), float(y))
                        for curve, x, y in compute(seed=seed, **arguments)
                    ]
                for point in points:
                    if not point.is_finite:
                        raise RequestError(
                            f"computes: {name} gave {point.y:g} for {point.curve} at "
                            f"{point.x:g}, seed {seed}: a point must be finite"
                        )
                yield points

    def _function(self) -> Callable[..., Any]:
        if IS not in self.computes:
            raise RequestError(f"computes has no '{IS}', the name of a function: {PREFIX}FUNCTION")
        word = str(self.computes[IS])
        if not word.startswith(PREFIX):
            raise RequestError(
                f"computes: '{word}' must name a function of own.py, such as {PREFIX}{word}"
            )
        return self.own.function(word.removeprefix(PREFIX), "computes")


def read_claim(name: str, config_dir: Path | None = None) -> Claim:
    """Return a claim. Raises RequestError for an unknown name, and as `read_written`."""
    known = folders(config_dir)
    if name not in known:
        raise RequestError(f"claim {none_of(name, list(known), 'attnexp claims')}")
    own = Own(known[name], is_shipped=known[name].parent == conf_dir() / GROUP)
    return Claim(**msgspec.structs.asdict(read_written(known[name])), own=own)


def made(decides: Mapping[str, Any], own: Own, path: str = "decides") -> Decision:
    """Return the decision that settings name by `is`, with the other settings as arguments.

    The name is one of DECISIONS, or a class of own.py. Raises RequestError for an unknown name, and
    for arguments that do not fit.
    """
    if IS not in decides:
        raise RequestError(f"{path} has no '{IS}', the name of a decision: {choices_text(CHOICES)}")
    word = str(decides[IS])
    if word.startswith(PREFIX):
        found = own.decision(word.removeprefix(PREFIX), path)
    elif word in DECISIONS:
        found = DECISIONS[word]
    else:
        raise RequestError(f"{path}: {none_of(word, CHOICES)}")
    arguments = {name: value for name, value in decides.items() if name != IS}
    check_settings(arguments, found, path)
    if found is AllOf:
        parts = {f"{path}.parts[{n}]": part for n, part in enumerate(arguments["parts"])}
        for place, part in parts.items():
            check_type(part, dict[str, Any], place)
        arguments["parts"] = [made(part, own, place) for place, part in parts.items()]
    with any_error_as(f"{path}: {word} refuses its arguments", but=RequestError):
        return found(**arguments)


def names_own(decides: Any) -> bool:
    """Return whether a decision, or a part of the decision, is a class of own.py."""
    if isinstance(decides, Mapping):
        return str(decides.get(IS)).startswith(PREFIX) or any(map(names_own, decides.values()))
    return isinstance(decides, list) and any(map(names_own, decides))


class _Loader(SourceFileLoader):
    """Compiles the file at each load: Python's cached bytecode misses a second edit in a second."""

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


def _is_decision(value: object) -> TypeGuard[type[Decision]]:
    return isinstance(value, type) and issubclass(value, Decision)


def _has_no(kind: str, name: str, known: list[str], path: str) -> str:
    problem = f"{path}: {OWN} has no {kind} '{name}'"
    choices = f"choose {choices_text(known)}" if known else "it has none"
    return with_choices(problem, nearest_text(name, known), choices)
