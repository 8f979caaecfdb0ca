"""The name of the folder of a sweep's pictures."""

import pytest

from attnexp.sweeps.printed import LONGEST_NAME, pictures_name

LONG = ["data=reverse", "arch=rnn,transformer,decoder_only", "model=dot,additive"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["model=additive,dot", "seed=0,1"], "model_additive-dot_seed_0-1"),
        (["model=average,dot", "seed=range(0,6)"], "model_average-dot_seed_range_0-6"),
        (["model.width=1,0.5", "output_dir=x", "hydra/launcher=joblib"], "model_width_1-0_5"),
        (["figures=true"], "sweep"),
    ],
)
def test_a_short_name_has_the_words_that_change_a_number(words, name):
    assert pictures_name(words) == name


def test_names_are_short_and_those_of_distinct_comparisons_distinct():
    sweeps = [
        [*LONG, "seed=range(5)"],
        [*LONG, "seed=range(6)"],
        ["model.width=1,2", f"data.note={'x' * 300}"],
        ["model.width=1,2", f"data.note={'字' * 60}"],
        ["model=glob(*)"],
        ["model=glob(a*)"],
        ["model=glob(*a)"],
        ["data.inputs=[a,b]"],
        ["data.inputs=a,b"],
        ["optim.lr=.5,1"],
        ["optim.lr=5,1"],
    ]
    names = [pictures_name(words) for words in sweeps]
    assert len(set(names)) == len(names)
    for name, words in zip(names, sweeps, strict=True):
        assert len(name) <= LONGEST_NAME
        assert name == pictures_name(words)
    assert names[0][:-8] == names[1][:-8] == "data_reverse_arch_rnn-transform-"
