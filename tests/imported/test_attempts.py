"""The attempt that counts, whatever the order in which numbers of one step were recorded."""

import itertools

import pytest

from attnexp.imported.attempts import Point, last_attempt

FIRST = [Point(0, {"loss": 9}), Point(0, {"acc": 1})]
VOID = [Point(10, {"loss": 8}), Point(10, {"acc": 2}), Point(15, {"loss": 7})]
AGAIN = [Point(10, {"loss": 6}), Point(10, {"acc": 3}), Point(10, {"late": 4})]


@pytest.mark.parametrize("file", [0, 1])
@pytest.mark.parametrize("again", [*itertools.permutations(AGAIN)])
def test_numbers_of_the_step_of_a_restart_count_in_any_order(again, file):
    again = [point._replace(file=file) for point in again]
    assert last_attempt([*FIRST, *VOID, *again]) == [*FIRST, *again]


def test_a_number_that_lags_behind_is_no_restart():
    points = [Point(0, {"loss": 9}), Point(10, {"loss": 8}), Point(5, {"acc": 1})]
    assert last_attempt(points) == points
