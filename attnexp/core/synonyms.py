"""Words of other tools for what attnexp has: the table synonyms.yaml."""

import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path

TABLE = Path(__file__).resolve().with_suffix(".yaml")


def synonyms(word: str) -> list[str]:
    """Return attnexp's names for a name of another tool, the likeliest first, or an empty list."""
    return _table()["values"].get(word.lower(), [])


def nearly_synonymous(word: str) -> list[str]:
    """Return the synonyms of the word of the table that is nearest to a word."""
    near = get_close_matches(word.lower(), _table()["values"], n=1, cutoff=0.8)
    return synonyms(near[0]) if near else []


def settings_for(word: str) -> list[str]:
    """Return attnexp's settings for a setting of another tool, with or without a value.

    Neither capitals nor the sign between the parts of a name matter, nor, if no other word is
    found, a number and what follows it in a value. N in the table is any whole number.
    """
    table, plain = _table()["settings"], word.lower().replace("-", "_")
    name, _, value = plain.partition("=")
    counted = table.get(f"{name}=N", []) if value.isdecimal() else []
    return (
        table.get(word)
        or table.get(plain)
        or [each.replace("(N)", f"({int(value)})") for each in counted]
        or table.get(re.sub(r"(?<=[a-z])_?\d.*", "", plain), [])
    )


def commands_for(word: str) -> list[str]:
    """Return attnexp's commands for the first word of another tool's command line."""
    return _table()["first words of a command line"].get(word.lower(), [])


def options_for(word: str) -> list[str]:
    """Return attnexp's command or option for an option of another tool."""
    return _table()["options"].get(word.lower().replace("_", "-"), [])


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    import yaml  # an error alone needs it

    table: dict[str, dict[str, list[str]]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return table
