import pytest

from attnexp.plots.attention import _row_length


@pytest.mark.parametrize(("heads", "length"), [(1, 1), (4, 4), (6, 6), (7, 7), (8, 4), (12, 6)])
def test_many_heads_are_cut_into_equal_rows(heads, length):
    assert _row_length(heads) == length
