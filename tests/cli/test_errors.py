"""Every wrong request gets its sentence and exit code 2, and leaves nothing behind."""

import os
import re

import pytest
from command_outcome import run_here

SENTENCES = [
    ("sed=1", "There is no setting 'sed' at the top level. Did you mean 'seed=1'"),
    ("lr=0.1", "There is no setting 'lr' at the top level. Did you mean 'optim.lr=0.1'\\?"),
    (
        "epochs=3",
        "There is no setting 'epochs' at the top level. Did you mean 'train.max_epochs=3'",
    ),
    ("train.noise=1", "There is no setting 'noise' in 'train'. Did you mean 'data.noise=1'"),
    (
        "model=gaussian arch.features=4 arch.width=2",
        "There is no setting 'width' in 'arch'. Did you mean 'model.width=2'",
    ),
    (
        "data=reverse model=additive hidden_dims=3",
        "Did you mean 'arch.hidden_dim=3' or 'model.hidden_dim=3'",
    ),
    ("-m seed=0,1 figures=3", "figures must be auto or true or false, got 3"),
    ("-m fail_fast=1", "fail_fast must be true or false, got 1"),
    ("output_dir=2026", "output_dir must be text, got 2026"),
    ("output_dir=/dev/null/a", "output_dir: /dev/null/a\\S* cannot be written: Not a directory"),
    (
        "reslts",
        "'reslts' is not a verb. Did you mean 'results'\\? `attnexp --help verbs` lists all 18",
    ),
    ("modle=dot", "There is no setting 'modle' .* Did you mean 'model=dot'"),
    ("arch.head=2", "There is no setting 'head' in 'arch'. Did you mean 'arch.heads=2'"),
    (
        "+arch.zzz=2",
        "There is no setting 'zzz' in 'arch': choose empty, features, head_dim or heads.",
    ),
    (
        "model=dott",
        "'dott' is not one of the choices for 'model'. Did you mean 'model=dot'\\? `attnexp --help",
    ),
    (
        "-m hydra/sweeper=optuna optim.lr=0.1,1",
        "hydra/sweeper=optuna would run finished jobs again .* choose hydra/sweeper=tuned, which",
    ),
    ("hydra/launcher=nope", "'nope' is not one of the choices for 'hydra/launcher'"),
    ("seed=abc", "seed must be a whole number, got 'abc'"),
    ("seed=-1", "seed must be 0 or more, got -1"),
    ("precision=fp16", "precision must be bf16, fp32 or fp64, got 'fp16'"),
    ("threads=0", "threads must be at least 1 and at most "),
    ("figures=perhaps", "figures must be auto or true or false, got 'perhaps'"),
    ("data.noise=loud", "data.noise must be a number, got 'loud'"),
    ("task.reduction=max", "task.reduction must be mean or sum, got 'max'"),
    ("data.num_train=1", "num_train must be at least 2"),
    ("train.max_epochs=0", "max_epochs must be greater than 0, got 0"),
    ("optim.lr=0", "lr must be greater than 0, got 0"),
    ("data.low=${nowhere}", "data.low: Interpolation key 'nowhere' not found"),
    ("+model.query_dim=3", "model.query_dim cannot be set: it follows from the rest of the run"),
    ("seed=0,1", "seed=0,1 names several values: add -m to run a job for each of them"),
    ("hydra.job.chdir=true", "hydra.job.chdir has no effect: a run stays in the current directory"),
    ("hydra.output_subdir=.hydra", "hydra.output_subdir has no effect: summary.json in the folder"),
    ("hydra.job.chdir=maybe", "hydra.job.chdir: Value 'maybe' is not a valid bool"),
    ("hydra.mode=RUNS", "hydra.mode: Invalid value 'RUNS', expected one of .RUN, MULTIRUN."),
    ("seed=[1", "'seed=\\[1' is not a setting: write 'seed=\\[1\\]'"),
    ("model._target_=attnexp.scores.dot.Dott", "cannot be imported: .* no attribute 'Dott'"),
    ("model._target_=nowhere.Score", "cannot be imported: No module named 'nowhere'"),
    ("model._target_=attnexp.scores.dot.__doc__", "is not a class or a function"),
    ("~optim.lr", "optim.lr has no value, and there is no default"),
    (
        "schedule=cosine",
        "schedule=cosine has no effect with optim=rprop, which reads its learning rate once: "
        "choose schedule=constant, or optim=adam or sgd",
    ),
    ("device=gpu", "device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'"),
    ("device=cuda:77", "device=cuda:77 is not available: PyTorch finds .*. Use device=cpu"),
    *(
        (
            f"arch={name}{asked}",
            f"arch={name} is not for data=sine: choose arch=kernel_regression, or data=copy$",
        )
        for name in ("transformer", "rnn", "decoder_only", "bottleneck", "pooling")
        for asked in ("", " --dry-run", " --cfg job")
    ),
    (
        "data=sort arch=kernel_regression --cfg job",
        "not for data=sort: choose arch=bottleneck, decoder_only, pooling, rnn or transformer, or "
        "data=sine$",
    ),
    *(
        (f"{many}device={given}", f"cuda:N or mps, got {said}. Did you mean 'device=cuda:{near}'")
        for many, given, said, near in (
            *(("", "0", 0, 0), ("", "7", 7, 7), ("", "[1]", ".1.", 1), ("-m ", "0,1", 0, 0)),
            ("", "'0'", "'0'", 0),
        )
    ),
    ("device=-1", "device must be auto, cpu, cuda, cuda:N or mps, got -1$"),
    ("device=1.5", "device must be auto, cpu, cuda, cuda:N or mps, got 1.5$"),
    *(
        (
            f"{word} {lacking}".strip(),
            "data.path, data.x and data.y have no value: write data.path=VALUE data.x=VALUE "
            "data.y=VALUE$",
        )
        for word in ("data=table", "-m data=table")
        for lacking in ("", "seed=1", "--dry-run")
    ),
    ("data=table data.y=c", "data.path and data.x have no value: write data.path=VALUE data.x=V"),
    (f"data=table data.y=c data.path={__file__}", "data.x has no value: write data.x=VALUE$"),
    *(
        (f"{group}={word}", f"for a run with each choice, write -m '{group}=glob\\(\\*\\)'$")
        for group in ("model", "normalizer", "data")
        for word in ("all", "ALL", "every", "each", "any")
    ),
    *(
        (f"results --where {test}", f"--where takes one word: quote the test, --where '{test}'$")
        for test in (
            *("model=dot and seed=3", "model=dot or seed=3", "model in dot", "not model=dot"),
            *("model = dot", "seed > 3"),
        )
    ),
    ("plot --where=a=1 and b=2 --kind fit", "quote the test, --where 'a=1 and b=2'$"),
    ("normalizer=topk normalizer.k=0", "k of normalizer=topk must be at least 1, got 0"),
    ("normalizer=softmax normalizer.k=3", "no setting 'k' in 'normalizer'"),
    ("data=copy arch.attention_dropout=1.0", "attention_dropout must be at least 0 and"),
    ("seed=0-4", "seed must be a whole number, got '0-4': .* write -m 'seed=range\\(5\\)'"),
    ("-m seed=0..2", "got '0..2': for a run with each, write -m 'seed=range\\(3\\)'"),
    ("-m data_seed=2:4", "got '2:4': for a run with each, write -m 'data_seed=range\\(2,5\\)'"),
    ("-m seed=[0,1,2]", "seed takes one value, got '.0,1,2.': .* write -m seed=0,1,2$"),
    ("model=[dot,cosine]", "model takes one value, got .*: .* write -m model=dot,cosine$"),
    ("-m model=*", "model takes the name of a choice, got '\\*': .* -m 'model=glob\\(\\*\\)'"),
    ("model==dot", "a setting is written name=value, with one = and without spaces: .* model=dot$"),
    ("model= dot", "without spaces: write model=dot$"),
    ("seed=1 model =dot", "without spaces: write model=dot$"),
    ("model = dot seed=1", "without spaces: write model=dot$"),
    ("model:dot", "without spaces: write model=dot$"),
    ("model: dot", "without spaces: write model=dot$"),
    ("--zzz", "--zzz is not an option: There is no setting 'zzz' .* and 15 more, which `attnexp"),
    ("--experimental-rerun=a.pickle", "--experimental-rerun reads a pickled file, which attnexp"),
    ("--config-dir=nowhere", "--config-dir: there is no folder .*nowhere"),
    *(
        (option, "--config-path, or -cp, would put another configuration .*--config-dir FOLDER")
        for option in (
            *("--config-path=my", "--config-path my", "-cp my", "-cp=my", "--config-pa=my"),
            "--config-path=",
        )
    ),
    ("data=table data.x=age,bmi", "data.x is a list: write 'data.x=\\[age,bmi\\]'"),
    ("data=pairs data.path=a.de,a.en", "data.path is a list: write 'data.path=\\[a.de,a.en\\]'"),
    ("data=copy data.test_lengths=64,128", "is a list: write 'data.test_lengths=\\[64,128\\]'"),
    (
        "data=max data.test_items=6,7",
        "data.test_items is a list: write 'data.test_items=\\[6,7\\]'",
    ),
    ("data=dates data.locales=de,fr", "data.locales is a list: write 'data.locales=\\[de,fr\\]'"),
    ("optim.lr=0.1,0.2", "optim.lr=0.1,0.2 names several values: add -m to run a job for each"),
    ("-m data=copy data.test_lengths=64,128 --dry-run", "data.test_lengths must be a list"),
    ("data=copy data.min_length=0 --dry-run", "min_length must be at least 1, got 0"),
]


@pytest.mark.first(20)
@pytest.mark.parametrize(("argument", "sentence"), SENTENCES, ids=[s[0] for s in SENTENCES])
def test_wrong_request(refused, tmp_path, argument, sentence):
    (line,) = refused(*argument.split()).splitlines()
    assert re.search(sentence, line), line
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("noise: [1, 2\nlow: 3\n", "mine.yaml, line 4: not valid YAML"),
        ("nosie: 9\n", "no setting 'nosie' in 'data'. Did you mean 'noise'"),
    ],
)
def test_a_yaml_of_ones_own_that_is_wrong(refused, own_choice, content, sentence):
    mine = own_choice("data", "attnexp.data.sine.Sine", settings=content)
    assert re.search(sentence, refused(*mine))


def test_failed_run_says_where_the_traceback_is(in_process, tmp_path):
    answer = in_process(
        "model=additive", "optim=sgd", "optim.lr=1e38", "optim.weight_decay=1e38", "figures=false"
    )
    assert answer.returncode == 1
    assert "the run failed: TrainingDivergedError: parameters are no longer finite" in answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr
    (folder,) = (tmp_path / "outputs").iterdir()
    assert "Traceback (most recent call last)" in (folder / "attnexp.log").read_text()
    assert str(folder / "attnexp.log") in answer.stderr


def test_architecture_without_a_normalizer_has_the_softmax_or_is_refused(
    succeeds, refused, own_choice
):
    code = (
        "from attnexp.architectures.base import Architecture\n"
        "from attnexp.attention import AttentionPooling\n"
        "from attnexp.core.batch import Prediction, RegressionSpec\n"
        "class Points(Architecture):\n"
        "    def __init__(self, spec: RegressionSpec, score):\n"
        "        super().__init__()\n"
        "        self.pooling = AttentionPooling(score(query_dim=1, key_dim=1), 1)\n"
        "    def forward(self, batch, need_weights=False):\n"
        "        out, maps = self.pooling(batch.queries, batch.keys, batch.values, batch.mask)\n"
        "        return Prediction(out, {'pooling': maps.unsqueeze(1)})\n"
    )
    mine = (*own_choice("arch", "points.Points", code), "model=gaussian", "figures=false")
    succeeds(*mine)
    assert (
        "arch=mine has no argument normalizer, so it cannot use normalizer=sparsemax: choose "
        "normalizer=softmax"
    ) in refused(*mine, "normalizer=sparsemax")


def test_a_yaml_of_ones_own_that_is_not_read_is_named_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_conf" / "Model").mkdir(parents=True)
    (tmp_path / "my_conf" / "Model" / "mine.yaml").write_text("# Mine.\n")
    outcome = run_here(["--config-dir=my_conf", "--cfg", "job", "--package", "seed"], 30)
    assert (outcome.code, outcome.out, outcome.faults()) == (0, "0\n", [])
    (note,) = outcome.err.splitlines()
    assert "Model/mine.yaml" in note
    assert "model/mine.yaml" in note


LONG = "x" * 300
"""A name that no file can have."""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("show LONG", "is not there: give the folder of a run"),
        ("exercise check LONG", "holds no exercise.yaml"),
        ("exercise start LONG", "is not a choice"),
        ("import csv LONG", "is not there"),
        ("LONG", "is not a setting"),
        ("data=LONG", "is not one of the choices for 'data'"),
        ("experiment=LONG", "is not one of the choices for 'experiment'"),
        ("hydra/launcher=LONG", "is not one of the choices for 'hydra/launcher'"),
        ("hydra/job_logging=LONG", "is not one of the choices for 'hydra/job_logging'"),
        ("LONG=3", "There is no setting"),
        ("=LONG", "is not a setting: write name=value"),
        ("+=LONG", "is not a setting: write name=value"),
        ("data=table data.path=LONG", "there is no file"),
        ("hydra.run.dir=LONG", "cannot be written"),
    ],
)
def test_a_name_that_no_file_can_have_is_a_name_that_is_not_there(
    tmp_path, monkeypatch, line, sentence
):
    monkeypatch.chdir(tmp_path)
    outcome = run_here(line.replace("LONG", LONG).split(), 30)
    assert (outcome.code, outcome.faults()) == (2, [])
    assert sentence in outcome.err
    assert os.listdir() == []
