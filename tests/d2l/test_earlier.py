"""Layers with the sizes of their inputs, as d2l 0.17 has them: PyTorch's layers are the oracle."""

import copy
import re
from typing import Any

import pytest
import torch
from torch import nn

from attnexp import d2l

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, tuple[int, int, bool]]]] = {
    "AdditiveAttention": (
        {"key_size": 2, "query_size": 20, "num_hiddens": 8, "dropout": 0.1},
        {"num_hiddens": 8, "dropout": 0.1},
        {"W_k": (2, 8, False), "W_q": (20, 8, False), "w_v": (8, 1, False)},
    ),
    "MultiHeadAttention": (
        {"key_size": 2, "query_size": 20, "value_size": 4, "num_hiddens": 6, "num_heads": 3}
        | {"dropout": 0.5, "bias": True},
        {"num_hiddens": 6, "num_heads": 3, "dropout": 0.5, "bias": True},
        {"W_q": (20, 6, True), "W_k": (2, 6, True), "W_v": (4, 6, True), "W_o": (6, 6, True)},
    ),
    "PositionWiseFFN": (
        {"ffn_num_input": 20, "ffn_num_hiddens": 5, "ffn_num_outputs": 8},
        {"ffn_num_hiddens": 5, "ffn_num_outputs": 8},
        {"dense1": (20, 5, True), "dense2": (5, 8, True)},
    ),
}
"""Arguments of 0.17 and of 1.0 by class, and inputs, outputs and bias of each layer in order."""

SIZES: dict[str, dict[str, int]] = {
    "AdditiveAttention": {"query_size": 0, "key_size": 1},
    "MultiHeadAttention": {"query_size": 0, "key_size": 1, "value_size": 2},
    "PositionWiseFFN": {"ffn_num_input": 0},
}
"""The sizes by class, and which of the inputs each is of."""

GIVEN = (torch.randn(2, 1, 20), torch.randn(2, 10, 2), torch.randn(2, 10, 4), torch.tensor([2, 6]))
COUNTS = {"PositionWiseFFN": 1}


def inputs(name):
    return list(GIVEN[: COUNTS.get(name, 4)])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_layer_with_sizes_has_its_parameters_at_once(name, by_name):
    earlier, _, layers = CASES[name]
    torch.manual_seed(3)
    made = getattr(d2l, name)(**earlier) if by_name else getattr(d2l, name)(*earlier.values())
    torch.manual_seed(3)
    for layer, (size, outputs, bias) in layers.items():
        expected = nn.Linear(size, outputs, bias=bias)
        found = getattr(made, layer)
        assert type(found) is nn.Linear
        assert found.in_features == size
        assert found.state_dict().keys() == expected.state_dict().keys()
        assert all(
            value.equal(found.state_dict()[key]) for key, value in expected.named_parameters()
        )


@pytest.mark.parametrize("name", CASES)
def test_a_layer_with_sizes_is_the_one_without(name):
    earlier, now, _ = CASES[name]
    sized, lazy = getattr(d2l, name)(**earlier).eval(), getattr(d2l, name)(**now).eval()
    given, copied = inputs(name), copy.deepcopy(sized)
    lazy(*given)
    lazy.load_state_dict(sized.state_dict())
    for model in (sized, copied):
        assert model(*given).equal(lazy(*given))


@pytest.mark.parametrize(("name", "size"), [(name, size) for name in SIZES for size in SIZES[name]])
def test_inputs_of_another_size_are_refused(name, size):
    earlier = CASES[name][0]
    made = getattr(d2l, name)(**earlier)
    given = inputs(name)
    number = SIZES[name][size]
    given[number] = torch.cat((given[number], given[number][..., :1]), dim=-1)
    sentence = f"the inputs must have {size}={earlier[size]} features, got {earlier[size] + 1}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        made(*given)


def test_a_bias_is_left_out_by_default():
    sizes: Any = (100, 100, 100, 100, 5, 0.5)
    attention = d2l.MultiHeadAttention(*sizes)
    assert {key.rpartition(".")[2] for key in attention.state_dict()} == {"weight"}
    assert attention.W_q.in_features == 100


@pytest.mark.parametrize("name", CASES)
def test_other_arguments_are_told_both_calls(name):
    earlier, now, _ = CASES[name]
    for given in ({}, {**now, "size": 3}, {**earlier, "size": 3}):
        with pytest.raises(TypeError) as refused:
            getattr(d2l, name)(**given)
        assert f"The call is {name}({', '.join(now)}) as in d2l 1.0" in str(refused.value)
        assert f"or {name}({', '.join(earlier)}) as in 0.17" in str(refused.value)
