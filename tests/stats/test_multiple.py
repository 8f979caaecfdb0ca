"""Holm's adjustment of several p values."""

import pytest

from attnexp.stats.multiple import holm


def test_holm_by_hand():
    """3 x 0.01, 2 x 0.03, and 1 x 0.04, which is not less than the one before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
