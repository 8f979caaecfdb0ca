"""Hydra's and OmegaConf's errors in one or two sentences."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from attnexp.config.groups import choices, groups_with, top_level
from attnexp.config.unknown import (
    SHOWN,
    UnknownSettingError,
    choosing,
    override_name,
    unknown_setting,
    word_shown,
)
from attnexp.config.words import closed
from attnexp.core.errors import (
    MOST_NEAR,
    RequestError,
    causes,
    choose,
    nearest_names,
    shortened_value,
    suggestion,
    with_choices,
)
from attnexp.core.synonyms import settings_for, synonyms
from attnexp.runs.settings import GROUPS, leaves
from attnexp.runs.sources import SourceError

EXTRAS = {
    "hydra/launcher/joblib": "joblib",
    "hydra/launcher/submitit_slurm": "slurm",
    "hydra/launcher/submitit_local": "slurm",
    "hydra/launcher/ray": "ray",
}
"""Choices that other packages bring, and which of our extras installs each."""

NONE = "none"
"""The choice without effect, which is never suggested for another group."""

EACH = ("all", "any", "each", "every")
"""Values by which users mean all choices of a group."""

TUNERS = ("ax", "nevergrad", "optuna")
"""Sweepers of other packages that search for the best values."""

ComposeErrors = (HydraException, OmegaConfBaseException, YAMLError)

SettingsOf = Callable[[Sequence[str]], Mapping[str, Any]]
"""Returns the nested settings that overrides compose; empty if they cannot be composed."""

Apart = Callable[[str], str | None]
"""Returns the sentence for a setting that only some choices of a sweep have, else None."""


TakesList = Callable[[str], bool]
"""Returns whether the setting at a path is a list."""


def explanation(
    error: BaseException,
    overrides: Sequence[str],
    settings_of: SettingsOf,
    apart: Apart,
    takes_list: TakesList,
) -> str:
    """Return one sentence with the mistake, the expected value and the nearest choice."""
    for cause in causes(error):
        if isinstance(cause, UnknownSettingError):
            return _unknown(cause.path, settings_of, overrides, cause.siblings)
        if isinstance(cause, RequestError | SourceError):
            return str(cause)
        if isinstance(cause, MissingMandatoryValue):
            return _without_values(str(cause.full_key), settings_of(overrides))
        if isinstance(cause, MarkedYAMLError):
            return _bad_yaml(cause)
        if isinstance(cause, UnicodeDecodeError):
            return f"a YAML file of the configuration is not UTF-8 text (byte {cause.start + 1})"
        if isinstance(cause, OSError) and "Invalid loaded object type" in str(cause):
            return (
                "a YAML file of the configuration holds a single value: settings are lines of "
                "`name: value`"
            )
        if isinstance(cause, MissingConfigException):
            return _missing_choice(cause)
        if isinstance(cause, OverrideParseException):
            return _unreadable(str(cause.override))
    text = " ".join(str(cause) for cause in causes(error))
    if nameless := [word for word in overrides if re.match(r"[+~]*=", word)]:
        return _unreadable(nameless[0])
    unknown = re.search(r"Could not (?:override|delete from config\.) '([^']+)'", text)
    if unknown:
        return apart(unknown[1]) or _unknown(unknown[1], settings_of, overrides)
    if re.search(r"Config group override (deletion )?(value )?must be a", text):
        return _bad_choice(overrides)
    group = re.search(r"config group '([^']+)' does not", text)
    if group:
        return _unknown(group[1], settings_of, overrides)
    several = re.search(r"Ambiguous value for argument '([^']+)'", text) or re.search(
        r"Sweep parameters '([^']+)' requires", text
    )
    if several:
        return _several(several[1], takes_list)
    return _first_words(error)


def _without_values(path: str, settings: Mapping[str, Any]) -> str:
    """Return the sentence for a setting without a value, and others of the group without one."""
    group = path.rpartition(".")[0]
    others = [each for each, value in leaves(settings) if value == "???"]
    lacking = [each for each in others if each.startswith(f"{group}.")]
    names = [path, *(each for each in lacking if each != path)]
    words = " ".join(f"{name}=VALUE" for name in names)
    *head, last = names
    listed = f"{', '.join(head)} and {last} have" if head else f"{last} has"
    return f"{listed} no value: write {words}"


def _several(argument: str, takes_list: TakesList) -> str:
    """Return what to write for several values: a list if the setting is one, else a sweep."""
    path, _, values = argument.partition("=")
    if takes_list(path):
        return f"{path} is a list: write '{path}=[{values}]'"
    return f"{argument} names several values: add -m to run a job for each of them"


def _unreadable(word: str) -> str:
    name, sign, _ = word.partition("=")
    problem = f"'{shortened_value(word, 80)}' is not a setting"
    if not sign:
        return _without_value(word, problem)
    if signs := re.findall(r"[^\w.@/:$~+-]", name, re.ASCII):
        return f"{problem}: a name has a-z, A-Z, 0-9, _ and -, got '{signs[0]}'"
    if (whole := closed(word)) != word:
        return f"{problem}: write '{word_shown(whole)}', with each bracket closed"
    return (
        f"{problem}: write name=value, and quote a value that holds brackets, quotes or an equals "
        "sign, as in 'name=\"f(x)\"'"
    )


def _without_value(word: str, problem: str) -> str:
    name = word.lstrip("+~")
    if name in GROUPS:
        return f"{problem}: write {name}=NAME; `attnexp --help {name}` lists the names"
    if name in top_level():
        return f"{problem}: write {name}=VALUE"
    if near := suggestion(_of_other_groups(name)):
        return f"{problem}.{near}"
    return f"{problem}: write name=value; `attnexp --help` shows what there is"


def _bad_choice(overrides: Sequence[str]) -> str:
    for override in overrides:
        group, value = override_name(override), override.partition("=")[2]
        names = [choice.name for choice in choices(group)] if group in GROUPS else []
        if names and value not in names:
            return _no_choice(f"{value:.60}", group, names)
    return "a group of settings takes the name of one of its choices"


def _unknown(
    path: str, settings_of: SettingsOf, overrides: Sequence[str], siblings: Collection[str] = ()
) -> str:
    settings = settings_of([word for word in overrides if override_name(word) != path])
    parent: Any = settings
    for name in path.split(".")[:-1]:
        parent = parent.get(name) if isinstance(parent, Mapping) else None
    near = list(dict.fromkeys([*(parent if isinstance(parent, Mapping) else ()), *siblings]))
    typed = next((word for word in overrides if override_name(word) == path), "").lstrip("+~")
    others = [each for each, _ in leaves(settings) if each != path]
    return unknown_setting(
        path, [each for each in near if each != path.rpartition(".")[2]], others, typed
    )


def _bad_yaml(error: MarkedYAMLError) -> str:
    mark = error.problem_mark
    where = f"{mark.name}, line {mark.line + 1}" if mark else "a configuration file"
    return f"{where}: not valid YAML: {error.problem or error.context}"


def _missing_choice(error: MissingConfigException) -> str:
    missing = str(error.missing_cfg_file)
    if missing in EXTRAS:
        return f"{missing} is not installed: pip install 'attnexp[{EXTRAS[missing]}]'"
    group, _, name = missing.rpartition("/")
    if not group:
        return f"there is no configuration '{missing}'"
    if group == "hydra/sweeper" and name in TUNERS:
        return (
            f"hydra/sweeper={name} would run finished jobs again and choose by single runs: choose "
            "hydra/sweeper=tuned, which tunes each configuration on validation data and then runs "
            "it at all seeds"
        )
    return _no_choice(name, group, list(error.options or []))


def _no_choice(name: str, group: str, names: Sequence[str]) -> str:
    problem = f"'{shortened_value(name, SHOWN)}' is not one of the choices for '{group}'"
    if group in GROUPS and name.lower() in EACH:
        return f"{problem}: for a run with each choice, write -m '{group}=glob(*)'"
    found = (
        settings_for(f"{group}={name}")
        or [f"{group}={each}" for each in synonyms(name) if each in names]
        or _of_other_groups(name)
        or [f"{group}={each}" for each in nearest_names(name, names)]
    )
    near = suggestion(found[:MOST_NEAR])
    command = f"attnexp --help {group}" if group in GROUPS else ""
    return with_choices(problem, near, choose(name, names, command, near))


def _of_other_groups(name: str) -> list[str]:
    """Return the overrides that choose a name, or a synonym of it, in another group."""
    chosen = [" ".join(choosing(group, [name])) for group in groups_with(name) if name != NONE]
    return chosen or [each for group in GROUPS for each in settings_for(f"{group}={name}")]


def _first_words(error: BaseException) -> str:
    """Return the first line of a chain of errors, and the setting that the line names.

    Hydra's error says that a value does not fit, the error that caused it says why.
    """
    for cause in causes(error):
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        if lines and not (lines[0].startswith("Error merging override") and cause.__cause__):
            named = next((line[9:].strip() for line in lines if line.startswith("full_key:")), "")
            said = lines[0].partition(", possible interpolation keys")[0]
            return f"{named}: {said}" if named else said
    return type(error).__name__
