"""The comparison of large attention with its rivals."""

import sys
from dataclasses import replace

import pytest
import streaming
from rows import Row

ROW = Row(asks="a step", rival="theirs", ratios=[3.0], threads=1, wanted=2.0, more_is_better=True)


@pytest.mark.parametrize(("ratio", "code"), [(3.0, 0), (1.0, 1)])
def test_a_broken_bound_is_told_by_the_exit_code(ratio, code, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["streaming.py"])
    monkeypatch.setattr(streaming, "measure", lambda repeats: [replace(ROW, ratios=[ratio])])
    monkeypatch.setattr(streaming, "memory", lambda which: (1.0, 100.0)[which])
    assert streaming.main() == code
