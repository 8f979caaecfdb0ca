"""A job: its settings are resolved when it is composed, and nothing about it is made twice."""

import hashlib
import inspect
import sys
from collections import Counter
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from attnexp.config.messages import explanation
from attnexp.config.resolved import recorded, register_resolvers, resolved
from attnexp.runs.files import stamp
from attnexp.runs.key import identity, run_key
from attnexp.runs.user_code import user_code

FILE = {"path": "???", "sha256": "${sha256:${.path}}"}

MADE = (resolved, recorded, identity, run_key, user_code, stamp)
"""The functions that make the parts of a job. The last is of a path."""


def test_the_parts_of_a_job_are_made_once_in_a_run(succeeds, tmp_path):
    """The code is found once more when the run is built, which refuses code that has changed."""
    made: Counter[str] = Counter()
    names = {inspect.unwrap(each).__code__: each.__name__ for each in MADE}

    def count(frame, event, _):
        if event == "call" and frame.f_code in names:
            made[str(frame.f_locals.get("path", names[frame.f_code]))] += 1

    try:
        sys.setprofile(count)
        succeeds("model=additive", "train.max_epochs=1", "figures=false", f"output_dir={tmp_path}")
    finally:
        sys.setprofile(None)
    (folder,) = tmp_path.iterdir()
    looked_at_under_the_lock = str(folder / "summary.json")
    twice = {"user_code", looked_at_under_the_lock}
    assert {name for name, times in made.items() if times > 1} == twice
    assert {made[name] for name in twice} == {2}
    assert {made[each.__name__] for each in MADE[:4]} == {1}


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
    assert explanation(raised.value, [], lambda _: {}, lambda _: None) == sentence
