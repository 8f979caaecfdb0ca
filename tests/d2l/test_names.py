"""The names of attnexp.d2l: those that are missing, and the documents."""

import ast
import inspect
import re
from typing import Any

import pytest
import torch
from documented import blocks, compose

from attnexp import d2l

MISSING = [
    (
        "read_data_nmt",
        "attnexp.d2l has no read_data_nmt: MTFraEng(batch_size) has sentence pairs, as "
        "`attnexp data=pairs` does",
    ),
    (
        "MultiheadAttention",
        "attnexp.d2l has no MultiheadAttention. Did you mean 'MultiHeadAttention'",
    ),
    ("reduce_max", "attnexp.d2l has no reduce_max. Did you mean 'reduce_mean'"),
    ("fetch", "attnexp.d2l has no fetch"),
]


EARLIER: dict[str, tuple[dict[str, Any], int]] = {
    "AddNorm": ({"normalized_shape": [3, 4], "dropout": 0.5}, 2),
    "TransformerEncoderBlock": (
        {"key_size": 24, "query_size": 24, "value_size": 24, "num_hiddens": 24}
        | {"norm_shape": [100, 24], "ffn_num_input": 24, "ffn_num_hiddens": 48, "num_heads": 8}
        | {"dropout": 0.5},
        5,
    ),
    "TransformerEncoder": (
        {"vocab_size": 9, "key_size": 24, "query_size": 24, "value_size": 24, "num_hiddens": 24}
        | {"norm_shape": [100, 24], "ffn_num_input": 24, "ffn_num_hiddens": 48, "num_heads": 8}
        | {"num_layers": 2, "dropout": 0.5},
        7,
    ),
}
"""Arguments of d2l 0.17 by class that are not taken, and how many there are in 1.0."""


@pytest.mark.parametrize("name", EARLIER)
def test_a_call_of_0_17_that_is_not_taken_is_told_that_of_1_0(name):
    earlier, count = EARLIER[name]
    given = getattr(d2l, name)
    now = list(inspect.signature(given).parameters)
    assert len(now) == count
    calls = [((), earlier)]
    if len(earlier) > count:
        calls.append((tuple(earlier.values()), {}))
    for args, named in calls:
        with pytest.raises(TypeError) as refused:
            given(*args, **named)
        assert f"Since d2l 1.0 the call is {name}({', '.join(now)})" in str(refused.value)
        assert f"in 0.17 it was {name}({', '.join(earlier)}" in str(refused.value)


def test_names_of_0_17_that_are_missing_say_what_serves():
    for name in ("transpose_qkv", "transpose_output", "EncoderBlock", "MaskedSoftmaxCELoss"):
        with pytest.raises(AttributeError, match=f"attnexp.d2l has no {name}: "):
            getattr(d2l, name)


NEEDED = {"attnexp show": "RUN", "attnexp plot": "RUN", "attnexp decode": "RUN 'I won.'"}
"""The arguments that a command cannot be without."""


@pytest.mark.parametrize(("name", "sentence"), MISSING)
def test_a_name_that_is_missing_says_what_serves(name, sentence):
    with pytest.raises(AttributeError, match=re.escape(sentence)):
        getattr(d2l, name)
    assert not hasattr(d2l, name)


def test_no_name_is_both_here_and_missing():
    assert not set(d2l.INSTEAD) & set(dir(d2l))
    assert all(hasattr(d2l, name) for name in dir(d2l))
    assert d2l.plt.__name__ == "matplotlib.pyplot"


def test_commands_in_place_of_missing_names_are_some(in_process):
    named = re.findall(r"`(attnexp [^`]+)`", " ".join(d2l.INSTEAD.values()))
    assert len(set(named)) >= 8
    for command in {command.replace(" data.path=FILE", "") for command in named}:
        compose(f"{command} {NEEDED.get(command, '')}", in_process)


def test_sentences_on_missing_names_name_names_that_are_here():
    words = re.findall(
        r"\b(?:MTFraEng|Trainer|Seq2Seq|GRU|ProgressBoard|show_heatmaps)\b",
        " ".join(d2l.INSTEAD.values()),
    )
    assert len(words) >= 6
    assert set(words) <= set(d2l.__all__)


OF_LATER_CELLS = {"masked_softmax", "NWKernelRegression"}
"""An argument of the first has another name, and the second is of an earlier release."""


ELSEWHERE = {
    *("layer_summary", "_download", "_preprocess", "_tokenize", "_build_arrays"),
    *("text_labels", "visualize"),
}
"""Methods that only chapters on convolution, on the reading of text and on images call."""


def arguments(node):
    """The names of what a function takes, without *args and **kwargs."""
    return [each.arg for each in node.args.args]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*d2l.__all__} - OF_LATER_CELLS))
def test_arguments_have_the_names_of_the_book(book_source, name):
    (theirs,) = [node for node in ast.parse(book_source).body if vars(node).get("name") == name]
    ours = getattr(d2l, name)
    if isinstance(theirs, ast.FunctionDef):
        assert list(inspect.signature(ours).parameters) == arguments(theirs)
        return
    assert isinstance(theirs, ast.ClassDef)
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for node in theirs.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or node.name in ELSEWHERE:
            continue
        taken = inspect.signature(getattr(ours, node.name)).parameters
        assert [key for key in taken if taken[key].kind not in kinds] == arguments(node)


def test_the_example_of_the_course_is_one():
    names = {}
    exec(blocks("docs/course.md", "python")[0], names)
    queries, keys = torch.randn(2, 3, 8), torch.randn(2, 6, 8)
    assert names["attention"](queries, keys, keys, None).shape == (2, 3, 100)
