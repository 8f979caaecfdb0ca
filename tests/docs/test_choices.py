"""The lists of docs/choices.md are what docs/choices.py writes, and true."""

import re
import runpy

import pytest
import torch
import yaml
from composed import composed
from conftest import CONF, ROOT, choice_names
from hydra.utils import get_object

PAGE = (ROOT / "docs" / "choices.md").read_text()
LISTS = {
    group: {
        name: text
        for names, text in re.findall(r"^- ((?:`\w+`(?:, )?)+): (.*)$", items, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    }
    for group, items in re.findall(r"^`(\w+)=`:\n\n((?:- .*\n)+)", PAGE, re.MULTILINE)
}
"""The lines of each list by the names of choices."""


def test_the_lists_are_as_the_choices_say():
    shown = {*re.findall(r"<!-- conf/(\w+) -->", PAGE)}
    assert shown == {"model", "normalizer", "estimator", "attention", "data", "positions", "arch"}
    for group, lines in LISTS.items():
        assert sorted(lines) == choice_names(group)
    written = runpy.run_path(str(ROOT / "docs" / "choices.py"))["written"]
    assert written(PAGE) == PAGE, "run `python docs/choices.py`"


@pytest.mark.parametrize("name", choice_names("model"))
def test_a_score_learns_its_width_if_its_name_says_so(name, settings_of):
    settings = settings_of("model", name)
    score = get_object(settings.pop("_target_"))(3, 3, **settings)
    learned = [parameter for parameter, _ in score.named_parameters()]
    assert ("width" in learned) == name.endswith("_learned")


@pytest.mark.parametrize("name", choice_names("normalizer"))
def test_weights_sum_to_one_where_the_page_does_not_say_otherwise(name, settings_of):
    (others,) = re.findall(r"^The weights of (.*) need not sum to 1\.$", PAGE, re.MULTILINE)
    settings = settings_of("normalizer", name)
    normalizer = get_object(settings.pop("_target_"))(heads=1, **settings)
    sums = normalizer(torch.linspace(-2, 1, 12).view(1, 3, 4)).sum(dim=-1)
    assert torch.allclose(sums, torch.ones(())) == (f"`{name}`" not in others)


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
def test_data_have_the_sizes_of_the_list(name, settings_of):
    assert SIZES[name].format_map(settings_of("data", name)) in LISTS["data"][name]


def test_the_sentences_that_ship_are_as_many_as_the_list_says():
    path = yaml.safe_load((CONF / "data" / "pairs.yaml").read_text())["path"]
    shipped = ROOT / "attnexp" / "data" / "files" / path.removeprefix("attnexp:")
    lines = len(shipped.read_text().splitlines())
    assert f"{lines} sentences" in LISTS["data"]["pairs"]


def test_the_defaults_are_those_of_the_page():
    config = yaml.safe_load((CONF / "config.yaml").read_text())
    assert (config["device"], config["precision"], config["threads"]) == ("auto", "fp32", 1)
    for arch in ("transformer", "decoder_only"):
        assert composed(f"arch={arch}", "data=copy").positions._target_.endswith("Sinusoidal")
