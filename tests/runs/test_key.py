import pytest
from composed import composed, job_of

from attnexp.runs.key import Added, as_now, run_key, run_name

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
    "one number written in two ways": with_width(1),
    "another order": dict(reversed(CONFIG.items())),
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_one_configuration_has_one_key(changes):
    assert run_key({**changes, **CONFIG, **changes}, {}) == run_key(CONFIG, {})


COMMANDS = (
    ("model=gaussian_learned", "data=nile"),
    ("model=scaled_dot", "normalizer=topk", "arch=transformer", "data=reverse", "data_seed=3"),
    ("model=dot", "arch=decoder_only", "data=recall", "schedule=cosine", "tracker=wandb"),
)
NEUTRAL = (
    *(
        "device",
        "graphs",
        "native",
        "figures",
        "rerun",
        "checkpoint_every",
        "fail_fast",
        "output_dir",
    ),
    *("train.attention_every", "tracker"),
)
PREFIXES = tuple(f"{path}." for path in NEUTRAL)


def changed_each(settings, prefix=""):
    """Yields the dotted path of each setting, with the settings in which it alone differs."""
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            inside = changed_each(value, f"{prefix}{name}.")
            yield from ((path, settings | {name: other}) for path, other in inside)
        else:
            yield f"{prefix}{name}", settings | {name: [value]}
            if isinstance(value, bool | None):
                yield f"{prefix}{name}", settings | {name: value is False}
            elif isinstance(value, int | float):
                yield f"{prefix}{name}", settings | {name: value + 0.25}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_setting_that_is_not_neutral_changes_the_key(words):
    settings = dict(job_of(composed(*words)).settings)
    own = run_key(settings, {})
    found = [(path, run_key(other, {}) != own) for path, other in changed_each(settings)]
    assert len({path for path, _ in found}) > 30
    wrong = [path for path, moves in found if moves == f"{path}.".startswith(PREFIXES)]
    assert not wrong


ADDED_LATER = {
    "model.slope": Added(lambda config: 2),
    "extra": Added(lambda config: {"kind": "b" if config["model"]["width"] > 1 else "a"}, "usual"),
}
"""A setting whose neutral value is 2, and a group whose neutral value depends on the width."""


@pytest.mark.parametrize(("width", "kind", "other"), [(1.0, "a", "b"), (3.0, "b", "a")])
def test_a_setting_that_is_added_later_is_neutral_in_both_directions(
    monkeypatch, width, kind, other
):
    """A run from before has the key and the settings of one that has the neutral values."""
    before = with_width(width)
    key = run_key(before, {})
    monkeypatch.setattr("attnexp.runs.key.ADDED", ADDED_LATER)
    now, choices = as_now(before, {"model": "b"})
    assert now == before | {"model": {**before["model"], "slope": 2}, "extra": {"kind": kind}}
    assert choices == {"model": "b", "extra": "usual"}
    assert run_key(now, {}) == run_key(before, {}) == key
    for changed in ({"model": {**now["model"], "slope": 3}}, {"extra": {"kind": other}}):
        assert run_key(now | changed, {}) != key
        assert as_now(now | changed, choices) == (now | changed, choices)


def test_a_setting_that_moved_is_read_under_its_new_name(monkeypatch):
    monkeypatch.setattr("attnexp.runs.key.MOVED", {"model.width": "kernel.size"})
    now, _ = as_now(CONFIG, {})
    assert now["kernel"] == {"size": 1.0}
    assert "width" not in now["model"]
    assert CONFIG["model"]["width"] == 1.0
    assert run_key(now, {}) == run_key(CONFIG, {})
    wider = now | {"kernel": {"size": 2.0}}
    assert run_key(wider, {}) != run_key(CONFIG, {})


def test_the_key_is_the_same_in_every_process_and_version():
    assert run_key(CONFIG, {}) == "bdff0f6797"


def test_names_can_be_read():
    choices = {"model": "mine/best", "data": "sine", "arch": "rnn", "optim": "sgd"}
    assert run_name(CONFIG, choices, "0123456789") == "mine_best-sine-rnn-seed0-0123456789"


def test_rotary_positions_keep_their_key_at_the_usual_base_and_scale():
    target = "attnexp.architectures.positions.rotary.Rotary"
    before = CONFIG | {"positions": {"_target_": target}}
    now, _ = as_now(before, {})
    assert now["positions"] == {"_target_": target, "base": 10_000.0, "scale": 1.0}
    assert run_key(now, {}) == run_key(before, {})
    for name, other in (("base", 40_000.0), ("scale", 2.0)):
        changed = now | {"positions": {**now["positions"], name: other}}
        assert run_key(changed, {}) != run_key(before, {})
    for others in ({}, {"positions": None}, {"positions": {"_target_": "mine.Positions"}}):
        assert as_now(CONFIG | others, {})[0] == CONFIG | others
