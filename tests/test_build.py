"""Settings become objects: plain ones at once, and through Hydra where they ask for it."""

from functools import partial

import pytest
from omegaconf import OmegaConf

from attnexp import build


def test_plain_settings_are_handed_over_as_they_are():
    node = OmegaConf.create(
        {"_target_": "builtins.dict", "rates": [1, 2], "deep": {"a": {"b": 3}}, "same": "${rates}"}
    )
    assert build.build(node, given=4) == {
        "rates": [1, 2],
        "deep": {"a": {"b": 3}},
        "same": [1, 2],
        "given": 4,
    }
    assert type(build.build(node)["rates"]) is list


@pytest.mark.parametrize(
    "wish",
    [
        {"inner": {"_target_": "builtins.dict", "a": 1}},
        {"inner": [{"_target_": "builtins.dict", "a": 1}]},
    ],
    ids=["in a setting", "in a list"],
)
def test_an_object_within_the_settings_is_built(wish):
    built = build.build(OmegaConf.create({"_target_": "builtins.dict", **wish}))["inner"]
    assert (built[0] if isinstance(built, list) else built) == {"a": 1}


def test_an_argument_by_its_place_is_hydras():
    node = OmegaConf.create({"_target_": "builtins.complex", "_args_": [1.5], "imag": 2.0})
    assert build.build(node) == complex(1.5, 2.0)
    factory = OmegaConf.create(
        {"_target_": "builtins.dict", "f": {"_target_": "builtins.int", "_partial_": True}}
    )
    assert isinstance(build.build(factory)["f"], partial)
