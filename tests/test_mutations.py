"""The faults of `tests/mutations.py` can be put in."""

import pytest
from conftest import ROOT
from mutations import FAULTS


@pytest.mark.parametrize(("file", "right", "wrong"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_a_fault_is_in_one_place_and_changes_it(file, right, wrong):
    assert (ROOT / "attnexp" / file).read_text().count(right) == 1
    assert right != wrong
    assert (ROOT / "tests" / file.split("/")[0]).is_dir()
