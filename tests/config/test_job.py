"""A job: its settings are resolved when it is composed."""

import hashlib
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnexp.config.messages import explanation
from attnexp.config.resolved import register_resolvers

FILE = {"path": "???", "sha256": "${sha256:${.path}}"}


def test_a_setting_holds_the_digest_of_the_file_that_another_names(tmp_path):
    register_resolvers()
    path = tmp_path / "points.csv"
    for content in (b"a,b", b"a,c"):
        path.write_bytes(content)
        data = OmegaConf.create({"data": {**FILE, "path": str(path)}}).data
        assert data.sha256 == hashlib.sha256(content).hexdigest()


def test_a_list_of_files_has_a_digest_for_each(tmp_path):
    register_resolvers()
    contents = {str(tmp_path / name): name.encode() for name in ("a.de", "a.en")}
    for path, content in contents.items():
        Path(path).write_bytes(content)
    data = OmegaConf.create({"data": {**FILE, "path": list(contents)}}).data
    assert data.sha256 == [hashlib.sha256(content).hexdigest() for content in contents.values()]


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
    assert explanation(raised.value, [], lambda _: {}, str, bool) == sentence
