"""Restarted runs: what a dead attempt recorded does not count."""

import itertools
import random

import pytest

from attnexp.imported.attempts import LoggedPoint, TwoTrainingsError, last_attempt


def points(*steps, name="loss", file=0):
    return [LoggedPoint(step, {name: (file, step)}, file) for step in steps]


def kept(found):
    return [(point.step, point.file) for point in found]


def test_a_restart_voids_the_steps_from_its_first_on():
    found = last_attempt(points(0, 50, 100, 150) + points(100, 130, file=1))
    assert kept(found) == [(0, 0), (50, 0), (100, 1), (130, 1)]


def test_it_voids_other_numbers_too():
    dead = [*points(0, 50, 100, 150), *points(150, name="acc")]
    found = last_attempt([*dead, *points(100, 130, file=1)])
    assert (150, 0) not in kept(found)
    assert not any("acc" in point.values for point in found)


def test_numbers_of_the_new_attempt_do_not_void_each_other():
    first = [point for step in (0, 50, 100) for name in "ab" for point in points(step, name=name)]
    later = [p for step in (50, 70) for name in "ab" for p in points(step, name=name, file=1)]
    assert kept(last_attempt([*first, *later])) == [
        *((0, 0), (0, 0), (50, 1), (50, 1), (70, 1), (70, 1)),
    ]


def test_files_that_go_on_void_nothing():
    both = [*points(0, 1, 2), *points(3, 4, file=1), *points(0, 1, 2, name="other", file=2)]
    assert last_attempt(both) == both


def test_the_same_step_is_a_restart_in_another_file_alone():
    assert kept(last_attempt(points(0, 1, 1, 2))) == [(0, 0), (1, 0), (1, 0), (2, 0)]
    assert kept(last_attempt(points(0, 1, 2) + points(2, 3, file=1))) == [
        *((0, 0), (1, 0), (2, 1), (3, 1)),
    ]


@pytest.mark.parametrize("second", [(0, 1), (-1, 0), (0,)])
def test_two_trainings_are_not_one(second):
    with pytest.raises(TwoTrainingsError, match="loss goes back from step 2 to"):
        last_attempt(points(0, 1, 2) + points(*second, file=1))


def test_drawn_attempts_leave_what_was_recorded_last():
    """The oracle keeps a dictionary by step and throws away what is not before a restart."""
    draw = random.Random(0)
    for _ in range(300):
        recorded, wanted, start = [], {}, 0
        for attempt in range(draw.randint(1, 5)):
            steps = range(start, start + draw.randint(3, 9))
            if attempt:
                wanted = {step: value for step, value in wanted.items() if step < start}
            for step in steps:
                recorded.append(LoggedPoint(step, {"a": attempt, "b": step}))
                wanted[step] = attempt
            start = draw.randint(1, steps[-1] - 1)
        found = last_attempt(recorded)
        assert {point.step: point.values["a"] for point in found} == wanted
        assert [point.step for point in found] == sorted(wanted)


FIRST = [LoggedPoint(0, {"loss": 9}), LoggedPoint(0, {"acc": 1})]
VOID = [LoggedPoint(10, {"loss": 8}), LoggedPoint(10, {"acc": 2}), LoggedPoint(15, {"loss": 7})]
AGAIN = [LoggedPoint(10, {"loss": 6}), LoggedPoint(10, {"acc": 3}), LoggedPoint(10, {"late": 4})]


@pytest.mark.parametrize("file", [0, 1])
@pytest.mark.parametrize("again", [*itertools.permutations(AGAIN)])
def test_numbers_of_the_step_of_a_restart_count_in_any_order(again, file):
    again = [point._replace(file=file) for point in again]
    assert last_attempt([*FIRST, *VOID, *again]) == [*FIRST, *again]


def test_a_number_that_lags_behind_is_no_restart():
    points = [LoggedPoint(0, {"loss": 9}), LoggedPoint(10, {"loss": 8}), LoggedPoint(5, {"acc": 1})]
    assert last_attempt(points) == points
