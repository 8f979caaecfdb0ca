"""Words of other tools: each leads to something that attnexp has."""

import re

import pytest
import yaml
from conftest import CONF, ROOT

from attnexp.cli.verbs import VERBS
from attnexp.config.unknown import unknown_setting
from attnexp.core.errors import nearest_text
from attnexp.plots.catalogue import PICTURES

TABLE = yaml.safe_load((ROOT / "attnexp" / "core" / "synonyms.yaml").read_text())
ROWS = [(section, word, ours) for section in TABLE for word, ours in TABLE[section].items()]


def read(path):
    return yaml.safe_load(path.read_text())


def settings():
    """The groups, and the settings of every choice of each, by path."""
    for name in read(CONF / "config.yaml"):
        yield name
    for path in CONF.glob("*/*.yaml"):
        yield path.parent.name
        for name in read(path) or {}:
            yield f"{path.parent.name}.{name}"


SETTINGS = set(settings())
VALUES = {"rotary", "fp32", "fp64", "bf16", *(picture.name for picture in PICTURES)}


@pytest.mark.parametrize(("section", "word", "ours"), ROWS, ids=str)
def test_a_row_leads_to_something_that_there_is(section, word, ours):
    assert ours
    for target in ours:
        if section == "settings":
            assert all(is_setting(part) for part in target.split()), target
            assert word != target
        elif section == "values":
            assert target in VALUES
        else:
            assert target in {*VERBS, *WITHOUT_VERB}


def is_setting(part):
    name, sign, value = part.partition("=")
    choice = CONF / name / f"{value}.yaml"
    return choice.is_file() if sign and (CONF / name).is_dir() else name in SETTINGS


def test_the_table_has_words_of_every_kind():
    assert set(TABLE) == {"settings", "values", "first words of a command line"}
    assert len(ROWS) >= 60
    assert not set(TABLE["first words of a command line"]) & set(VERBS)


def test_a_synonym_is_suggested_before_a_similar_name():
    assert nearest_text("heatmap", ["heatmaps_", "attention"]) == " Did you mean 'attention'?"
    assert nearest_text("heatmap", ["heatmaps_"]) == " Did you mean 'heatmaps_'?"


def test_a_synonym_of_the_chosen_architecture_is_suggested_alone():
    paths = ["arch.dim", "arch.heads", "model.width"]
    assert "Did you mean 'arch.dim'?" in unknown_setting("num_hiddens", ["arch"], paths)
    assert "'model.hidden_dim', 'arch.hidden_dim' or 'arch.dim'?" in unknown_setting(
        "num_hiddens", ["arch"], ["model.width"]
    )
    assert "Did you mean" not in unknown_setting("decides.nhead", ["name"])


SENTENCES = [
    ("num_hiddens=8 data=copy model=additive", "Did you mean 'model.hidden_dim' or 'arch.hidden_d"),
    ("data=copy arch=transformer d_model=8", "Did you mean 'arch.dim'?"),
    ("nhead=2", "Did you mean 'arch.heads'?"),
    ("arch.num_heads=2", "Did you mean 'arch.heads'?"),
    ("+arch.num_heads=2", "Did you mean 'arch.heads'?"),
    ("learning_rate=0.1", "Did you mean 'optim.lr'?"),
    ("trainer.max_epochs=3", "Did you mean 'train.max_epochs'?"),
    ("trainer.gpus=1", "Did you mean 'device=cuda'?"),
    ("trainer=gpu", "Did you mean 'device=cuda'?"),
    ("accelerator=cpu", "Did you mean 'device=cpu'?"),
    ("logger=wandb", "Did you mean 'tracker=wandb'?"),
    ("trackio=true", "Did you mean 'tracker=trackio'?"),
    ("debug=default", "Did you mean 'train=short'?"),
    ("n_jobs=2", "Did you mean 'hydra/launcher=parallel'?"),
    ("model=transformer", "Did you mean 'arch=transformer'?"),
    ("model=softmax", "Did you mean 'normalizer=softmax'?"),
    ("model=multihead", "Did you mean 'arch.heads=4'?"),
    ("arch=lstm", "Did you mean 'arch=rnn arch.cell=lstm'?"),
    ("data=csv", "Did you mean 'data=table'?"),
    ("data=copy arch=transformer arch.positions=rope", "got 'rope'. Did you mean 'rotary'?"),
    ("precision=fp16", "got 'fp16'. Did you mean 'bf16'?"),
    ("precision=32", "got 32. Did you mean 'fp32'?"),
    ("device=gpu", "got 'gpu'. Did you mean 'device=cuda'?"),
    ("device=gpu0", "got 'gpu0'. Did you mean 'device=cuda:0'?"),
    ("device=cuda1", "got 'cuda1'. Did you mean 'device=cuda:1'?"),
    ("train", "'train' is not a verb. Did you mean 'attnexp NAME=VALUE'?"),
    ("run model=dot", "'run' is not a verb. Did you mean 'attnexp NAME=VALUE'?"),
    ("sweep", "Did you mean 'attnexp -m NAME=VALUE,VALUE'?"),
    ("ls", "Did you mean 'status' or 'results'?"),
    ("version", "Did you mean 'attnexp --version'?"),
    ("init", "Did you mean 'new'?"),
]


@pytest.mark.parametrize(("arguments", "sentence"), SENTENCES, ids=[s[0] for s in SENTENCES])
def test_the_command_line_names_the_synonym(refused, tmp_path, arguments, sentence):
    assert sentence in refused(*arguments.split())
    assert not list(tmp_path.iterdir())


def test_a_kind_of_picture_has_synonyms(in_process, finished_runs):
    answer = in_process("plot", str(finished_runs["rnn"]), "--kind", "heatmap")
    assert "'heatmap' is not a choice. Did you mean 'attention'?" in re.sub(
        r"\s+", " ", answer.stderr
    )
