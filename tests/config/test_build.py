"""Settings become objects, through Hydra, which refuses what no setting should name."""

import json
from functools import partial

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import InstantiationException
from omegaconf import OmegaConf

from attnexp.config import build
from attnexp.config.groups import conf_dir
from attnexp.config.job import chosen_of, register_resolvers
from attnexp.errors import RequestError


def built(settings, **given):
    node = OmegaConf.create(settings)
    return build.build(node, OmegaConf.to_container(node, resolve=True), **given)


def test_plain_settings_are_handed_over_as_they_are():
    settings = {
        "_target_": "builtins.dict",
        "rates": [1, 2],
        "deep": {"a": {"b": 3}},
        "same": "${rates}",
    }
    assert built(settings, given=4) == {
        "rates": [1, 2],
        "deep": {"a": {"b": 3}},
        "same": [1, 2],
        "given": 4,
    }
    assert type(built(settings)["rates"]) is list


def test_what_one_run_does_to_its_settings_does_not_reach_the_next():
    settings = {"_target_": "builtins.dict", "rates": [1, 2], "deep": {"a": 3}}
    first = built(settings)
    first["rates"].append(3)
    first["deep"]["a"] = 4
    assert built(settings) == {"rates": [1, 2], "deep": {"a": 3}}


def test_settings_that_differ_only_in_type_are_not_taken_for_each_other():
    for value in (1, 1.0, True, "1"):
        assert type(built({"_target_": "builtins.dict", "value": value})["value"]) is type(value)


def test_many_different_settings_are_not_all_kept():
    for value in range(3 * build.MAKERS):
        assert built({"_target_": "builtins.dict", "value": value}) == {"value": value}
    assert len(build._makers) <= build.MAKERS


@pytest.mark.parametrize(
    "wish",
    [
        {"inner": {"_target_": "builtins.dict", "a": 1}},
        {"inner": [{"_target_": "builtins.dict", "a": 1}]},
    ],
    ids=["in a setting", "in a list"],
)
def test_an_object_within_the_settings_is_built(wish):
    settings = {"_target_": "builtins.dict", **wish}
    first, second = (built(settings)["inner"] for _ in range(2))
    assert first is not second
    assert (first[0] if isinstance(first, list) else first) == {"a": 1}


def test_an_argument_by_its_place_is_hydras():
    settings = {"_target_": "builtins.complex", "_args_": [1.5], "imag": 2.0}
    assert built(settings) == complex(1.5, 2.0)
    factory = {"_target_": "builtins.dict", "f": {"_target_": "builtins.int", "_partial_": True}}
    assert isinstance(built(factory)["f"], partial)


@pytest.mark.parametrize("target", ["os.system", "subprocess.getoutput", "builtins.eval"])
def test_a_target_that_runs_commands_is_refused(target):
    with pytest.raises(InstantiationException, match="blocklisted"):
        built({"_target_": target}, command="touch harmed")


def test_a_run_folder_of_somebody_elses_runs_no_command(in_process, tmp_path):
    small = ("data.num_train=20", "data.num_validation=5", "data.num_test=5", "train.max_epochs=1")
    assert in_process("data=reverse", "model=dot", "figures=false", *small).returncode == 0
    (path,) = tmp_path.glob("outputs/*/summary.json")
    summary = json.loads(path.read_text())
    summary["config"]["task"] = {"_target_": "os.system", "command": "touch harmed"}
    path.write_text(json.dumps(summary))
    answer = in_process("decode", str(path.parent), "3 1 4")
    assert answer.returncode == 2
    assert "cannot be built again: task._target_ is 'os.system', which is not" in answer.stderr
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (
            ["model=gaussian_learned"],
            "train.batch_size=null compares 300,000 points with 300,000 at each step: 9e[+]10 "
            "pairs, at least 2 minutes a step on one core; choose train.batch_size=512, or at most "
            "229,064, or at most 262,144 training points",
        ),
        (["model=gaussian_learned", "train.batch_size=260000"], "train.batch_size=260,000 "),
        (["model=gaussian_learned", "train.batch_size=512"], None),
        (["model=gaussian"], None),
    ],
)
def test_steps_of_too_many_pairs_are_refused_before_the_first(words, refusal):
    register_resolvers()
    GlobalHydra.instance().clear()  # a test beside this one may have left its own
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("config", ["data.num_train=300000", *words], return_hydra_config=True)
    chosen = chosen_of(config.hydra.runtime.choices)
    if refusal is None:
        build.prepare(config, chosen)
    else:
        with pytest.raises(RequestError, match=refusal):
            build.prepare(config, chosen)
