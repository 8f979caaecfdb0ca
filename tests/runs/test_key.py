import os
import subprocess
import sys

from attnexp.runs.key import (
    ADDED,
    ADDED_CHOICES,
    ADDED_TO,
    BROUGHT_BY,
    RESULTS_VERSION,
    complete,
    identity,
    run_key,
    run_name,
)
from attnexp.runs.settings import GROUPS

CONFIG = {
    "model": {"_target_": "a.B", "width": 1.0},
    "seed": 0,
    "device": "cpu",
    "figures": True,
    "rerun": False,
    "output_dir": "outputs",
}


def test_what_does_not_change_the_numbers_is_not_in_the_key():
    other = CONFIG | {"device": "cuda", "figures": False, "rerun": True, "output_dir": "elsewhere"}
    assert run_key(other) == run_key(CONFIG)
    assert identity(other) == identity(CONFIG)


def test_what_changes_the_numbers_is():
    assert run_key(CONFIG | {"seed": 1}) != run_key(CONFIG)
    assert run_key(CONFIG | {"model": {"_target_": "a.B", "width": 2.0}}) != run_key(CONFIG)


def test_the_keys_of_older_versions_are_without_what_newer_ones_brought():
    before = CONFIG | {"train": {"max_epochs": 5}}
    now = CONFIG | {"train": {"max_epochs": 5, "tolerance": 0.1}}
    assert run_key(now, 1) == run_key(before, 1) != run_key(before, 2)
    assert run_key(now, 2) != run_key(before, 2)
    assert all(version <= RESULTS_VERSION for version in BROUGHT_BY.values())


def test_a_setting_that_came_later_is_in_the_key_only_where_it_changes_something(monkeypatch):
    monkeypatch.setattr("attnexp.runs.key.ADDED", {"normalizer": {"_target_": "a.Soft"}, "x.y": 0})
    as_before = CONFIG | {"normalizer": {"_target_": "a.Soft"}, "x": {"y": 0.0}}
    assert identity(as_before) == identity(CONFIG | {"x": {}})
    assert run_key(as_before) == run_key(CONFIG | {"x": {}})
    for other in ({"normalizer": {"_target_": "a.Hard"}}, {"x": {"y": 1}}):
        assert run_key(as_before | other) != run_key(as_before)


def test_what_came_later_is_added_where_it_belongs_and_overwrites_nothing():
    config = CONFIG | {"arch": {"_target_": "attnexp.architectures.rnn.Rnn", "heads": 1}}
    key, choices = run_key(config), {"model": "b"}
    complete(config, choices)
    assert choices == {"model": "b", "normalizer": "softmax"}
    assert config["normalizer"] == ADDED["normalizer"]
    assert config["arch"]["attention_dropout"] == 0.0
    assert config["precision"] == "fp32"
    assert run_key(config) == key
    other = {
        "normalizer": {"_target_": "a.Hard"},
        "arch": {"_target_": "a.B"},
        "precision": "fp64",
        "batched": True,
        "checkpoint_every": None,
    }
    chosen, before = {"normalizer": "hard"}, dict(other)
    complete(other, chosen)
    assert other == before
    assert chosen == {"normalizer": "hard"}


def test_every_setting_that_came_later_says_to_what_it_was_added():
    assert {path for path in ADDED if "." in path} == set(ADDED_TO)
    assert {path for path in ADDED if path in GROUPS} == set(ADDED_CHOICES)


def test_one_number_written_in_two_ways_is_one_number():
    assert run_key(CONFIG | {"model": {"_target_": "a.B", "width": 1}}) == run_key(CONFIG)


def test_order_of_settings_does_not_matter():
    assert run_key(dict(reversed(CONFIG.items()))) == run_key(CONFIG)


def test_the_key_is_the_same_in_every_process():
    code = f"from attnexp.runs.key import run_key; print(run_key({CONFIG!r}))"
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "random")
    }
    assert keys == {run_key(CONFIG)}


def test_names_can_be_read():
    choices = {"model": "mine/best", "data": "sine", "arch": "rnn", "optim": "sgd"}
    assert run_name(CONFIG, choices) == f"mine_best-sine-rnn-seed0-{run_key(CONFIG)}"
