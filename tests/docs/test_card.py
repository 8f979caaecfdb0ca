"""docs/card.md has all trials and all fields of a card, its example is a trial, and the pages of
the cards that ship have their numbers."""

import json
import re
from itertools import product
from math import sqrt
from typing import get_args

import msgspec
import pytest
from conftest import CONF, ROOT, choice_names
from documented import blocks, script

from attnexp.cards.card_file import Card, RowResult, TrialResult, read_card
from attnexp.cards.lines import Effort
from attnexp.cards.rows import row_of
from attnexp.cards.trial import LevelName, Trial, read_tasks
from attnexp.sweeps.line import jobs_of

PAGE, NUMBERS, SAYINGS, README = (path.read_text() for path in script("card").PAGES)


def section(title):
    """The text below a title, up to the next one."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_the_list_has_the_trials_as_their_files_have_them():
    for page in (PAGE, NUMBERS, SAYINGS, README):
        assert script("card").written(page) == page, "run `python docs/card.py`"
    found = re.findall(r"^- `(\w+)`: .*\? ", section("The trials"), re.MULTILINE)
    assert sorted(found) == choice_names("trial")


def test_the_chinese_pages_have_the_same_trials():
    for path in script("card").CHINESE_PAGES:
        page = path.read_text()
        assert script("card").written_in_chinese(page) == page, "run `python docs/card.py`"


def test_a_trial_without_a_translation_has_its_english_line_and_others_keep_theirs():
    page = (ROOT / "docs" / "zh" / "card.md").read_text()
    found = script("card").written_in_chinese(re.sub(r"(?m)^- `copy`.*\n", "", page))
    lines = zip(page.splitlines(), found.splitlines(), strict=True)
    ((own, english),) = ((one, other) for one, other in lines if one != other)
    assert own.startswith("- `copy`\uff1a")
    assert english.replace("\uff1a", ": ") in PAGE.splitlines()


def test_the_readme_counts_the_small_trials():
    small = [path for path in (CONF / "trial").glob("*.yaml") if "\nquick:" in path.read_text()]
    assert f"in [{len(small)} small tasks](docs/card.md)" in README


SHIPPED = script("card").shipped()


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_a_card_that_ships_is_of_the_trials_as_they_are_now(path):
    card = read_card(path)
    (level,) = (each for each in get_args(LevelName) if each == card.level)
    tasks = {task.name: task for task in read_tasks(level)}
    assert set() < {trial.name for trial in card.trials} <= set(tasks)
    for trial in card.trials:
        task = tasks[trial.name]
        now = (task.words, task.trial.tune, task.metric, task.trial.equal_within)
        assert (trial.words, trial.tune, trial.metric, trial.equal_within) == now
        for row in trial.rows:
            counted = len(row.values(trial.metric)) + len(row.diverged) + row.lost
            assert counted >= card.seeds


def largest_flips(tables):
    """Of each sign vector of the seeds the largest |sum| / norm of all tables, by a loop."""
    seeds = sorted({seed for table in tables for seed in table})
    found = []
    for signs in product((1, -1), repeat=len(seeds) - 1):
        sign = dict(zip(seeds, (1, *signs), strict=True))
        sums = (sum(d * sign[seed] for seed, d in table.items()) / norm(table) for table in tables)
        found.append(max(map(abs, sums)))
    return found


def norm(table):
    return sqrt(sum(d * d for d in table.values())) or 1.0


SAID = re.compile(
    r"^- (\w+): (better|worse) than (.+?) \(.*?(?:; last value: (.*))?\)$",
    re.MULTILINE,
)


def told_of(subject, seeds):
    """The lines of a card, those of another one turned round if the page says so."""
    (told,) = re.findall(
        rf"^## {re.escape(subject)}, {seeds} seeds\n\n(.*?)(?=^## |\Z)",
        SAYINGS,
        re.MULTILINE | re.DOTALL,
    )
    as_another = re.match(r"- As (.+), the other way round\.\n", told)
    if as_another is None:
        return told
    turned = {"better": "worse", "worse": "better"}
    return re.sub(
        rf": (better|worse) than {re.escape(subject)} \(",
        lambda found: f": {turned[found[1]]} than {as_another[1]} (",
        told_of(as_another[1], seeds),
    )


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_each_saying_is_in_the_numbers_of_its_card(path):
    """By the means and the flips of raw numbers alone: no other difference of the card gets there.

    Only where the seeds are few, all sign vectors are tried; else the direction is compared.
    """
    card = json.loads(path.read_text())
    told = told_of(card["subject"], card["seeds"])
    tables = {}
    for trial in card["trials"]:
        first, *others = trial["rows"]
        for row in others:
            ours, theirs = (each["numbers"].get(trial["metric"], {}) for each in (first, row))
            sign = 1 if trial["better"] == "higher" else -1
            table = {s: sign * (ours[s] - theirs[s]) for s in ours if s in theirs}
            if len(table) > 1 and trial["words"]:  # costs do not hold
                tables[trial["name"], row["label"]] = table
    ends = {
        (trial["name"], row["label"]): bool(row["at_end"])
        for trial in card["trials"]
        for row in trial["rows"]
    }
    found = SAID.findall(told)
    for trial, _, other, last in found:
        rows = (card["subject"], other)
        assert last == " and ".join(each for each in rows if ends[trial, each])
    said = {(trial, other): word for trial, word, other, _ in found}
    assert told == "- None.\n" or len(said) == told.count("\n- ") + 1
    for place, word in said.items():
        assert (sum(tables[place].values()) > 0) == (word == "better")
    if card["seeds"] > 10 or any(
        row["diverged"] for trial in card["trials"] for row in trial["rows"]
    ):
        return
    own = {place: abs(sum(table.values())) / norm(table) for place, table in tables.items()}
    rank = sorted(own, key=own.__getitem__)
    for place in said:
        below = [tables[each] for each in rank[: rank.index(place) + 1]]
        flips = largest_flips(below)
        assert sum(z >= own[place] - 1e-9 for z in flips) <= 0.05 * len(flips)


def test_a_trial_of_which_values_count_says_so():
    words = (
        "{source: me, metric: a, equal_within: 0, works: {setting: b, at_least: 0.9}, quick: {}}"
    )
    trial = msgspec.yaml.decode(words, type=Trial)
    choice = script("card").choices("trial")[0]
    line = script("card").item(choice, trial)
    assert line.endswith("? values of `b` with `a` at least 0.9, not `default`, not `full`\n")


def test_the_cards_that_ship_are_of_the_results_version_that_the_page_says():
    text = (ROOT / "docs" / "card_numbers.md").read_text()
    (said,) = re.findall(r"All cards of this page are of results version (\d+)\.", text)
    assert {read_card(path).results_version for path in SHIPPED} == {int(said)}


def test_the_schema_that_the_page_names_has_every_field():
    assert "`card.schema.json`" in section("Cards of several people")
    path = ROOT / "attnexp" / "cli" / "schemas" / "card.schema.json"
    schema = path.read_text()
    for kind in (Card, TrialResult, RowResult):
        assert [name for name in kind.__struct_fields__ if f'"{name}"' not in schema] == []


@pytest.mark.parametrize("level", ["quick", "default", "full"])
def test_the_example_is_a_trial(level, tmp_path):
    (content,) = blocks("docs/card.md", "yaml")
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "mine.yaml").write_text(content)
    (task,) = read_tasks(level, ["mine"], tmp_path)
    assert task.asks.endswith("?")
    effort = Effort(level, 2, 1, "cpu", None)
    jobs = jobs_of(effort.sweep(task, row_of(["model=cosine"])))
    assert {job.settings["seed"] for job in jobs} == {1, 2}


def test_every_field_of_a_trial_is_told():
    told = section("A trial of your own")
    assert [name for name in Trial.__struct_fields__ if f"`{name}" not in told] == []
