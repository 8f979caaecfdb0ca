"""The choices of a folder of one's own."""

import pytest
from conftest import CONF
from omegaconf import DictConfig, OmegaConf

from attnexp.config.groups import choices, defaults, unread

FILES = {
    "model/mine.yaml": True,
    "model/nested/mine.yaml": True,
    "model/mine.yml": False,
    "data/mine.YAML": False,
    "claim/mine/claim.yml": False,
    "Model/other.yaml": False,
    "DATA/nested/other.yml": False,
}
"""Files of choices, and whether each is read."""


@pytest.mark.parametrize(("file", "is_read"), FILES.items())
def test_a_file_of_ones_own_is_read_or_named(tmp_path, file, is_read):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("# Mine.\n")
    group = file.partition("/")[0].lower()
    own = [choice.path for choice in choices(group, tmp_path) if tmp_path in choice.path.parents]
    assert own == [path] * is_read
    assert unread(tmp_path) == [file] * (not is_read)


def test_files_that_are_no_choices_are_not_named(tmp_path):
    for name in ("compose.yml", "notes/a.yml", "model/README.md", "model/mine.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert unread(tmp_path) == []
    assert unread(tmp_path / "nowhere") == []


def test_the_defaults_are_those_of_the_file():
    content = OmegaConf.load(CONF / "config.yaml")
    named = [each for each in content.defaults if isinstance(each, DictConfig)]
    chosen = {group: name for each in named for group, name in each.items() if name is not None}
    overridden = {group for group in chosen if str(group).startswith("override ")}
    assert defaults() == {group: chosen[group] for group in chosen.keys() - overridden}
    assert len(defaults()) > 10
