"""Other names for rows: of choices, of settings with their values, and of whole labels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

PATH = r"(?:\w+\.)*"
"""The beginning of a setting's name, which a label may have in full or in part."""


@dataclass(frozen=True)
class Renaming:
    """The names that replace parts of labels: `{"additive": "Bahdanau", "width=1": "narrow"}`.

    A name of several parts, such as `gaussian, width=1`, replaces the whole label. A setting may
    have its full name or the end of it.
    """

    names: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names)

    def __call__(self, text: str) -> str:
        """Return a text in which whole words are replaced, the longest ones first."""
        if not self.names:
            return text
        olds = sorted(self.names, key=len, reverse=True)
        words = "|".join(f"(?P<n{i}>{_pattern(old)})" for i, old in enumerate(olds))
        found = re.compile(rf"(?<![\w.=-])(?:{words})(?![\w=-]|\.\w)")
        return found.sub(lambda match: self.names[olds[int(str(match.lastgroup)[1:])]], text)

    def whole(self, label: str) -> str | None:
        """Return the name of a label of several parts, if it has one."""
        for old, new in self.names.items():
            if ", " in old and re.fullmatch(_pattern(old), label):
                return new
        return None


KEPT = Renaming()


def _pattern(old: str) -> str:
    parts = old.split(", ")
    return ", ".join(f"{PATH if '=' in part else ''}{re.escape(part)}" for part in parts)
