"""The table of docs/register.md is as docs/register.py writes it, and agrees with other files."""

import ast
import re
import unicodedata

import pytest
import yaml
from conftest import CONF, ROOT, choice_names
from documented import script

from attnexp.cards.card_file import Card, RowResult, TrialResult, read_card, write_card

PAGE = (ROOT / "docs" / "register.md").read_text()
GROUPS = ("model", "normalizer", "estimator", "attention", "positions")
OF_EVERY_ROW = ("local_constant", "plain", "none")
NAMED = [
    (group, name) for group in GROUPS for name in choice_names(group) if name not in OF_EVERY_ROW
]
EACH = pytest.mark.parametrize(("group", "name"), NAMED)


def rows_of(page):
    """The rows of the table of a page, as cells by the heads, by the names of choices."""
    lines = re.findall(r"^\|(.*)\|$", page, re.MULTILINE)
    heads, _, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    found = [dict(zip(heads, row, strict=True)) for row in rows]
    for row in found:
        row["stars"], _, row["card"] = row.pop("stars, cards").partition(", ")
    return {re.findall(r"`(?:\w+=)?(.+?)`", row[heads[0]])[0]: row for row in found}


ROWS = rows_of(PAGE)


def target(group, name):
    """The module and the name of a class."""
    content = yaml.safe_load((CONF / group / f"{name}.yaml").read_text())
    return content["_target_"].rsplit(".", 1)


def docstring(group, name):
    """The docstring of a class in one line, found without an import."""
    module, own = target(group, name)
    body = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text()).body
    (found,) = (node for node in body if isinstance(node, ast.ClassDef) and node.name == own)
    return " ".join((ast.get_docstring(found) or "").split())


def shipped():
    return {path.stem: read_card(path) for path in script("card").shipped()}


def test_the_table_is_up_to_date():
    assert script("register").written(PAGE, shipped()) == PAGE, "run `python docs/register.py`"
    assert [*ROWS][: len(NAMED)] == [name for _, name in NAMED]


@EACH
def test_a_mechanism_has_its_word_and_its_file(group, name):
    path = f"../{target(group, name)[0].replace('.', '/')}.py"
    assert ROWS[name]["mechanism"] == f"[`{group}={name}`]({path})"


@EACH
def test_a_source_is_the_first_of_the_docstring_and_that_of_the_description(group, name):
    """The textbook has no year there; descriptions have names without accents."""
    row, said = ROWS[name], docstring(group, name)
    plain_said = re.sub(r" \(\d{4}\)|, release [\d.]+", "", said)
    assert row["source"] in plain_said
    before, _, _ = said.partition("Dive into Deep Learning")
    first = re.search(r"\((\d{4})", before)
    assert row["year"] == (first[1] if first else "")
    assert bool(row["source"]) == bool(first or before != said)
    line = (CONF / group / f"{name}.yaml").read_text().splitlines()[0]
    plain = unicodedata.normalize("NFKD", row["source"]).encode("ascii", "ignore").decode()
    for author, year in re.findall(r"([A-Z]\w+) (\d{4})\b", line):
        assert author in plain
        assert year == row["year"]
    base, learned, _ = name.partition("_learned")
    formula = f"The kernel `{base}` with a learned width." if learned else row["formula"]
    assert row["formula"] == formula
    assert learned or row["formula"].replace("&#124;", "|") in line
    assert not re.search(r"\d{4}", row["formula"])


@pytest.mark.parametrize(
    "source",
    [
        "van der Maaten and Hinton (2008)",
        "Hinton and van der Maaten (2008, section 3)",
        "De Brabandere, Bar-Hillel and O'Neil (2016)",
        'Vaswani et al. (2017), "Attention is all you need"',
    ],
)
def test_authors_with_names_of_several_words_are_read_whole(source):
    found = script("register").SOURCE.search(f"The kernel of {source}: it falls.")
    assert found[0] == source
    assert found[1] in source


@EACH
def test_a_mechanism_has_the_claims_that_name_it(group, name):
    found = []
    for folder in sorted((CONF / "claim").iterdir()):
        sweeps = yaml.safe_load((folder / "claim.yaml").read_text()).get("sweeps", [])
        words = [word for sweep in sweeps for word in sweep]
        own = (folder / "own.py").read_text() if (folder / "own.py").exists() else ""
        module, kind = target(group, name)
        imported = f"from {module} import {kind}\n" in own and module.endswith(f".{name}")
        if imported or any(re.match(rf"{group}=(.*,)?{name}(,|$)", word) for word in words):
            found.append(folder.name)
    assert re.findall(r"`(\w+)`", ROWS[name]["claims"]) == found


def measured(words, *values):
    """A row of six seeds near a value in each trial, None for none, as a card labels it."""
    label = " ".join(word.partition("=")[2] for word in words) or "scaled_dot"
    whole = {"model": "scaled_dot", "normalizer": "softmax"} | dict(w.split("=") for w in words)
    named = [f"{key}={value}" for key, value in whole.items()]
    found = [{} if each is None else {s: each + s / 1000 for s in range(6)} for each in values]
    return [RowResult(label, named, {"accuracy": each} if each else {}) for each in found]


def card_of(words, *values, seeds=6):
    """A card of two trials, in which the subject has these values, next to two baselines."""
    sides = [([], 0.5, 0.5), (["model=additive"], 0.7, None)]
    rows = [measured(words, *values), *(measured(*side) for side in sides)]
    trials = [
        TrialResult(name, "", "", ["data=copy"], [], [], "accuracy", [], 0.02, [*own], unit="share")
        for name, *own in zip(("copy", "sort"), *rows, strict=True)
    ]
    label = trials[0].rows[0].label
    return Card(label, "quick", seeds, "2026-11-25", {}, "a processor", "cpu", 1, trials)


CARDS = {
    "cosine-quick": card_of(["model=cosine"], 0.3, 0.9, seeds=24),
    "sparsemax-quick": card_of(["normalizer=sparsemax"], 0.2, 0.1),
    "laplace-quick": card_of(["model=laplace"], 0.7, 0.4),
    "laplace-again": card_of(["model=laplace"], 0.1, 0.9),
}
BY_HAND = rows_of(script("register").written(PAGE, CARDS))


def test_stars_are_counted_by_hand():
    stars = {name: row["stars"] for name, row in BY_HAND.items() if row["stars"]}
    tied = {"additive": "1 of 1", "cosine": "1 of 2", "laplace": "2 of 2"}
    none = dict.fromkeys(("scaled_dot", "softmax", "sparsemax"), "0 of 2")
    assert stars == tied | none


def test_stars_are_those_of_the_table_of_all_cards(tmp_path, monkeypatch):
    card, few = script("card"), {name: each for name, each in CARDS.items() if "quick" in name}
    monkeypatch.setattr(card, "CARDS", tmp_path)
    for name, each in few.items():
        write_card(tmp_path / f"{name}.json", each)
    lines = [line.split("|")[2:-1] for line in card.compared().splitlines() if "|" in line]
    found = rows_of(script("register").written(PAGE, few))
    for head, _, *numbers in zip(*lines, strict=True):
        there = [number for number in numbers if number.strip() != "skip"]
        count = sum("*" in number for number in there)
        assert found[head.strip()]["stars"] == f"{count} of {len(there)}"
    assert len(lines[0]) == len(few) + 2


def test_cards_of_shipped_and_of_other_mechanisms_have_links_and_their_own_number_of_seeds():
    links = "[laplace-quick](cards/laplace-quick.json), [laplace-again](cards/laplace-again.json)"
    own = {"mechanism": "`model=laplace`", "stars": "2 of 2", "card": links}
    assert {head: cell for head, cell in BY_HAND["laplace"].items() if cell} == own
    assert [*BY_HAND] == [*(name for _, name in NAMED), "laplace"]
    cosine = BY_HAND["cosine"]
    assert cosine["card"] == "[cosine-quick](cards/cosine-quick.json), 24 seeds"
