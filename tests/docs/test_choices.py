"""The tables of docs/choices.md are what docs/choices.py writes, and true."""

import re
import runpy

import pytest
import torch
import yaml
from composed import composed
from conftest import CONF, ROOT
from hydra.utils import get_object

PAGE = (ROOT / "docs" / "choices.md").read_text()
TABLES = {
    heads: [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()
    ]
    for heads, table in re.findall(
        r"^\| `([\w.]+)=` .*\n\|[-| ]+\|\n((?:\|.*\n)+)", PAGE, flags=re.MULTILINE
    )
}
"""The rows of each table, cut into cells, by the setting at its head."""


def rows(group):
    """Each choice of a table with the cells of its row."""
    return [(cells[0].strip("`"), cells) for cells in TABLES[group]]


def test_the_tables_are_as_the_choices_say():
    shown = {*re.findall(r"<!-- conf/(\w+) -->", PAGE)}
    assert shown == {"model", "normalizer", "estimator", "attention", "data", "positions", "arch"}
    written = runpy.run_path(str(ROOT / "docs" / "choices.py"))["written"]
    assert written(PAGE) == PAGE, "run `python docs/choices.py`"


@pytest.mark.parametrize(("name", "cells"), rows("model"))
def test_a_score_learns_what_the_table_says(name, cells, settings_of):
    settings = settings_of("model", name)
    score = get_object(settings.pop("_target_"))(3, 3, **settings)
    learned = [parameter.removesuffix(".weight") for parameter, _ in score.named_parameters()]
    assert len(learned) == len(cells[2].split(",") if cells[2] else [])


@pytest.mark.parametrize(("name", "cells"), rows("normalizer"))
def test_weights_sum_to_one_where_the_table_says_so(name, cells, settings_of):
    settings = settings_of("normalizer", name)
    normalizer = get_object(settings.pop("_target_"))(heads=1, **settings)
    sums = normalizer(torch.linspace(-2, 1, 12).view(1, 3, 4)).sum(dim=-1)
    assert torch.allclose(sums, torch.ones(())) == (cells[2] == "yes")


SIZES = {
    "sine": "{num_train} points",
    "sine_v1": "{num_train} points",
    "mqar": "{length} symbols of {vocab_size:,}, {min_pairs} to {max_pairs} pairs",
    "nback": "{num_answers} of {min_length} to {max_length} symbols",
    "selective_copying": "{num_symbols} symbols at random places among blanks, {length} in all",
    "tiled": "{min_period} to {max_period} symbols long, {length} in all",
    "max": "{min_items} to {max_items} items",
    "first": "of {min_length} bits",
}


@pytest.mark.parametrize("name", SIZES)
def test_data_have_the_sizes_of_the_table(name, settings_of):
    assert SIZES[name].format_map(settings_of("data", name)) in dict(rows("data"))[name][1]


def test_the_sentences_that_ship_are_as_many_as_the_table_says():
    path = yaml.safe_load((CONF / "data" / "pairs.yaml").read_text())["path"]
    shipped = ROOT / "attnexp" / "data" / "files" / path.removeprefix("attnexp:")
    lines = len(shipped.read_text().splitlines())
    assert f"{lines} sentences" in dict(rows("data"))["pairs"][1]


def test_the_defaults_are_those_of_the_page():
    config = yaml.safe_load((CONF / "config.yaml").read_text())
    assert (config["device"], config["precision"], config["threads"]) == ("auto", "fp32", 1)
    for arch in ("transformer", "decoder_only"):
        assert composed(f"arch={arch}", "data=copy").positions._target_.endswith("Sinusoidal")
