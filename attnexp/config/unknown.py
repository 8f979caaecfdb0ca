"""The sentence for a setting that does not exist, or not with every choice of a sweep."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from attnexp.config.documents import read_document
from attnexp.config.groups import choices
from attnexp.core.errors import (
    LONGEST,
    MOST_NEAR,
    RequestError,
    choose,
    shortened_value,
    suggestion,
    with_choices,
)
from attnexp.core.synonyms import settings_for, synonyms
from attnexp.runs.settings import GROUPS

SHOWN = 60
"""The most characters of a setting in a message."""

FOR_SEQUENCES = ("bottleneck", "decoder_only", "pooling", "rnn", "transformer")
"""The architectures of sequences, which the default data set does not fit."""

TOP = "attnexp --cfg job"

Variants = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Nested settings by swept group and choice."""

FEW = 3
"""The most choices that a message names."""


class UnknownSettingError(RequestError):
    """The setting at `path` does not exist. `siblings` are the settings that exist there."""

    def __init__(self, path: str, siblings: Collection[str]) -> None:
        self.path, self.siblings = path, tuple(siblings)
        super().__init__(self.path, self.siblings)  # from which pickle makes it anew

    def __str__(self) -> str:
        return unknown_setting(self.path, self.siblings)


def unknown_setting(
    path: str, siblings: Collection[str], others: Collection[str] = (), typed: str = ""
) -> str:
    """Return the sentence for a setting that does not exist, with the nearest ones and the choices.

    `others` are the paths of settings elsewhere, `typed` is the word of the command line, if any:
    suggestions are words to type then. A synonym is suggested first, then a setting of the same
    name, elsewhere or of another choice, then a setting of a similar name.
    """
    where, _, name = path.rpartition(".")
    owner = f"in '{where}'" if where else "at the top level"
    known = {*others, *(_joined(where, sibling) for sibling in siblings)}
    found = _meant(path, siblings, others, known, typed)
    if typed:
        found = [_written(word, known, typed.partition("=")[2]) for word in found]
    near = suggestion(dict.fromkeys(found))
    problem = f"There is no setting '{shortened_value(name, SHOWN)}' {owner}"
    if not siblings:
        return f"{problem}.{near}" if near else f"{problem}: it has none"
    return with_choices(problem, near, choose(name, siblings, TOP, near))


def _meant(
    path: str, siblings: Collection[str], others: Collection[str], known: set[str], typed: str
) -> list[str]:
    where, _, name = path.rpartition(".")
    return (
        _synonymous(typed, path, known, others)
        or _named(name, others)
        or (_of_another_choice(where, name) if others else [])
        or _similar(name, where if typed else "", siblings, others)
        or (_of_similar_choice(where, name) if others else [])
    )


def _synonymous(typed: str, path: str, known: set[str], others: Collection[str]) -> list[str]:
    """Return the synonyms among the known settings, or else all synonyms."""
    name = path.rpartition(".")[2]
    words = settings_for(typed) or settings_for(path) or settings_for(name)
    here = [word for word in words if word in known]
    return here or (words if others else [])


def _named(name: str, paths: Collection[str]) -> list[str]:
    """Return the paths that end in a name."""
    return sorted(path for path in paths if path.rpartition(".")[2] == name)[:MOST_NEAR]


def _similar(
    name: str, where: str, siblings: Collection[str], others: Collection[str]
) -> list[str]:
    """Return settings of similar names: siblings, or others if the most similar is no sibling."""
    same = [word for word in synonyms(name) if word in siblings]
    every = {*siblings, *(path.rpartition(".")[2] for path in others)}
    near = same or get_close_matches(name, every, n=MOST_NEAR, cutoff=0.7)
    if near and near[0] not in siblings:
        return _named(near[0], others)
    return [_joined(where, each) for each in near if each in siblings]


def _of_another_choice(where: str, name: str) -> list[str]:
    """Return the paths of settings with this name in other choices, of one group or all."""
    return _named(name, _choices_by_setting(where))


def _of_similar_choice(where: str, name: str) -> list[str]:
    known = {path.partition(".")[2]: path for path in _choices_by_setting(where)}
    return [known[near] for near in get_close_matches(name, known, n=1, cutoff=0.75)]


def _choices_by_setting(where: str) -> dict[str, list[str]]:
    """Return the choices that have a setting, by its path, in one group; for "" in all groups."""
    found: dict[str, list[str]] = {}
    for group in [where] if where in GROUPS else GROUPS if not where else ():
        for choice in choices(group):
            for name in read_document(choice.path, dict[str, object]):
                if name not in ("_target_", "defaults"):
                    found.setdefault(f"{group}.{name}", []).append(choice.name)
    return found


def _joined(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _written(word: str, known: Collection[str], value: str) -> str:
    """Return a suggestion as the words of a command line, with a choice that has the setting."""
    *before, last = word.split(" ")
    group, _, name = last.partition(".")
    if "=" in last:
        return word
    if value:
        last = word_shown(f"{last}={value}")
    having = _choices_by_setting(group).get(word) if name else None
    if not before and word not in known and having:
        before = list(choosing(group, having))
    return " ".join([*before, last])


def choosing(group: str, having: Sequence[str]) -> Iterator[str]:
    """Yield overrides that select one of some choices, and data for it."""
    best = next((name for name in ("transformer", "copy", "gaussian") if name in having), having[0])
    if group == "arch" and best in FOR_SEQUENCES:
        yield "data=copy"
    yield f"{group}={best}"


def word_shown(setting: str) -> str:
    """Return a setting, shortened."""
    return shortened_value(setting, SHOWN)


def override_name(override: str) -> str:
    """Return the setting or group that an override is for."""
    return override.lstrip("+~").partition("=")[0].partition("@")[0]


def apart(path: str, variants: Variants, flags: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the sentence for an unknown setting that some choices have, or None if all lack it.

    The sentence has two commands, made from the `flags` and `words` of the command line.
    """
    for group, settings in variants.items():
        having = [name for name, each in settings.items() if _has(each, path)]
        lacking = [name for name in settings if name not in having]
        if having and lacking:
            rest = [word for word in words if override_name(word) != group]
            others = [word for word in rest if override_name(word) != path]
            with_it, without = f"{group}={','.join(having)}", f"{group}={','.join(lacking)}"
            lines = [with_it, *rest], [without, *others]
            both = " and ".join(
                f"`{shlex.join(['attnexp', '-m', *flags, *line])}`" for line in lines
            )
            sentence = f"{path} is a setting of {with_it}, not of {without}: write {both}"
            if len(others) < len(rest) and len(sentence) <= LONGEST:
                return sentence
            return (
                f"{path} is a setting of {group}={_few(having)}, not of {group}="
                f"{_few(lacking)}: write a sweep of the former with {path}, and one of the others"
            )
    return None


def merged(several: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the union of nested settings. Later values replace earlier ones."""
    found: dict[str, Any] = {}
    for settings in several:
        for name, value in settings.items():
            before = found.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                found[name] = merged([before, value])
            else:
                found[name] = value
    return found


def _few(names: Sequence[str]) -> str:
    few = names[:FEW]
    more = f" and {len(names) - len(few)} more" if len(names) > len(few) else ""
    return ",".join(few) + more


def _has(settings: Mapping[str, Any], path: str) -> bool:
    node: Any = settings
    for name in path.split("."):
        if not isinstance(node, Mapping) or name not in node:
            return False
        node = node[name]
    return True
