from attnexp.runs.key import identity, run_key, run_name

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
    assert run_key(other, {}) == run_key(CONFIG, {})
    assert identity(other) == identity(CONFIG)


def test_what_changes_the_numbers_is():
    assert run_key(CONFIG | {"seed": 1}, {}) != run_key(CONFIG, {})
    assert run_key(CONFIG | {"model": {"_target_": "a.B", "width": 2.0}}, {}) != run_key(CONFIG, {})


def test_data_with_the_seed_of_the_run_have_the_key_of_earlier_versions():
    assert run_key(CONFIG | {"data_seed": None}, {}) == run_key(CONFIG, {})
    assert run_key(CONFIG | {"data_seed": 0}, {}) != run_key(CONFIG, {})


def test_one_number_written_in_two_ways_is_one_number():
    assert run_key(CONFIG | {"model": {"_target_": "a.B", "width": 1}}, {}) == run_key(CONFIG, {})


def test_order_of_settings_does_not_matter():
    assert run_key(dict(reversed(CONFIG.items())), {}) == run_key(CONFIG, {})


def test_the_key_is_the_same_in_every_process_and_version():
    assert run_key(CONFIG, {}) == "0495e284fc"


def test_names_can_be_read():
    choices = {"model": "mine/best", "data": "sine", "arch": "rnn", "optim": "sgd"}
    assert run_name(CONFIG, choices, "0123456789") == "mine_best-sine-rnn-seed0-0123456789"
