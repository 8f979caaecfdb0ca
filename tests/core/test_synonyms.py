"""Words of other tools: each leads to something that attnexp has."""

import re

import pytest
import yaml
from conftest import CONF, ROOT

from attnexp.cli.new import KINDS
from attnexp.cli.parser import parser_of
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
OPTIONS = {
    name
    for verb in ("results", "plot", "status")
    for action in parser_of(verb)._actions
    for name in action.option_strings
}
METRICS = {"token_accuracy", "exact_match", "test_mse", "test_mae", "test_loss", "cross_entropy"}
VALUES = {
    *("rotary", "fp32", "fp64", "bf16", "start", "check", "solution", "hint", "list"),
    *(picture.name for picture in PICTURES),
    *KINDS,
    "claim",
    "csv",
    *OPTIONS,
}


@pytest.mark.parametrize(("section", "word", "ours"), ROWS, ids=str)
def test_a_row_leads_to_something_that_there_is(section, word, ours):
    assert ours
    for target in ours:
        if section == "settings":
            parts = target.removeprefix("-m ").replace('"', "").split()
            assert all(map(is_setting, parts)), target
            assert word != target
        elif section == "values" and target not in METRICS:
            assert target in VALUES
        elif target.startswith("attnexp "):
            first = target.split()[1]
            assert first in VERBS or first.startswith("-") or "=" in first


def is_setting(part):
    name, sign, value = part.partition("=")
    choice = CONF / name / f"{value}.yaml"
    return choice.is_file() if sign and (CONF / name).is_dir() else name in SETTINGS


def test_the_table_has_words_of_every_kind():
    assert set(TABLE) == {"settings", "values", "options", "first words of a command line"}
    assert len(ROWS) >= 60
    assert not set(TABLE["first words of a command line"]) & set(VERBS)


def test_a_synonym_is_suggested_before_a_similar_name():
    assert nearest_text("heatmap", ["heatmaps_", "attention"]) == " Did you mean 'attention'?"
    assert nearest_text("heatmap", ["heatmaps_"]) == " Did you mean 'heatmaps_'?"


def test_capital_letters_make_no_difference():
    assert nearest_text("ROTARY", ["rotary", "alibi"]) == " Did you mean 'rotary'?"


def test_a_synonym_of_the_chosen_architecture_is_suggested_alone():
    paths = ["arch.dim", "arch.heads", "model.width"]
    assert "Did you mean 'arch.dim'?" in unknown_setting("num_hiddens", ["arch"], paths)
    assert "'model=additive model.hidden_dim=8'" in unknown_setting(
        "num_hiddens", ["arch"], ["model.width"], "num_hiddens=8"
    )
    assert "Did you mean" not in unknown_setting("decides.nhead", ["name"])


SENTENCES = [
    ("num_hiddens=8 data=copy model=additive", "'model.hidden_dim=8' or 'arch.hidden_dim=8'?"),
    ("data=copy arch=transformer d_model=8", "Did you mean 'arch.dim=8'?"),
    ("nhead=2", "Did you mean 'arch.heads=2'?"),
    ("n_heads=2", "Did you mean 'arch.heads=2'?"),
    ("num_head=2", "Did you mean 'arch.heads=2'?"),
    ("arch.num_heads=2", "Did you mean 'arch.heads=2'?"),
    ("+arch.num_heads=2", "Did you mean 'arch.heads=2'?"),
    ("++lr=0.1", "Did you mean 'optim.lr=0.1'?"),
    ("-m ++lr=0.1,0.2", "Did you mean 'optim.lr=0.1,0.2'?"),
    ("-m ++model.widt=1,2", "Did you mean 'model.width=1,2'?"),
    ("-m +n_heads=1,2", "Did you mean 'arch.heads=1,2'?"),
    ("arch.depth=3", "Did you mean 'data=copy arch=transformer arch.layers=3'?"),
    ("data=copy arch=transformer arch.depth=3", "Did you mean 'arch.layers=3'?"),
    ("data=copy arch=transformer depth=3", "Did you mean 'arch.layers=3'?"),
    ("seeds=3", "Did you mean '-m \"seed=range(3)\"'?"),
    ("-m seeds=3", "Did you mean '-m \"seed=range(3)\"'?"),
    ("n_seeds=05", "Did you mean '-m \"seed=range(5)\"'?"),
    ("-m num-seeds=8", "Did you mean '-m \"seed=range(8)\"'?"),
    ("-m seeds=0,1,2", "Did you mean 'seed=0,1,2'?"),
    ("-m model=additive, dot", "by commas, without spaces: write model=additive,dot"),
    ("-m model=additive ,dot seed=1", "by commas, without spaces: write model=additive,dot\n"),
    ("-m model=additive , dot", "by commas, without spaces: write model=additive,dot"),
    ("-m seed=0, 1, 2 model=dot", "by commas, without spaces: write seed=0,1,2\n"),
    ("-m seed=0, model=dot", "by commas, without spaces: write seed=0\n"),
    ("data=table data.x=[a, b]", "by commas, without spaces: write data.x=[a,b]"),
    ("data=table data.separator=,", "'data.separator=,' is not a setting"),
    ("learning_rate=0.1", "Did you mean 'optim.lr=0.1'?"),
    ("normalizer.k=2", "Did you mean 'normalizer=topk normalizer.k=2'?"),
    ("k=2", "Did you mean 'normalizer=topk normalizer.k=2'?"),
    ("optim.momentum=0.9", "Did you mean 'optim=sgd optim.momentum=0.9'?"),
    ("arch.layers=2", "Did you mean 'data=copy arch=transformer arch.layers=2'?"),
    ("max_length=5", "Did you mean 'data=copy data.max_length=5'?"),
    ("trainer.max_epochs=3", "Did you mean 'train.max_epochs=3'?"),
    ("trainer.gpus=1", "Did you mean 'device=cuda'?"),
    ("accelerator=cpu", "Did you mean 'device=cpu'?"),
    ("logger=wandb", "Did you mean 'tracker=wandb'?"),
    ("debug=default", "Did you mean 'train=short'?"),
    ("n_jobs=2", "Did you mean 'hydra/launcher=parallel'?"),
    ("model=transformer", "Did you mean 'data=copy arch=transformer'?"),
    ("model=softmax", "Did you mean 'normalizer=softmax'?"),
    ("model=multihead", "Did you mean 'model=scaled_dot arch.features=16 arch.heads=4'?"),
    ("model=dotproduct", "Did you mean 'model=dot' or 'model=scaled_dot'?"),
    ("model=rope", "Did you mean 'data=copy arch=transformer positions=rotary'?"),
    ("model=gpt", "Did you mean 'data=copy arch=decoder_only'?"),
    ("model=DOT", "Did you mean 'model=dot'"),
    ("-m model=dotproduct,dot", "Did you mean 'model=dot' or 'model=scaled_dot'?"),
    ("arch=lstm", "Did you mean 'data=copy arch=rnn arch.cell=lstm'?"),
    ("arch=additive", "Did you mean 'model=additive'?"),
    ("data=csv", "Did you mean 'data=table data.path=FILE data.x=[NAME] data.y=NAME'?"),
    ("data=mnist", "Did you mean 'data=table data.path=FILE data.x=[NAME] data.y=NAME'?"),
    *(
        (f"data={name}", "Did you mean 'data=pairs'?")
        for name in (
            "translation",
            "wmt14",
            "WMT16",
            "wmt_14",
            "wmt16_en_de",
            "iwslt2017",
        )
    ),
    ("model=gpt3", "Did you mean 'data=copy arch=decoder_only'?"),
    ("tracker=mlflow", "Did you mean 'tracker=trackio' or 'tracker=tensorboard'?"),
    ("seed=range(3", "write 'seed=range(3)'"),
    ("model=[dot,gaussian", "write 'model=[dot,gaussian]'"),
    ("seed 3", "write seed=3"),
    ("--model x", "'x' is not one of the choices for 'model'"),
    ("--model dot", "write model=dot"),
    ("--model", "write model=NAME"),
    ("--seed 3", "write seed=3"),
    ("-m --seed 0,1", "write seed=0,1"),
    ("--lr=0.1", "Did you mean 'optim.lr=0.1'?"),
    ("--batch-size 32", "Did you mean 'train.batch_size=32'?"),
    ("--dry_run", "Did you mean '--dry-run'?"),
    ("--config a.yaml", "Did you mean '--config-dir DIR' or 'experiment=NAME'?"),
    ("-V", "Did you mean 'attnexp --version'?"),
    ("data=copy arch=transformer positions=rope", "Did you mean 'positions=rotary'?"),
    ("precision=32", "got 32. Did you mean 'fp32'?"),
    ("device=gpu0", "got 'gpu0'. Did you mean 'device=cuda:0'?"),
    ("train", "'train' is not a verb. Did you mean 'attnexp NAME=VALUE'?"),
    ("run model=dot", "'run' is not a verb. Did you mean 'attnexp NAME=VALUE'?"),
    ("sweep", "Did you mean 'attnexp -m NAME=VALUE,VALUE'?"),
    ("eval", "Did you mean 'attnexp results'?"),
    ("predict", "Did you mean 'attnexp decode last SOURCE'?"),
    ("compare", "Did you mean 'attnexp results' or 'attnexp plot'?"),
    ("table", "Did you mean 'attnexp results' or 'data=table'?"),
    ("visualize", "Did you mean 'attnexp plot' or 'attnexp show last'?"),
    ("gaussian", "Did you mean 'model=gaussian'?"),
    ("version", "Did you mean 'attnexp --version'?"),
    ("chapter 1", "Did you mean 'pooling'?"),
    ("chapter 11.3", "Did you mean 'scoring'?"),
    ("exercise bandwidth", "attnexp exercise start bandwidth"),
    ("exercise begin bandwidth", "Did you mean 'start'?"),
    ("new dataset x", "Did you mean 'data'?"),
    ("new kernel x", "Did you mean 'score'?"),
    ("import jsonn", "Did you mean 'csv'?"),
    ("import tb logs", "Did you mean 'csv'?"),
    ("results --metrics test_mse", "Did you mean '--metric'"),
    ("plot --type loss", "Did you mean '--kind' or '--format'?"),
]


@pytest.mark.first(25)
@pytest.mark.check
@pytest.mark.parametrize(("arguments", "sentence"), SENTENCES, ids=[s[0] for s in SENTENCES])
def test_the_command_line_names_the_synonym(refused, tmp_path, arguments, sentence):
    assert sentence in refused(*arguments.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.check
def test_a_kind_of_picture_has_synonyms(in_process, finished_runs):
    answer = in_process("plot", str(finished_runs["rnn"]), "--kind", "heatmap")
    assert "'heatmap' is not a choice. Did you mean 'attention'?" in re.sub(
        r"\s+", " ", answer.stderr
    )


def test_a_folder_of_runs_is_not_a_run(refused, write_run):
    write_run("a")
    write_run("b")
    assert "outputs is a folder of 2 runs: name one, such as last" in refused("show", "outputs")


def test_a_metric_of_many_has_the_nearest_and_the_command_that_lists_all(refused, write_run):
    write_run("a", metrics={f"entropy.layer1.head{i}": 0.5 for i in range(60)} | {"exact_match": 1})
    told = refused("results", "--metric", "accuracy")
    assert "Did you mean 'exact_match'? `attnexp results --runs --format csv` lists all 63." in told


def test_one_row_is_not_rows(succeeds, write_run):
    write_run("a")
    assert "1 row in t.json" in succeeds("results", "--output", "t.json").stdout


def test_a_launcher_is_not_a_row(succeeds, write_run):
    for name, batched in (("a", True), ("b", False)):
        write_run(name, {"batched": batched}, key=name * 10)
    assert "1 configuration" in succeeds("results").stdout
    assert "1 configuration, 1 run" in succeeds("results", "--where", "batched=true").stdout
