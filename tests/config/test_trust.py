"""A run folder names classes, and only those that are trusted are imported and called."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnexp.config.groups import choices
from attnexp.config.restore import restore
from attnexp.config.trust import Trust, checked_config, read_trust, shipped_targets, targets_in
from attnexp.core.errors import RequestError
from attnexp.runs.settings import GROUPS
from attnexp.runs.summary import read_summary

STORED = Path(__file__).parents[1] / "runs" / "stored" / "v2"
SEQUENCES = STORED / "additive-reverse"

HARM = "harmed"
"""The file that a crafted target would write."""

CRAFTED: dict[str, dict[str, Any]] = {
    "os.system": {"command": f"touch {HARM}"},
    "subprocess.Popen": {"args": ["touch", HARM]},
    "builtins.open": {"file": HARM, "mode": "w"},
    "builtins.eval": {"_args_": [f"open({HARM!r}, 'w')"]},
    "importlib.import_module": {"name": "crafted_module"},
    "crafted_module.Score": {},
    "pathlib.Path.touch": {"_args_": [HARM]},
    "torch.load": {"f": "crafted.pt", "weights_only": False},
    "torch.optim.optimizer.os.system": {"command": f"touch {HARM}"},
    "torch.optim": {},
    "hydra.utils.call": {"config": {"_target_": "os.system", "command": f"touch {HARM}"}},
    "attnexp.runs.files.clear": {"folder": "."},
    "attnexp.cli.main.run": {"argv": ["figures=false"]},
    "attnexp": {},
    ".os.system": {"command": f"touch {HARM}"},
    "": {},
}
"""Targets that a folder may not name, with arguments that would do harm."""

PLACES = {
    "the task": lambda config, node: config.update(task=node),
    "the model": lambda config, node: config.update(model=node),
    "a number of the optimizer": lambda config, node: config["optim"].update(betas=node),
    "a list in the optimizer": lambda config, node: config["optim"].update(betas=[0.9, node]),
    "a setting of the model": lambda config, node: config["model"].update(hidden_dim=node),
    "deep in the model": lambda config, node: config["model"].update(hidden_dim={"a": [[node]]}),
    "a group that there is not": lambda config, node: config.update(other=node),
    "a setting at the top": lambda config, node: config.update(seed=node),
}


@pytest.fixture
def summary():
    return read_summary(SEQUENCES)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder on the import path with a module that leaves a file when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = f"open({HARM!r}, 'w')\nclass Score: pass\n"
    (tmp_path / "crafted_module.py").write_text(text)
    yield tmp_path
    sys.modules.pop("crafted_module", None)


CASES = [(target, "the task") for target in CRAFTED] + [("os.system", place) for place in PLACES]


@pytest.fixture(scope="module")
def restored_before():
    """What restoring a run imports is imported."""
    restore(read_summary(SEQUENCES), SEQUENCES, Trust())


@pytest.mark.usefixtures("restored_before")
@pytest.mark.parametrize(("target", "place"), CASES)
def test_a_crafted_target_is_neither_imported_nor_called(summary, elsewhere, target, place):
    PLACES[place](summary.config, {"_target_": target, **CRAFTED[target]})
    modules, content = set(sys.modules), sorted(elsewhere.iterdir())
    with pytest.raises(RequestError, match="which is not attnexp's own") as refused:
        restore(summary, SEQUENCES, Trust())
    assert all(text in str(refused.value) for text in (repr(target), "--trust", "--config-dir"))
    assert set(sys.modules) == modules
    assert sorted(elsewhere.iterdir()) == content


@pytest.mark.parametrize(
    "node",
    [
        {"_target_": ["os", "system"]},
        {"_target_": {"_target_": "os.system"}},
        {"_target_": None},
        {"_target_": "torch.optim.Adam", "_args_": [[1]]},
        {"_target_": "torch.optim.Adam", "_partial_": True},
        {"_target_": "torch.optim.Adam", "_recursive_": False},
        {"_target_": "torch.optim.Adam", "_convert_": "object"},
        {"_target_": "torch.optim.Adam", "lr": "${oc.env:HOME}"},
        {"_target_": "torch.optim.Adam", "lr": '${oc.decode:"{_target_: os.system}"}'},
        {"_target_": "torch.optim.Adam", "lr": "${data.num_train}"},
        {"_target_": "${model._target_}"},
        {"_target_": "torch.optim.Adam", "lr": "???"},
    ],
    ids=str,
)
def test_what_is_not_plain_data_is_refused(summary, monkeypatch, node):
    monkeypatch.setenv("HOME", "a secret")
    config = {**summary.config, "optim": node}
    with pytest.raises(RequestError, match="holds a run that cannot be built again: ") as refused:
        restore(msgspec.structs.replace(summary, config=config), SEQUENCES, Trust())
    assert "a secret" not in str(refused.value)


def test_a_group_name_does_not_lead_out_of_our_configuration(tmp_path):
    (tmp_path / "mine.yaml").write_text("_target_: os.system\n")
    for name in (str(tmp_path), "../tests", ".", "", "hydra", "hydra/launcher"):
        assert shipped_targets(name) == set()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inside: (
            st.lists(inside, max_size=3)
            | st.dictionaries(st.text() | st.just("_target_"), inside, max_size=3)
        ),
    )
)
def test_whatever_passes_names_nothing_but_what_is_shipped(value):
    try:
        checked = checked_config({"model": value}, Trust())
    except ValueError:
        return
    assert checked == {"model": value}
    text = json.dumps(value)
    assert '"_target_"' not in text or any(t in text for t in shipped_targets("model"))


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "experiment"])
def test_every_choice_of_ours_is_trusted(group):
    for choice in choices(group):
        for target in targets_in(choice.path):
            node = {"_target_": target}
            assert checked_config({group: node}, Trust()) == {group: node}


def test_the_optimizers_of_pytorch_are_trusted():
    expected = {"torch.optim.AdamW", "torch.optim.LBFGS", "torch.optim.RMSprop"}
    assert expected <= shipped_targets("optim")
    for target in shipped_targets("optim"):
        module, _, name = target.rpartition(".")
        assert module != "torch.optim" or issubclass(
            getattr(torch.optim, name), torch.optim.Optimizer
        )
    assert "torch.optim.Adam" not in shipped_targets("model")


class TestModules:
    @pytest.fixture(autouse=True)
    def my_package(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setenv("PYTHONPATH", "")
        for name in ("my_scores", "my_scores.kernels"):  # another test may have one of that name
            monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / "my_scores").mkdir()
        (tmp_path / "my_scores" / "__init__.py").write_text(
            "import os\nfrom os import mkdir\nfrom .kernels import Kernel\n"
        )
        (tmp_path / "my_scores" / "kernels.py").write_text("class Kernel: pass\n")
        (tmp_path / "my_scores_too.py").write_text("raise AssertionError('imported')\n")
        yield
        for name in ("my_scores", "my_scores.kernels"):
            sys.modules.pop(name, None)

    @pytest.mark.parametrize("target", ["my_scores.Kernel", "my_scores.kernels.Kernel"])
    def test_a_module_and_its_submodules_are_trusted(self, target):
        config = {"model": {"_target_": target, "_partial_": True}}
        assert checked_config(config, read_trust(["my_scores"], None)) == config

    @pytest.mark.parametrize(
        "target",
        [
            *("my_scores_too.Kernel", "my.Kernel", "os.system"),  # another module
            *("my_scores.mkdir", "my_scores.os.mkdir", "my_scores.os"),  # what it has imported
        ],
    )
    def test_nothing_else_is(self, target):
        config = {"model": {"_target_": target}, "optim": {"_target_": "my_scores.Kernel"}}
        with pytest.raises(
            ValueError, match=r"not attnexp's own|not defined in|cannot be imported"
        ):
            checked_config(config, read_trust(["my_scores"], None))
        assert target.startswith("my_scores.") or "my_scores" not in sys.modules

    def test_the_files_of_a_config_folder_are_trusted_by_name(self, tmp_path):
        (tmp_path / "conf" / "model").mkdir(parents=True)
        (tmp_path / "conf" / "model" / "mine.yaml").write_text(
            "# Mine.\n_target_: my_scores.Kernel\ninner:\n- {_target_: my_scores.kernels.Kernel}\n"
        )
        trust = read_trust([], tmp_path / "conf")
        assert trust.targets == {"my_scores.Kernel", "my_scores.kernels.Kernel"}
        assert not trust.covers("my_scores.mkdir")

    def test_a_config_folder_that_is_not_one_is_said(self, tmp_path):
        with pytest.raises(RequestError, match=r"--config-dir: there is no folder .*nowhere"):
            read_trust([], tmp_path / "nowhere")
        (tmp_path / "conf").mkdir()
        (tmp_path / "conf" / "broken.yaml").write_text("a: [1\n")
        with pytest.raises(RequestError, match=r"broken\.yaml: not valid YAML at line 2"):
            read_trust([], tmp_path / "conf")


SHADOW = """
import os, sys
with open(os.path.join({place!r}, "imported"), "a") as file:
    file.write(__name__ + "\\n")
raise SystemExit("a module of the current directory was imported")
"""


@pytest.mark.check
@pytest.mark.parametrize(
    "launcher",
    [
        "basic",
        "parallel",
        pytest.param("joblib", marks=pytest.mark.slow),
        pytest.param("submitit_local", marks=pytest.mark.slow),
    ],
)
def test_modules_in_the_current_directory_take_nobodys_place(attnexp, tmp_path, launcher):
    if launcher in ("joblib", "submitit_local"):
        package = {"joblib": "joblib", "submitit_local": "submitit"}[launcher]
        pytest.importorskip(f"hydra_plugins.hydra_{package}_launcher")
    for name in ("random", "json", "torch", "numpy", "logging", "pickle", "yaml", "hydra"):
        (tmp_path / f"{name}.py").write_text(SHADOW.format(place=str(tmp_path)))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("seed: 7\n")
    words = ("seed=0,1", "figures=false", "train.max_epochs=2")
    answer = attnexp("-m", f"hydra/launcher={launcher}", *words)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert not (tmp_path / "imported").exists()
    assert len(list(tmp_path.glob("outputs/*-seed[01]-*/predictions.csv"))) == 2
