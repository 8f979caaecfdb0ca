"""The tests of my_data.py: run `pytest` in this folder, or `attnexp exercise check . --trust`."""

import pytest
import torch
from my_data import Jump

from attnexp.data.contract import DATA_CONTRACT


@pytest.mark.parametrize("check", DATA_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check):
    check(Jump)


def test_worked_case():
    test = Jump(torch.Generator().manual_seed(0), step=1).test
    assert test.queries.flatten().tolist() == [0, 1, 2, 3, 4]
    found = [round(target, 6) for target in test.targets.flatten().tolist()]
    expected = [0, 0.909297, -0.756802, 1.720585, 2.989358]
    assert found == pytest.approx(expected, abs=1e-4), (
        f"the targets at 0, 1, 2, 3 and 4 are {found}, expected {expected}"
    )
