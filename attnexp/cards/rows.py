"""The rows of a card: the subject, and the baselines next to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from attnexp.config.plain_words import require_plain
from attnexp.core.errors import RequestError

USUAL = {"model": "scaled_dot", "normalizer": "softmax"}
"""The default choices of a row."""

BASELINES = (("model=scaled_dot",), ("model=additive",))
"""The baselines of every subject, besides the nearest relative."""

SIZED = ("data", "task", "train", "optim", "schedule", "experiment", "seed", "output_dir", "hydra")
"""Settings of the trial, which a row cannot change."""


@dataclass(frozen=True)
class CardRow:
    """A row of settings, labelled by those that are not the default.

    `of_products` is true for scores that are products, which do not measure distance.
    """

    label: str
    words: tuple[str, ...]
    of_products: bool = False


def row_of(words: Sequence[str]) -> CardRow:
    """Return the row of settings such as `normalizer=sparsemax`.

    Raises RequestError for a word that is not a setting, for several values, for a setting of the
    trial, and for a word that `require_plain` refuses, as the card could not be read.
    """
    given: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not value:
            raise RequestError(f"'{word}' is not a setting such as model=cosine")
        if "," in value and not value.startswith(("[", "{", "'", '"')):
            raise RequestError(f"a card takes one value of {name}, got {value}")
        if name.partition(".")[0].lstrip("+~") in SIZED:
            raise RequestError(
                f"{word}: trials set {name}; a card takes settings of model, normalizer, "
                "estimator, attention, positions and arch"
            )
        require_plain(word, "a card")
        given[name] = value
    whole = {**USUAL, **given}
    unusual = {name: value for name, value in whole.items() if USUAL.get(name) != value}
    shown = [v if name in USUAL else f"{name}={v}" for name, v in unusual.items()]
    settings = tuple(f"{name}={value}" for name, value in sorted(whole.items()))
    return CardRow(" ".join(shown) or USUAL["model"], settings)


def rows_of(subject: Sequence[str], baselines: Sequence[Sequence[str]]) -> list[CardRow]:
    """Return the rows of the subject and of the baselines, without duplicates.

    Raises RequestError if no baseline is left.
    """
    rows = list(dict.fromkeys(row_of(words) for words in [subject, *baselines]))
    if len(rows) < 2:
        raise RequestError(f"{rows[0].label} is its own baseline: name another with --baseline")
    return rows
