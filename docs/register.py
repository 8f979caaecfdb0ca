"""Writes the table of docs/register.md from conf/ and docs/cards/: `python docs/register.py`.

It has a row for each score, normalizer, estimator, attention and positions, and for each card of
another row.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from card import shipped
from hydra.utils import get_object

from attnexp.cards.card_file import Card, merged, read_card
from attnexp.cards.judge import ahead
from attnexp.cards.rows import USUAL, row_of
from attnexp.cards.trial import SEEDS
from attnexp.claims.claim_file import folders, read_written
from attnexp.config.groups import Choice, choices

PAGE = Path(__file__).resolve().parent / "register.md"
TABLE = re.compile(r"<!-- the mechanisms -->\n\n(?:\|.*\n)*")
HEADS = ["mechanism", "year", "source", "formula", "stars, cards", "claims"]

NAME = r"(?:(?:van|von|der|den|de|di|du|la|le|ten|De|Di|La|Le) )*[A-Z][\w'-]+"
NAMES = rf"{NAME}(?:(?:, | and ){NAME})*(?: et al\.)?"
DATED = rf'{NAMES} \((\d{{4}})[^)]*\)(?: and {NAMES} \(\d{{4}}\))?(?:, "[^"]+")?'
SOURCE = re.compile(rf"{DATED}|Dive into Deep Learning, release [\d.]+, section \d+\.\d+")
"""The publication that a docstring names first, and its year, which the textbook lacks."""

KNOWN = re.compile(r' \(\d{4}\)|, "[^"]+"|, release [\d.]+(?=, section)')
"""What of a publication the table leaves out: its year, which has a column, and its title."""

CITED = re.compile(r"(?<=\.) [^.]* \d{4}\b[^.]*\.$")
"""The last sentence of a description, which names the publication again."""

FOLDERS = {
    "scores": "model",
    "normalizers": "normalizer",
    "estimators": "estimator",
    "attention": "attention",
    "architectures.positions": "positions",
}
"""The packages of mechanisms, and the groups that choose them."""

UNNAMED = ("local_constant", "plain", "none")
"""Choices that every other row has, and no row names."""

Cards = dict[str, Card]
"""Cards by the names of their files, without .json."""


def written(page: str, cards: Cards) -> str:
    """Return the page with its table written anew."""
    return TABLE.sub(lambda _: f"<!-- the mechanisms -->\n\n{as_table(HEADS, rows(cards))}", page)


def as_table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown."""
    cut = ["---"] * len(heads)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, cut, *rows))


def rows(cards: Cards) -> list[list[str]]:
    """Return the row of each mechanism, those that only cards have last."""
    known = {
        f"{group}={choice.name}": choice
        for group in FOLDERS.values()
        for choice in choices(group)
        if choice.name not in UNNAMED
    }
    usual = {f"{group}={name}" for group, name in USUAL.items()}
    shown = {row_of([word]).label for word in known}
    others = {card.subject: card for card in cards.values() if card.subject not in shown}
    found = best(cards)
    shipped_rows = [
        [*published(word, choice), *measured([word], cards, found)]
        for word, choice in known.items()
    ]
    other_rows = []
    for card in others.values():
        words = [word for word in card.trials[0].rows[0].words if word not in usual]
        other_rows.append([f"`{' '.join(words)}`", "", "", "", *measured(words, cards, found)])
    return shipped_rows + other_rows


def best(cards: Cards) -> list[dict[str, bool]]:
    """Return for each trial of all cards but costs which rows with a value may be the best."""
    names = [f"{name}.json" for name in cards]
    return [
        {
            row.label: is_ahead
            for row, is_ahead in zip(trial.rows, ahead(trial), strict=True)
            if row.values(trial.metric)
        }
        for trial in (merged([*cards.values()], names) if cards else [])
        if not trial.is_cost
    ]


def published(word: str, choice: Choice) -> list[str]:
    """Return the word of a choice with a link to its class, its year, source and formula."""
    target = yaml.safe_load(choice.path.read_text(encoding="utf-8"))["_target_"]
    path = target.rpartition(".")[0].replace(".", "/")
    source = SOURCE.search(" ".join(get_object(target).__doc__.split()))
    year, text = (source[1] or "", source[0]) if source else ("", "")
    formula = CITED.sub("", choice.line.replace("|", "&#124;"))
    base, with_width, _ = choice.name.partition("_learned")
    if with_width:
        formula = f"The kernel `{base}` with a learned width."
    return [f"[`{word}`](../{path}.py)", year, KNOWN.sub("", text), formula]


def measured(words: Sequence[str], cards: Cards, found: Sequence[dict[str, bool]]) -> list[str]:
    """Return the stars of a row with its cards, and its claims."""
    label = row_of(words).label
    own = {name: card for name, card in cards.items() if card.subject == label}
    labels = {label, *(f"{label} ({name})" for name in own)}
    ahead_in = [any(trial.get(each) for each in labels) for trial in found if labels & {*trial}]
    links = [f"[{name}](cards/{name}.json){more_seeds(card)}" for name, card in own.items()]
    return [
        ", ".join(filter(None, [stars(ahead_in), *links])),
        ", ".join(f"[`{name}`](../conf/claim/{name}/claim.yaml)" for name in claims(words)),
    ]


def stars(found: Sequence[bool]) -> str:
    """Return how often a row may be the best, and in how many trials it was measured."""
    return f"{sum(found)} of {len(found)}" if found else ""


def claims(words: Sequence[str]) -> Iterator[str]:
    """Yield each claim whose sweeps have one of these words, or whose own.py imports its class."""
    for name, folder in folders(None).items():
        swept = [word.partition("=") for sweep in read_written(folder).sweeps for word in sweep]
        named = {f"{group}={each}" for group, _, line in swept for each in line.split(",")}
        code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("own.py"))
        for folder_name, each in re.findall(rf"attnexp\.({'|'.join(FOLDERS)})\.(\w+)", code):
            named.add(f"{FOLDERS[folder_name]}={each}")
        if named & {*words}:
            yield name


def more_seeds(card: Card) -> str:
    """Return the seeds of a card that has others than its level."""
    usual = {str(name): seeds for name, seeds in SEEDS.items()}[card.level]
    return "" if card.seeds == usual else f", {card.seeds} seeds"


if __name__ == "__main__":
    made = {path.stem: read_card(path) for path in shipped()}
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
