"""Words of other tools for what attnexp has: the table synonyms.yaml."""

from functools import cache
from pathlib import Path

TABLE = Path(__file__).resolve().with_suffix(".yaml")


def synonyms(word: str) -> list[str]:
    """Return attnexp's words for a word of another tool, the likeliest first, or an empty list."""
    return [ours for words in _table().values() for ours in words.get(word, [])]


def settings_for(word: str) -> list[str]:
    """Return attnexp's settings for a setting of another tool, with or without a value."""
    return _table()["settings"].get(word, [])


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    import yaml  # an error alone needs it

    table: dict[str, dict[str, list[str]]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return table
