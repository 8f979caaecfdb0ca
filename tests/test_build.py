"""Settings become objects, through Hydra, which refuses what no setting should name."""

import json
from functools import partial

import pytest
from hydra.errors import InstantiationException
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


@pytest.mark.parametrize("target", ["os.system", "subprocess.getoutput", "builtins.eval"])
def test_a_target_that_runs_commands_is_refused(target):
    with pytest.raises(InstantiationException, match="blocklisted"):
        build.build(OmegaConf.create({"_target_": target}), command="touch harmed")


def test_a_run_folder_of_somebody_elses_runs_no_command(in_process, tmp_path):
    small = ("data.num_train=20", "data.num_validation=5", "data.num_test=5", "train.max_epochs=1")
    assert in_process("data=reverse", "model=dot", "figures=false", *small).returncode == 0
    (path,) = tmp_path.glob("outputs/*/summary.json")
    summary = json.loads(path.read_text())
    summary["config"]["task"] = {"_target_": "os.system", "command": "touch harmed"}
    path.write_text(json.dumps(summary))
    answer = in_process("decode", str(path.parent), "3 1 4")
    assert answer.returncode == 2
    assert "cannot be built again: Target 'os.system' is blocklisted" in answer.stderr
    assert not (tmp_path / "harmed").exists()
