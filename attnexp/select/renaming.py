"""Other names for rows, columns and metrics."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

PATH = r"(?:\w+\.)*"
"""The leading parts of a setting's dotted path, which labels may have or not."""


@dataclass(frozen=True)
class Renaming:
    """The names that readers see in place of the original names.

    `names` replaces parts of labels: `{"additive": "Bahdanau", "width=1": "narrow"}`. A key of
    several parts, such as `gaussian, width=1`, replaces the whole label; its settings may have
    their full path or the end of the path. `settings` replaces names of settings and groups, in
    every form that labels use: `{"model.hidden_dim": "size", "hidden_dim": "size"}`. `metrics`
    replaces names of metrics.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names or self.settings or self.metrics)

    def __call__(self, text: str) -> str:
        """Return a label in which parts and then names of settings are replaced."""
        named = self.parts(text)
        return _replaced(
            named, self.settings, r"(?<![\w.])", "(?==)", map(re.escape, self.settings)
        )

    def parts(self, text: str) -> str:
        """Return a label in which choices, and settings with their values, are replaced."""
        return _replaced(
            text, self.names, r"(?<![\w.=-])", r"(?![\w=-]|\.\w)", map(_pattern, self.names)
        )

    def sentence(self, text: str) -> str:
        """Return a text in which labels and the names of metrics are replaced."""
        words = map(re.escape, self.metrics)
        return _replaced(self(text), self.metrics, r"(?<![\w.@=-])", r"(?![\w@-]|\.\w)", words)

    def title(self, name: str) -> str:
        """Return the new name of a setting, a group or a metric, or else its name."""
        return self.settings.get(name) or self.metrics.get(name, name)

    def whole(self, label: str) -> str | None:
        """Return the new name of a label of several parts, None without one."""
        for old, new in self.names.items():
            if ", " in old and re.fullmatch(_pattern(old), label):
                return new
        return None


KEPT = Renaming()


def _replaced(
    text: str, names: Mapping[str, str], before: str, after: str, patterns: Iterable[str]
) -> str:
    """Return the text with new names in place of patterns that stand between `before` and `after`.

    Longer names are replaced first.
    """
    if not names:
        return text
    own = sorted(zip(names, patterns, strict=True), key=lambda each: len(each[0]), reverse=True)
    words = "|".join(f"(?P<n{i}>{pattern})" for i, (_, pattern) in enumerate(own))
    found = re.compile(f"{before}(?:{words}){after}")
    return found.sub(lambda match: names[own[int(str(match.lastgroup)[1:])][0]], text)


def _pattern(old: str) -> str:
    parts = old.split(", ")
    return ", ".join(f"{PATH if '=' in part else ''}{re.escape(part)}" for part in parts)
