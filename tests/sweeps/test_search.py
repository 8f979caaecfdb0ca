"""The search among tuned values finds what the procedure, written anew here, finds in a table."""

import itertools
import math
import random
from collections.abc import Mapping

import pytest

from attnexp.sweeps.overrides import Override
from attnexp.sweeps.search import Choice, Counts, Means, Search, number, numbers_beyond

BEYOND = 2
GIVEN = (1.0, 2.0, 4.0)
PLACES = range(-BEYOND, len(GIVEN) + BEYOND)
"""Where a number is, counted in ratios of two from the first that is given."""

Table = Mapping[tuple[int, ...], list[float | None]]
"""The losses of each number, or of each pair, by seed; None for a run that failed."""


def value(place: int) -> Override:
    return Override(f"w={2.0**place:g}", (2.0**place,))


def mean(losses: list[float | None]) -> float | None:
    known = [each for each in losses if each is not None]
    return sum(known) / len(known) if len(known) == len(losses) else None


def found_in(table: Table, first: int, every: int) -> tuple[dict, tuple | None, list[int]]:
    """Return the seeds of each place that the search tries, the choice, and where it is an end."""
    axes = len(next(iter(table)))
    places = {value(each): each for each in PLACES}
    at = lambda choice: tuple(places[each] for each in choice)  # noqa: E731

    def means(counts: Counts) -> Means:
        values = {each: mean(table[at(each)][:seeds]) for each, seeds in counts.items()}
        return Means("loss", higher=False, values=values, ties={}, higher_ties=False)

    given = [value(each) for each in range(len(GIVEN))]
    search = Search([given] * axes, [[*places]] * axes, first, every, means)
    counts = search.start()
    while more := search.more(counts):
        assert all(counts.get(each, 0) < seeds for each, seeds in more.items()), "never ends"
        counts |= more
    best = search.best(counts, means(counts))
    sides = [search.side(i, best, counts) for i in range(axes)] if best else []
    return {at(each): seeds for each, seeds in counts.items()}, best and at(best), sides


def expected_in(table: Table, first: int, every: int) -> tuple[dict, tuple | None, list[int]]:
    """Follow the procedure with places for values, a step at a time."""
    axes = len(next(iter(table)))
    seeds = dict.fromkeys(itertools.product(range(len(GIVEN)), repeat=axes), first)
    loss = lambda place, count: mean(table[place][:count])  # noqa: E731

    def ranked(places):
        measured = [(loss(each, seeds[each]), each) for each in places]
        return [each for own, each in sorted(p for p in measured if p[0] is not None)]

    def sides(place):
        found = []
        for axis, own in enumerate(place):
            moved = lambda to, axis=axis: (*place[:axis], to, *place[axis + 1 :])  # noqa: E731
            up = any(moved(to) in seeds for to in range(own + 1, PLACES.stop))
            down = any(moved(to) in seeds for to in range(PLACES.start, own))
            found.append(
                1 if own >= len(GIVEN) - 1 and not up else -1 if own <= 0 and not down else 0
            )
        return found

    def go_on(among, count):
        while best := next(iter(ranked(among())), None):
            for axis, side in enumerate(sides(best)):
                if side and best[axis] + side in PLACES:
                    seeds[(*best[:axis], best[axis] + side, *best[axis + 1 :])] = count
                    break
            else:
                return

    go_on(lambda: seeds, first)
    everywhere = lambda: [each for each in seeds if seeds[each] == every]  # noqa: E731
    among = lambda: everywhere() if ranked(everywhere()) else seeds  # noqa: E731
    if every > first and ranked(seeds):
        seeds.update(dict.fromkeys(ranked(seeds)[:2], every))
        go_on(among, every)
    best = next(iter(ranked(among())), None)
    return seeds, best, sides(best) if best else []


@pytest.mark.parametrize(
    ("optimum", "tried", "best", "side"),
    [
        (1, [0, 1, 2], 1, 0),
        (0, [-1, 0, 1, 2], 0, 0),
        (2, [0, 1, 2, 3], 2, 0),
        (3, [0, 1, 2, 3, 4], 3, 0),
        (4, [0, 1, 2, 3, 4], 4, 1),
        (5, [0, 1, 2, 3, 4], 4, 1),
        (-2, [-2, -1, 0, 1, 2], -2, -1),
        (-3, [-2, -1, 0, 1, 2], -2, -1),
    ],
)
@pytest.mark.parametrize("seen_at_first", [True, False])
def test_it_goes_up_to_two_values_beyond_an_end_and_says_what_remains_at_one(
    optimum, tried, best, side, seen_at_first
):
    """The first seed may show an optimum between those given: the two best are at 3 then."""
    towards = optimum if seen_at_first else 0.9 if optimum < 1 else 1.1
    losses = lambda place: [abs(place - towards + 0.01), *[10 * abs(place - optimum + 0.01)] * 2]  # noqa: E731
    counts, choice, sides = found_in({(each,): losses(each) for each in PLACES}, 1, 3)
    assert (sorted(each for (each,) in counts), choice, sides) == (tried, (best,), [side])
    assert counts[best,] == 3
    assert all(counts[each,] == 3 for each in tried if each not in range(3) and not seen_at_first)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize(("first", "every"), [(1, 1), (1, 3), (2, 4)])
def test_it_does_in_noise_what_the_procedure_says(axes, first, every):
    """A third of the tables have failed runs. Finals often choose what the first look did not."""
    drawn = random.Random(0)
    differ = ends = 0
    for case in range(150):
        optimum = [drawn.uniform(-4, 6) for _ in range(axes)]
        noise, failing = drawn.choice([0, 1, 4]), 0.2 * (case % 3 == 0)
        table: dict[tuple[int, ...], list[float | None]] = {
            place: [
                None
                if drawn.random() < failing
                else math.dist(place, optimum) + noise * drawn.random()
                for _ in range(every)
            ]
            for place in itertools.product(PLACES, repeat=axes)
        }
        found = found_in(table, first, every)
        assert found == expected_in(table, first, every)
        differ += found[1] != found_in({k: v[:first] for k, v in table.items()}, first, first)[1]
        ends += any(found[2])
    assert ends > 20
    assert every == first or differ > 20


@pytest.mark.parametrize(
    ("values", "losses", "side"),
    [
        ((1, 2, 3, 4), (5, 6, 7, 8), -1),
        ((4, 2, 3, 1), (8, 6, 7, 5), -1),
        ((1, 2, 3, 4), (8, 7, 6, 5), 1),
        ((1, 2, 3, 3), (8, 7, 6, 6), 1),
        ((1, 2, 3, 4), (6, 5, 7, 8), 0),
        ((1, 2, 3, 4), (5, 5, 7, 8), 0),  # the one next to it is as good
        ((4, 2, 3, 1), (5, 6, 5, 8), 0),
        ((1, 2), (5, 6), 0),
        (("a", "b", "c"), (5, 6, 7), 0),
        ((True, False, None), (5, 6, 7), 0),
    ],
)
def test_only_numbers_have_ends_and_an_even_row_has_none(values, losses, side):
    row = [Override(f"w={each}", (each,)) for each in values]
    known: dict[Choice, float | None] = {(o,): x for o, x in zip(row, losses, strict=True)}
    means = lambda few: Means("loss", False, {e: known[e] for e in few}, {}, False)  # noqa: E731
    search = Search([row], [row], 1, 1, means)
    best = min(known, key=lambda each: known[each] or math.inf)
    assert search.side(0, best, search.start()) == side
    assert search.more(search.start()) == {}, "there is no number beyond those of the axis"


@pytest.mark.parametrize(
    ("given", "further"),
    [
        ([1.0, 2.0, 4.0], [0.5, 0.25, 8, 16]),
        ([4.0, 1.0, 2.0], [0.5, 0.25, 8, 16]),
        ([1.0, 2.0, 20.0], [0.5, 0.25, 200, 2000]),
        ([1, 2, 4], []),
        ([1.0, 2.0], []),
        ([0.0, 1.0, 2.0], []),
        ([-1.0, 1.0, 2.0], []),
        ([math.nan] * 3, []),
    ],
)
def test_the_numbers_beyond_go_on_in_the_ratio_of_each_end(given, further):
    assert numbers_beyond(given, BEYOND) == pytest.approx(further)
    assert [number(Override(f"w={each}", (each,))) for each in further] == further
