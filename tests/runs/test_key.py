import pytest

from attnexp.runs.key import identity, run_key, run_name

CONFIG = {
    "model": {"_target_": "a.B", "width": 1.0},
    "seed": 0,
    "device": "cpu",
    "figures": True,
    "rerun": False,
    "output_dir": "outputs",
}


def with_width(width):
    return CONFIG | {"model": {"_target_": "a.B", "width": width}}


SAME = {
    "neutral": {"device": "cuda", "figures": False, "rerun": True, "output_dir": "elsewhere"},
    "data with the seed of the run": {"data_seed": None},
    "one number written in two ways": with_width(1),
    "another order": dict(reversed(CONFIG.items())),
}
OTHER = {"seed": {"seed": 1}, "setting": with_width(2.0), "seed of the data": {"data_seed": 0}}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_what_does_not_change_the_numbers_is_not_in_the_key(changes):
    assert run_key({**changes, **CONFIG, **changes}, {}) == run_key(CONFIG, {})


def test_a_setting_that_came_later_and_is_null_is_not_in_the_key():
    data = {"data": {"num_test": 5}}
    later = {"data": {"num_test": 5, "test_lengths": None}}
    assert run_key(CONFIG | later, {}) == run_key(CONFIG | data, {})
    assert run_key(CONFIG | {"data": {"test_lengths": [5]}}, {}) != run_key(CONFIG | data, {})


def test_a_table_that_commas_separate_has_the_key_that_it_had():
    data = {"data": {"path": "my.csv"}}
    commas = {"data": {"path": "my.csv", "separator": None}}
    tabs = {"data": {"path": "my.csv", "separator": "tab"}}
    assert run_key(CONFIG | commas, {}) == run_key(CONFIG | data, {})
    assert run_key(CONFIG | tabs, {}) != run_key(CONFIG | data, {})


def test_neutral_settings_are_not_in_the_identity():
    assert identity(CONFIG | SAME["neutral"]) == identity(CONFIG)


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_what_changes_the_numbers_is_in_the_key(changes):
    assert run_key(CONFIG | changes, {}) != run_key(CONFIG, {})


def test_the_key_is_the_same_in_every_process_and_version():
    assert run_key(CONFIG, {}) == "0495e284fc"


def test_names_can_be_read():
    choices = {"model": "mine/best", "data": "sine", "arch": "rnn", "optim": "sgd"}
    assert run_name(CONFIG, choices, "0123456789") == "mine_best-sine-rnn-seed0-0123456789"
