import pytest
from composed import composed, job_of

from attnexp.runs.key import run_key, run_name

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


@pytest.mark.parametrize(
    ("path", "value"),
    [("data_seed", 0), ("data.test_lengths", [5]), ("data.separator", "tab"), ("arch.norm", False)],
)
def test_a_setting_that_came_later_is_not_in_the_key_while_it_is_null(path, value):
    group, _, name = path.rpartition(".")
    key = lambda own: run_key(CONFIG | ({group: {"path": "a"} | own} if group else own), {})  # noqa: E731
    assert key({name: None}) == key({})
    assert key({name: value}) != key({})


def test_layers_with_their_norm_have_the_key_of_layers_of_which_nothing_is_said():
    assert run_key({**CONFIG, "arch": {"norm": True}}, {}) == run_key({**CONFIG, "arch": {}}, {})


def test_the_key_is_the_same_in_every_process_and_version():
    assert run_key(CONFIG, {}) == "0495e284fc"


def test_names_can_be_read():
    choices = {"model": "mine/best", "data": "sine", "arch": "rnn", "optim": "sgd"}
    assert run_name(CONFIG, choices, "0123456789") == "mine_best-sine-rnn-seed0-0123456789"
