"""The tests of my_scores.py: run `pytest` in this folder, or `attnexp exercise check . --trust`."""

import pytest
import torch
from my_scores import Heavy

from attnexp.scores.contract import SCORE_CONTRACT


@pytest.mark.parametrize("check", SCORE_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check):
    check(Heavy)


def test_it_learns_one_number():
    count = sum(parameter.numel() for parameter in Heavy(1, 1).parameters())
    assert count == 1, f"the score has {count} learned numbers, expected 1"


@pytest.mark.parametrize(
    ("width", "query", "keys", "expected"),
    [
        (1.0, 0.0, [0.0, 1.0, 3.0], [0.625, 0.3125, 0.0625]),
        (2.0, 1.0, [1.0, 1.5, 0.0], [0.588235, 0.294118, 0.117647]),
    ],
    ids=["worked_case_1", "worked_case_2"],
)
def test_weights(width, query, keys, expected):
    score = Heavy(1, 1, initial_width=width)
    weights = score(torch.tensor([[query]]), torch.tensor(keys)[:, None]).softmax(dim=-1)[0]
    found = [round(weight, 6) for weight in weights.tolist()]
    assert found == pytest.approx(expected, abs=1e-4), (
        f"with the width {width} the weights are {found}, expected {expected}"
    )
