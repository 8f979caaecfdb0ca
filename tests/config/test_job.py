"""A job's folder holds what Hydra would have written."""

import pytest
from omegaconf import OmegaConf

from attnexp.config.job import yaml_text


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
