"""docs/card.md has all trials and all fields of a card, its example is a trial, and
docs/card_numbers.md has the numbers of the cards that ship."""

import json
import re
from statistics import fmean
from typing import get_args

import msgspec
import pytest
from conftest import CONF, ROOT, choice_names
from documented import blocks, script

from attnexp.cards.card_file import Card, RowResult, TrialResult, merged, read_card
from attnexp.cards.lines import Effort
from attnexp.cards.rows import row_of
from attnexp.cards.trial import LevelName, Trial, read_tasks
from attnexp.sweeps.line import jobs_of

PAGE, NUMBERS, README = (path.read_text() for path in script("card").PAGES)


def section(title):
    """The text below a title, up to the next one."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_the_table_has_the_trials_as_their_files_have_them():
    for page in (PAGE, NUMBERS, README):
        assert script("card").written(page) == page, "run `python docs/card.py`"
    found = re.findall(r"^\| `(\w+)` \| [^|]*\? \|", section("The trials"), re.MULTILINE)
    assert sorted(found) == choice_names("trial")


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
        assert all(len(row.values(trial.metric)) + row.lost >= card.seeds for row in trial.rows)


TOLD = [
    ("needle", "average", "exact_match_by_length@4096", "0.22"),
    ("needle", "sparsemax", "exact_match_by_length@4096", "0.44"),
    ("needle", "scaled_dot", "exact_match_by_length@4096", "0.74"),
    ("reverse", "average", "exact_match", "0.36"),
    ("reverse", "average", "probe.shuffled.exact_match", "0.36"),
    ("reverse", "sparsemax", "probe.hard.exact_match", "0.977"),
    ("reverse", "additive", "probe.hard.exact_match", "0.003"),
    ("sort", "average", "exact_match", "0.80"),
    ("sort", "scaled_dot", "exact_match", "0.74"),
    ("mqar", "dot", "token_accuracy", "0.60"),
    ("mqar", "scaled_dot", "token_accuracy", "1.00"),
    ("sort", "dot", "exact_match", "0.45"),
    ("sort", "bilinear", "exact_match", "0.44"),
    ("dates", "bilinear", "exact_match", "0.42"),
    ("maximum", "scaled_dot", "exact_match_by_length@16", "0.61"),
    ("maximum", "scaled_dot", "exact_match_by_length@512", "0.43"),
    ("maximum", "scaled_dot", "exact_match_by_length@2048", "0.25"),
    ("maximum", "scaled_dot", "gold_mass_by_length@16", "0.54"),
    ("maximum", "scaled_dot", "gold_mass_by_length@2048", "0.11"),
    ("maximum", "additive", "exact_match_by_length@16", "0.86"),
    ("maximum", "additive", "exact_match_by_length@2048", "0.12"),
    ("maximum", "cosine", "exact_match_by_length@16", "0.89"),
    ("maximum", "sparsemax", "exact_match_by_length@2048", "0.39"),
    ("maximum", "ssmax", "exact_match_by_length@2048", "0.37"),
    ("maximum", "log_length", "exact_match_by_length@2048", "0.38"),
    ("maximum", "entmax15", "exact_match_by_length@2048", "0.31"),
    ("maximum", "topk", "exact_match_by_length@512", "0.63"),
    ("maximum", "topk", "exact_match_by_length@2048", "0.28"),
    ("maximum", "adaptive_temperature", "exact_match_by_length@512", "0.65"),
    ("maximum", "adaptive_temperature", "exact_match_by_length@2048", "0.41"),
    ("reverse", "entmax15", "probe.hard.exact_match", "0.872"),
    ("reverse", "entmax15", "exact_match", "0.963"),
    ("reverse", "scaled_dot", "probe.hard.exact_match", "0.645"),
    ("cost", "entmax normalizer.alpha=learned", "seconds@1024", "0.46"),
    ("cost", "entmax15", "seconds@1024", "0.12"),
    ("copy", "additive", "exact_match", "0.93"),
    ("copy", "scaled_dot", "exact_match", "0.75"),
    ("sort", "additive", "exact_match", "0.85"),
    ("mqar", "additive", "token_accuracy", "0.61"),
    ("sinks", "topk", "exact_match", "0.52"),
    ("sinks", "sink", "sink_mass", "0.315"),
    ("sinks", "softmax_one", "sink_mass", "0.129"),
    ("sinks", "scaled_dot", "exact_match", "0.999"),
    ("sinks", "sink", "exact_match", "1.000"),
    ("mqar", "relu", "token_accuracy", "0.63"),
    ("sinks", "relu", "exact_match", "0.66"),
    ("sort", "relu", "exact_match", "0.82"),
    ("maximum", "sigmoid", "exact_match_by_length@512", "0.12"),
    ("sort", "sigmoid", "exact_match", "0.85"),
    ("needle", "sigmoid", "gold_mass_by_length@4096", "0.928"),
    ("needle", "sigmoid", "exact_match_by_length@4096", "0.57"),
    ("copy", "stick_breaking", "exact_match", "0.94"),
    ("reverse", "stick_breaking", "exact_match", "0.998"),
    ("reverse", "stick_breaking", "probe.hard.exact_match", "0.998"),
    ("maximum", "stick_breaking", "exact_match_by_length@512", "0.09"),
    ("sinks", "stick_breaking", "exact_match", "0.35"),
    ("selective_copying", "stick_breaking", "token_accuracy", "0.75"),
    ("dates", "stick_breaking", "exact_match", "0.63"),
    ("dates", "scaled_dot", "exact_match", "0.95"),
    ("needle", "relu", "exact_match_by_length@16", "0.76"),
    ("needle", "relu", "exact_match_by_length@4096", "0.23"),
]


@pytest.mark.parametrize(("name", "label", "number", "text"), TOLD)
def test_what_is_told_of_the_cards_is_in_them(name, label, number, text):
    trials = merged([read_card(path) for path in SHIPPED], [path.stem for path in SHIPPED])
    (found,) = (trial for trial in trials if trial.name == name)
    (row,) = (row for row in found.rows if row.label == label)
    mean = fmean(row.values(number))
    assert f"{mean:.{len(text) - 2}f}" == text
    told = NUMBERS.partition("sayings, and these cards")[2]
    assert text in told
    assert f"`{name}`" in told


@pytest.mark.parametrize(
    ("card", "text", "told"),
    [
        ("relu", "0.461", "has 0.461 in `maximum` on the card of `relu`"),
        ("topk", "0.425", "and 0.425 on that of `topk`"),
    ],
)
def test_the_same_seeds_on_two_machines(card, text, told):
    trials = read_card(ROOT / "docs" / "cards" / f"{card}-quick.json").trials
    (found,) = (trial for trial in trials if trial.name == "maximum")
    (row,) = (row for row in found.rows if row.label == "scaled_dot")
    assert f"{fmean(row.values(found.metric)):.3f}" == text
    assert told in NUMBERS


def test_a_trial_of_which_values_count_says_so():
    words = (
        "{source: me, metric: a, equal_within: 0, works: {setting: b, at_least: 0.9}, quick: {}}"
    )
    trial = msgspec.yaml.decode(words, type=Trial)
    choice = script("card").choices("trial")[0]
    assert "values of `b` with `a` at least 0.9 |  | quick | me |" in script("card").row(
        choice, trial
    )


@pytest.mark.parametrize("kind", [Card, TrialResult, RowResult])
def test_every_field_is_named(kind):
    names = re.findall(r"`(\w+)`", section("Cards of several people"))
    assert set(kind.__struct_fields__) <= set(names)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "least", "most"),
    [
        (["model=dot"], 0.95, 1.0),
        (["model=bilinear"], 0.95, 1.0),
        (["model=scaled_dot", "normalizer=relu"], 0.6, 0.95),
    ],
)
def test_a_lower_rate_is_as_the_page_says(words, least, most, succeeds, tmp_path):
    """A run of `mqar` at the rate below those of the card; the page has the mean of six."""
    (card,) = (read_card(path) for path in SHIPPED if path.stem == "dot-quick")
    (trial,) = (each for each in card.trials if each.name == "mqar")
    succeeds(*trial.words, *words, "optim.lr=0.001", "seed=1", "figures=false")
    (summary,) = (tmp_path / "outputs").glob("*/summary.json")
    assert least <= json.loads(summary.read_text())["metrics"]["token_accuracy"] <= most
    assert all(text in NUMBERS for text in ("on 0.990 at 0.001", "on 0.992", "on 0.999", "0.80 at"))
