"""Writes the list of trials, the tables of shipped cards, their differences and README's count.

The Chinese pages keep their texts. A trial that they lack has its English question there.
"""

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

from attnexp.cards.card_file import Card, merged, read_card
from attnexp.cards.judge import LAST_TRIED, CardVerdict, judged
from attnexp.cards.page import leaderboard
from attnexp.cards.trial import GROUP, LevelName, Trial, read_tasks
from attnexp.config.documents import read_document
from attnexp.config.groups import Choice, choices
from attnexp.stats.compare import Word
from attnexp.tables.formats import as_markdown
from attnexp.tables.grid import Report

DOCS = Path(__file__).resolve().parent
PAGES = [DOCS / name for name in ("card.md", "card_numbers.md", "card_sayings.md", "../README.md")]
CHINESE_PAGES = [DOCS / name for name in ("zh/card.md", "../README.zh.md")]
LIST = re.compile(r"<!-- conf/trial -->\n\n(?:[|-].*\n)*")
CARDS = DOCS / "cards"
SHIPPED = re.compile(r"<!-- docs/cards -->\n\n(?:\|.*\n)*")
NEXT_TO = ("scaled_dot", "additive")
"""The baselines of nearly all cards: a column each."""
SHIPPED_HEAD = (
    "| card | seeds | scaled_dot | additive | nearest relative |\n|---|---|---|---|---|\n"
)
LEFT_OUT = ("cost", "length_10")
"""Trials without a line in the table of means: seconds of a busy machine, and zeros."""
COUNT = re.compile(r"\[\d+ small tasks\]")
CHINESE_COUNT = re.compile(r"\[\d+ 个小任务\]")
SAYINGS = re.compile(r"<!-- the differences that hold -->\n\n(?:[#-].*\n+)*")
COMPARED = re.compile(r"<!-- attnexp card --compare -->\n\n(?:\|.*\n)*")


def written(page: str) -> str:
    """Return a page with its lists and tables written anew."""
    page = LIST.sub(lambda _: f"<!-- conf/trial -->\n\n{''.join(items())}", page)
    page = COUNT.sub(f"[{len(read_tasks('quick'))} small tasks]", page)
    page = SAYINGS.sub(lambda _: f"<!-- the differences that hold -->\n\n{sayings()}", page)
    page = SHIPPED.sub(lambda _: f"<!-- docs/cards -->\n\n{SHIPPED_HEAD}{verdict_rows()}", page)
    return COMPARED.sub(lambda _: f"<!-- attnexp card --compare -->\n\n{compared()}", page)


def written_in_chinese(page: str) -> str:
    """Return a Chinese page with the lines of its trials, and their number, written anew."""
    page = CHINESE_COUNT.sub(f"[{len(read_tasks('quick'))} 个小任务]", page)
    texts = dict(re.findall(r"^- `(\w+)`\uff1a(.*\uff1f)", page, re.MULTILINE))
    lines = "".join(
        chinese_item(choice, read_document(choice.path, Trial), texts.get(choice.name))
        for choice in choices(GROUP)
    )
    return LIST.sub(lambda _: f"<!-- conf/trial -->\n\n{lines}", page)


def shipped() -> list[Path]:
    """Return the files of the cards that ship."""
    return sorted(CARDS.glob("*.json"))


@cache
def judged_cards() -> dict[str, tuple[Card, list[CardVerdict]]]:
    """Return the cards that ship by the names of their files, each with all its verdicts."""
    cards = {path.stem: read_card(path) for path in shipped()}
    return {
        name: (card, [verdict for own in judged(card.trials) for verdict in own])
        for name, card in cards.items()
    }


def verdict_rows() -> str:
    """Return a row for each card: the differences that hold, by baseline."""
    lines = []
    for name, (card, found) in judged_cards().items():
        held = {
            baseline: signs([verdict for verdict in found if verdict.baseline == baseline])
            for baseline in dict.fromkeys(verdict.baseline for verdict in found)
        }
        near = ", ".join(f"{row}: {text}" for row, text in held.items() if row not in NEXT_TO)
        shown = f"[{card.subject}](cards/{name}.json)"
        lines.append(line([shown, str(card.seeds), *(held.get(row, "") for row in NEXT_TO), near]))
    return "".join(lines)


def signs(found: list[CardVerdict]) -> str:
    """Return how many verdicts that hold are better and worse, as `+3 -6`, or `0`."""
    held = Counter(verdict.word for verdict in found if verdict.holds)
    counted = ((Word.BETTER, "+"), (Word.WORSE, "-"))
    return " ".join(f"{sign}{held[word]}" for word, sign in counted if held[word]) or "0"


def sayings() -> str:
    """Return a list for each card: the differences that hold over the whole of it.

    The heading has the subject and its seeds, and the trial its metric: the lines leave them out.
    A card whose differences are all those of another one has its name alone.
    """
    parts = []
    told: dict[frozenset[tuple[str, frozenset[str]]], tuple[str, int]] = {}
    for card, found in judged_cards().values():
        held = [each for each in found if each.holds]
        pairs = frozenset((each.trial, frozenset((each.subject, each.baseline))) for each in held)
        if told.get(pairs, ("", 0))[1] == card.seeds:
            lines = f"- As {told[pairs][0]}, the other way round.\n"
        else:
            lines = "".join(f"- {saying(each)}\n" for each in held) or "- None.\n"
        if held:
            told[pairs] = (card.subject, card.seeds)
        parts.append(f"## {card.subject}, {card.seeds} seeds\n\n{lines}")
    return "\n".join(parts)


def saying(verdict: CardVerdict) -> str:
    """Return the sentence of a verdict without its subject, seeds and metric."""
    text = verdict.sentence.replace(f"{verdict.subject} is ", "", 1)
    text = re.sub(r"\(\S+ (?=\S+ and )", "(", text)
    text = re.sub(r"(\d+) of (\d+) (?=and|seeds)", r"\1/\2 ", text)
    text = text.replace("seeds learned", "learned").replace(LAST_TRIED, "last value")
    return re.sub(r", \d+ seeds", "", text)


def compared() -> str:
    """Return the table of all cards that ship, without its title, caption and notes."""
    names = [path.name for path in shipped()]
    if not names:
        return ""
    cards = [read_card(path) for path in shipped()]
    trials = [trial for trial in merged(cards, names) if trial.name not in LEFT_OUT]
    (grid,) = leaderboard(trials).grids
    bare = replace(grid, title="", caption="", legend="")
    kept = [place for place, head in enumerate(grid.columns) if head.title != "metric"]
    bare = bare.chosen([grid.columns[place] for place in kept], kept)
    table = as_markdown(Report([bare])).replace(" \\*", "")
    return re.sub(" {2,}", " ", table)


def items() -> list[str]:
    """Return the line of each trial that ships, in alphabetical order."""
    return [item(choice, read_document(choice.path, Trial)) for choice in choices(GROUP)]


def item(choice: Choice, trial: Trial) -> str:
    """Return the line of a trial: its question, its deciding number and the levels it lacks."""
    number = f"`{trial.metric}`"
    if trial.works is not None:
        number = (
            f"values of `{trial.works.setting}` with {number} at least {trial.works.at_least:g}"
        )
    return f"- `{choice.name}`: {choice.line} {', not '.join([number, *lacking(trial)])}\n"


def chinese_item(choice: Choice, trial: Trial, asks: str | None) -> str:
    """Return the line of a trial with the question that the page had, else in English."""
    number = f"`{trial.metric}`"
    if trial.works is not None:
        number += f" 至少为 {trial.works.at_least:g} 的 `{trial.works.setting}` 值"
    asks = asks or f"{choice.line} "
    decided = "\uff0c没有 ".join([number, *lacking(trial)])
    return f"- `{choice.name}`\uff1a{asks}{decided}\n"


def lacking(trial: Trial) -> list[str]:
    """Return the levels that a trial does not have."""
    return [f"`{name}`" for name in get_args(LevelName) if not getattr(trial, name)]


def line(cells: list[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(written(each.read_text(encoding="utf-8")), encoding="utf-8")
    for each in CHINESE_PAGES:
        text = each.read_text(encoding="utf-8")
        each.write_text(written_in_chinese(text), encoding="utf-8")
