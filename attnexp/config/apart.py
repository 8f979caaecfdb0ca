"""A setting that only some choices of a swept group have, and the sweeps that run them apart."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from attnexp.config.messages import override_name
from attnexp.config.words import readable
from attnexp.core.errors import LONGEST
from attnexp.runs.redaction import masked
from attnexp.runs.settings import GROUPS

Variants = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""The nested settings at each choice of each group that a sweep varies."""

FEW = 3
"""The choices that are named of many."""


def swept_groups(words: Iterable[str], loader: Any) -> dict[str, list[str]]:
    """Return the choices of each group that words vary, by the group. A later word counts.

    `loader` finds the choices of `glob`. Raises HydraException for a word that cannot be parsed.
    """
    parsed = OverridesParser.create(loader).parse_overrides([readable(word) for word in words])
    named = {each.key_or_group: each for each in parsed if each.key_or_group in GROUPS}
    several = {
        group: [str(getattr(name, "text", name)) for name in each.sweep_iterator()]
        for group, each in named.items()
        if each.is_choice_sweep()
    }
    return {group: names for group, names in several.items() if names}


def apart(path: str, variants: Variants, flags: Sequence[str], words: Sequence[str]) -> str | None:
    """Return the sentence for an unknown setting that some choices have, or None if all lack it.

    `flags` and `words` are those of the command line, from which its two commands are made.
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
                f"`{shlex.join(masked(['attnexp', '-m', *flags, *line]))}`" for line in lines
            )
            sentence = f"{path} is a setting of {with_it}, not of {without}: write {both}"
            if len(others) < len(rest) and len(sentence) <= LONGEST:
                return sentence
            return (
                f"{path} is a setting of {group}={_named(having)}, not of {group}="
                f"{_named(lacking)}: write a sweep of the former with {path}, and one of the others"
            )
    return None


def merged(several: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nested settings with all that any of several have."""
    found: dict[str, Any] = {}
    for settings in several:
        for name, value in settings.items():
            before = found.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                found[name] = merged([before, value])
            else:
                found[name] = value
    return found


def _named(names: Sequence[str]) -> str:
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
