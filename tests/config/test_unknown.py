"""A setting that some choices of a sweep lack is explained by two sweeps, which run."""

import re
import shlex

import pytest

CASES = [
    ("model=gaussian,additive model.width=1,2", "model.width", "model=gaussian", "model=additive"),
    (
        "model=dot,boxcar,additive seed=0,1 model.width=1",
        "model.width",
        "model=boxcar",
        "model=dot,additive",
    ),
    (
        "data=reverse arch=rnn,transformer arch.hidden_dim=8",
        "arch.hidden_dim",
        "arch=rnn",
        "arch=transformer",
    ),
    ("data=sine,reverse data.noise=0.1", "data.noise", "data=sine", "data=reverse"),
    ("optim=adam,sgd 'optim.betas=[0.9,0.99]'", "optim.betas", "optim=adam", "optim=sgd"),
    (
        "normalizer=choice(softmax,topk) model=dot,additive normalizer.k=2",
        "normalizer.k",
        "normalizer=topk",
        "normalizer=softmax",
    ),
    (
        "'model=glob([dot,gaussian])' model.width=1",
        "model.width",
        "model=gaussian",
        "model=dot",
    ),
]


@pytest.mark.first(3)
@pytest.mark.check
@pytest.mark.parametrize(("line", "path", "having", "lacking"), CASES, ids=[c[0] for c in CASES])
def test_the_two_commands_of_the_sentence_run(refused, succeeds, line, path, having, lacking):
    told = refused("-m", *shlex.split(line), "--dry-run").replace("\n", " ")
    assert f"{path} is a setting of {having}, not of {lacking}: write `attnexp -m {having}" in told
    first, second = re.findall(r"`attnexp (.*?)`", told)
    assert path in first
    assert path not in second
    for command in (first, second):
        assert "to do" in succeeds(*shlex.split(command), "--dry-run").stdout


def test_a_folder_of_ones_own_is_in_the_commands(refused, succeeds, own_choice):
    own_choice("model", "attnexp.scores.gaussian.Gaussian", settings="width: 1.0\n")
    own = ("--config-dir", "my_conf")
    told = refused("-m", *own, "model=mine,additive", "model.width=2")
    assert "write `attnexp -m --config-dir my_conf model=mine model.width=2` and" in told


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["model=glob(*)", "model.width=1"],
            r"model=biweight,biweight_learned,boxcar and \d+ more, not of model=adaptive_scale,",
        ),
        (
            ["experiment=scores_on_sine", "model.width=1"],
            "write a sweep of the former with model.width, and one of the others",
        ),
        (
            [
                "hydra/sweeper=tuned",
                "hydra.sweeper.tune=['model.width=1,2']",
                "model=gaussian,additive",
            ],
            "not of model=additive: write a sweep of the former with model.width, and one of the",
        ),
    ],
)
def test_many_choices_and_settings_that_are_not_typed_get_no_commands(refused, words, sentence):
    assert re.search(sentence, refused("-m", *words))


def test_a_setting_that_all_choices_lack_is_explained_by_all_that_they_have(refused):
    assert (
        "no setting 'width' in 'model'. Did you mean 'model=gaussian model.width=1'? Choose hid"
        in refused("-m", "model=additive,dot", "model.width=1")
    )
    assert (
        "Did you mean 'model.width=1'? Choose check_width, hidden_dim, initial_width, "
        "per_dimension or width." in refused("-m", "model=additive,gaussian", "model.widht=1")
    )
    assert "no setting 'nowhere' at the top level" in refused(
        "-m", "model=glob(nothing*)", "seed=0,1", "nowhere=1"
    )
