"""A job's folder holds what Hydra would have written."""

import hashlib

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnexp.config.job import register_resolvers, yaml_text
from attnexp.config.messages import explanation


@pytest.mark.parametrize(
    "content",
    [
        {"a": 1, "b": 1.5e-8, "c": None, "d": True, "e": [1, "2", "1e3", "true", "yes"]},
        {"words": ["seed=0", "optim.lr=1e-3", "model._target_=a.b", "text='a b: c'", ""]},
        {"text": "ü 漢字 #no comment", "lines": "one\ntwo\n", "interpolation": "${a.b}"},
        {"empty": {}, "list": [], "nested": {"x": {"y": [{"z": 1}]}}, "1": "key", "???": "???"},
    ],
)
def test_yaml_is_omegaconfs(content):
    config = OmegaConf.create(content)
    assert yaml_text(OmegaConf.to_container(config)) == OmegaConf.to_yaml(config)


def test_the_record_is_hydras(in_process, tmp_path):
    """Three files that Hydra's own tools can read."""
    answer = in_process("model=dot", "data.noise=0.1", "seed=1", "figures=false")
    assert answer.returncode == 0
    (folder,) = (tmp_path / "outputs").iterdir()
    read = {
        name: OmegaConf.load(folder / ".hydra" / f"{name}.yaml")
        for name in ("config", "hydra", "overrides")
    }
    assert read["config"].model._target_ == "attnexp.scores.dot.Dot"
    assert "hydra" not in read["config"]
    assert read["overrides"] == ["model=dot", "data.noise=0.1", "seed=1", "figures=false"]
    assert read["hydra"].hydra.runtime.choices.model == "dot"
    assert read["hydra"].hydra.runtime.output_dir == str(folder)
    assert read["hydra"].hydra.overrides.task == read["overrides"]


FILE = {"path": "???", "sha256": "${sha256:${.path}}"}


def test_a_setting_holds_the_digest_of_the_file_that_another_names(tmp_path):
    register_resolvers()
    path = tmp_path / "points.csv"
    for content in (b"a,b", b"a,c"):
        path.write_bytes(content)
        data = OmegaConf.create({"data": {**FILE, "path": str(path)}}).data
        assert data.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("???", "data.path has no value: write data.path=VALUE"),
        ("/nowhere/points.csv", "there is no file /nowhere/points.csv"),
        ("/dev/null", "/dev/null is not a file"),
    ],
)
def test_a_file_that_is_not_there_is_named(path, sentence):
    register_resolvers()
    with pytest.raises(OmegaConfBaseException) as raised:
        OmegaConf.to_container(
            OmegaConf.create({"data": {**FILE, "path": path}}), resolve=True, throw_on_missing=True
        )
    assert explanation(raised.value, [], lambda _: {}) == sentence
