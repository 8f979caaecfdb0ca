"""Slips in the form of a setting are told from the forms that Hydra reads."""

import pytest

from attnexp.config.forms import check_forms
from attnexp.core.errors import RequestError

FINE = [
    ["model=dot", "seed=0"],
    ["model=dot,cosine", "seed=range(5)", "data_seed=0,1"],
    ["model=glob(*)", "model=glob([d*,c*])"],
    ["experiment=[mine,yours]", "optim.betas=[0.9,0.98]"],
    ["output_dir=2020-2021", "data.path=a:b", "data.path='C:x'"],
    ["tracker.name=", "seed=1"],
    ["tracker.name=", "~optim.lr"],
    ["arch@other:here=rnn"],
    ["~optim.lr", "+a.b=c==d"],
    ["train", "model=dot"],
    ["seed=" + "1" * 5000 + "-" + "2" * 5000],
]


@pytest.mark.parametrize("words", FINE, ids=str)
def test_what_hydra_reads_or_refuses_itself_is_left_to_it(words):
    check_forms(words)


def test_a_long_value_is_shortened():
    with pytest.raises(RequestError) as refused:
        check_forms(["model==" + "x" * 5000])
    assert len(str(refused.value)) < 200
