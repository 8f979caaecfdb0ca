"""Interventions by name."""

import pytest

from attnexp.config.laws import read_laws
from attnexp.core.errors import RequestError
from attnexp.probe.interventions import is_intervention, named, usual

LAWS = read_laws()
HEADS = {"encoder": [2, 2], "cross": [4, 4]}


def the(word):
    (one,) = named(word, LAWS, HEADS, "cross")
    return one


@pytest.mark.parametrize(
    ("word", "part", "layer", "head"),
    [
        ("uniform", "cross", None, None),
        ("zero=encoder", "encoder", None, None),
        ("zero=cross.2", "cross", 1, None),
        ("zero=cross.2.4", "cross", 1, 3),
        ("uniform=encoder.*.1", "encoder", None, 0),
        ("zero=cross.*.*", "cross", None, None),
    ],
)
def test_places_count_from_one(word, part, layer, head):
    one = the(word)
    assert (one.part, one.layer, one.head) == (part, layer, head)
    assert one.name == word


def test_only_one_head_of_one_layer_is_a_head_taken_out():
    words = ("zero=cross.1.2", "zero=cross.1", "zero=cross.*.2", "uniform=cross.1.2")
    assert [the(word).takes_out_a_head for word in words] == [True, False, False, False]


def test_laws_that_draw_are_repeated():
    assert [the(word).repetitions for word in ("shuffled", "unit_random", "hard")] == [100, 100, 1]


def test_a_ladder_has_rungs():
    rungs = named("interpolate=uniform:0..1", LAWS, HEADS, "cross")
    assert [rung.share for rung in rungs] == [0.25, 0.5, 0.75, 1.0]
    assert {rung.ladder for rung in rungs} == {"interpolate=uniform:0..1"}


def test_the_usual_ones_replace_the_map_and_take_out_each_head():
    names = usual({"encoder": [2], "cross": [1]}, "cross", has_gold=True, sums_to_one=True)
    assert names == [
        *("uniform", "gold", "hard", "shuffled"),
        *("zero=encoder", "zero=encoder.1.1", "zero=encoder.1.2", "zero=cross"),
    ]
    both = usual({"pooling": [1]}, "pooling", has_gold=False, sums_to_one=False)
    assert both == ["uniform", "hard", "unit_uniform", "unit_hard", "shuffled", "zero=pooling"]


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("topk=0", "law=topk: count must be at least 1, got 0"),
        ("topk", "topk takes a value: write topk=COUNT"),
        ("topk=two", "topk.count must be a whole number, got 'two'"),
        ("zero=self", "'self' is not a choice: choose cross or encoder"),
        ("zero=cross.0.1", "cross has 2 layers, counted from 1"),
        ("zero=cross.3.1", "cross has 2 layers, counted from 1"),
        ("zero=cross.1.5", "cross has 4 heads in a layer, counted from 1"),
        ("zero=cross.a", "is not of the form NAME=PART.LAYER.HEAD"),
        ("interpolate=uniform", "is not of the form interpolate=NAME:0..1"),
        ("interpolate=unit_zero:0..1", "'unit_zero' is not a choice"),
        ("unit_shuffled", "'unit_shuffled' is not a choice"),
        ("hart=cross", "'hart' is not a choice"),
        ("adversarial=3", "adversarial=3: adversarial takes no value"),
    ],
)
def test_a_word_that_names_none_is_refused(word, sentence):
    with pytest.raises(RequestError, match=sentence.replace(".", r"\.")):
        named(word, LAWS, HEADS, "cross")


def test_words_are_told_from_folders():
    words = ["uniform", "topk=2", "zero=cross.1.2", "adversarial", "outputs", "./uniform", "hart"]
    assert [is_intervention(word, LAWS) for word in words] == [True] * 4 + [False] * 3
