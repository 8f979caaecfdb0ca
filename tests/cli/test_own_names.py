"""A file of one's own never takes the name of a shipped one: no command reads either silently."""

import os

import pytest

from attnexp.config.groups import conf_dir

FOLDERS = sorted(
    {os.path.relpath(path.parent, conf_dir()): path for path in conf_dir().rglob("*.yaml")}.items()
)
"""A shipped file of each folder."""

COMMANDS = [
    ("--dry-run",),
    ("-m", "seed=0,1"),
    ("--cfg", "job"),
    ("--help",),
    ("--help", "model"),
    ("attend", "model=cosine", "--queries", "normal:1x2x3", "--keys", "normal:1x2x3"),
    ("card", "model=cosine"),
    ("claims",),
    ("claims", "nw_rate"),
]


@pytest.fixture
def own(tmp_path):
    """Writes a file into a configuration folder of one's own."""

    def write(name):
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True)
        path.write_text("# Mine.\n_target_: mine.Mine\n")

    return write


@pytest.mark.parametrize("path", [path for _, path in FOLDERS], ids=[name for name, _ in FOLDERS])
def test_a_name_of_any_folder_is_refused(own, refused, tmp_path, path):
    name = path.relative_to(conf_dir())
    own(name)
    shown = name.parent if name.name == "claim.yaml" else name
    sentence = f"own/{shown} has the name of one of attnexp's own: rename it"
    assert refused("--config-dir", "own", "--dry-run") == f"attnexp: {sentence}\n"
    assert os.listdir(tmp_path) == ["own"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_refuses_it_before_it_does_anything(own, refused, tmp_path, command):
    own("model/cosine.yaml")
    (tmp_path / "outputs").mkdir()
    told = refused(*command, "--config-dir", "own")
    assert "own/model/cosine.yaml has the name of one of attnexp's own" in told
    assert os.listdir(tmp_path / "outputs") == []
    assert sorted(os.listdir(tmp_path)) == ["outputs", "own"]


def test_commands_on_runs_refuse_it_before_they_do_anything(own, succeeds, refused, tmp_path):
    succeeds("train.max_epochs=1", "figures=false")
    (folder,) = (tmp_path / "outputs").iterdir()
    before = sorted(os.listdir(folder))
    own("law/uniform.yaml")
    for verb in ("verify", "probe"):
        told = refused(verb, str(folder), "--config-dir", "own")
        assert "own/law/uniform.yaml has the name of one of attnexp's own" in told
    assert sorted(os.listdir(folder)) == before


def test_a_choice_of_hydras_own_is_refused(own, refused):
    own("hydra/job_logging/default.yaml")
    sentence = "own/hydra/job_logging/default.yaml has the name of one of Hydra's own: rename it"
    assert sentence in refused("--config-dir", "own", "--dry-run")


def test_the_folder_of_attnexp_itself_is_no_other(succeeds):
    succeeds("--config-dir", str(conf_dir()), "--dry-run")
