"""The search among tuned values finds what the procedure, written anew here, finds in a table."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from attnexp.sweeps.overrides import Override
from attnexp.sweeps.search import Choice, Counts, Means, Search, number, numbers_beyond

BEYOND = 2
GIVEN = (1.0, 2.0, 4.0)
PLACES = range(-BEYOND, len(GIVEN) + BEYOND)
"""Where a number is, counted in ratios of two from the first that is given."""

TEXTS = ["a", "b", "c"]
"""Values that are no numbers."""

Table = Mapping[Any, list[float | None]]
"""A number of each value, or of each pair, by seed; None for a run that failed."""


@dataclass(frozen=True)
class Study:
    """The numbers that a search would see, at its first seeds and at all of them.

    `losses` decide among ties, where they are known; text has no place beyond those given.
    """

    table: Table
    first: int
    every: int
    given: Sequence[Sequence[Any]]
    losses: Table = field(default_factory=dict)
    higher: bool = False
    higher_losses: bool = False


def value(place: int | str) -> Override:
    shown = place if isinstance(place, str) else 2.0**place
    return Override(f"w={shown:g}" if isinstance(shown, float) else f"w={shown}", (shown,))


def mean(numbers: Sequence[float | None]) -> float | None:
    known = [each for each in numbers if each is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(numbers) else None


def found_in(study: Study) -> tuple[dict, tuple | None, list[int]]:
    """Return the seeds of each place that the search tries, the choice, and where it is an end."""
    places = {value(each): each for each in (*PLACES, *TEXTS)}
    at = lambda choice: tuple(places[each] for each in choice)  # noqa: E731

    def means(counts: Counts) -> Means:
        values = {each: mean(study.table[at(each)][:seeds]) for each, seeds in counts.items()}
        losses = {each: mean(study.losses.get(at(each), [])[:n]) for each, n in counts.items()}
        ties = {each: loss for each, loss in losses.items() if loss is not None}
        return Means("m", study.higher, values, ties, study.higher_losses)

    starts = [[value(each) for each in given] for given in study.given]
    further = [own if isinstance(own[0], str) else [*own, *PLACES] for own in study.given]
    numbers = [[value(each) for each in own] for own in further]
    search = Search(starts, numbers, study.first, study.every, means)
    counts = search.start()
    while more := search.more(counts):
        assert all(counts.get(each, 0) < seeds for each, seeds in more.items()), "never ends"
        counts |= more
    best = search.best(counts, means(counts))
    sides = [search.side(i, best, counts) for i in range(len(starts))] if best else []
    return {at(each): seeds for each, seeds in counts.items()}, best and at(best), sides


def winner(study: Study, places: list, count: int) -> tuple | None:
    """Return the best of places at so many seeds, by the words of the documentation."""
    up = 1 if study.higher else -1
    known = {each: up * m for each in places if (m := mean(study.table[each][:count])) is not None}
    if not known:
        return None
    ranked = sorted(known, key=lambda each: -known[each])  # of equals the first stays the first
    top = known[ranked[0]]
    close = [each for each in places if each in known and top - known[each] <= abs(top) / 100]
    found = [mean(study.losses.get(each, [])[:count]) for each in close]
    losses = [-loss if study.higher_losses else loss for loss in found if loss is not None]
    if len(close) == 1 or len(losses) < len(close):
        return ranked[0]
    return close[losses.index(min(losses))]


def expected_in(study: Study) -> tuple[dict, tuple | None, list[int]]:
    """Follow the procedure with places for values, a step at a time."""
    seeds = dict.fromkeys(itertools.product(*study.given), study.first)

    def even(place, other):
        count = min(seeds[place], seeds[other])
        tables = study.table, study.losses
        own, its = ([mean(t.get(p, [])[:count]) for t in tables] for p in (place, other))
        return own == its

    def side(place, axis):
        given = {*study.given[axis]}
        if isinstance(place[axis], str) or len(given) < 3:
            return 0
        line = {
            p[axis]: p for p in seeds if all(p[i] == place[i] for i in {*range(len(p))} - {axis})
        }
        for way, end in ((1, max), (-1, min)):
            if place[axis] == end(line) and way * place[axis] >= way * end(given):
                others = [each for each in line if each != place[axis]]
                return 0 if others and even(place, line[end(others)]) else way
        return 0

    def sides(place):
        return [side(place, axis) for axis in range(len(place))]

    def best():
        most = max(seeds.values())
        everywhere = [each for each in seeds if seeds[each] == most]
        if found := winner(study, everywhere, most):
            return found
        return next(iter(two()), None)

    def two():
        """The two best of all places, each at its own seeds: the second is the best without it."""
        own = {p: study.table[p][:n] for p, n in seeds.items()}
        cut = {p: study.losses.get(p, [])[:n] for p, n in seeds.items()}
        seen = replace(study, table=own, losses=cut)
        one = winner(seen, [*seeds], study.every)
        other = winner(seen, [p for p in seeds if p != one], study.every)
        return [each for each in (one, other) if each]

    def go_on(count):
        while place := best():
            ways = ((axis, way) for axis, way in enumerate(sides(place)) if way)
            step = next(((axis, w) for axis, w in ways if place[axis] + w in PLACES), None)
            if step is None:
                return
            axis, way = step
            seeds[(*place[:axis], place[axis] + way, *place[axis + 1 :])] = count

    go_on(study.first)
    if study.every > study.first and two():
        seeds.update(dict.fromkeys(two(), study.every))
        go_on(study.every)
    last = best()
    return seeds, last, sides(last) if last else []


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
    table = {(each,): losses(each) for each in PLACES}
    counts, choice, sides = found_in(Study(table, 1, 3, [range(3)]))
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
        study = Study(table, first, every, [range(len(GIVEN))] * axes)
        found = found_in(study)
        assert found == expected_in(study)
        differ += found[1] != found_in(replace(study, every=first))[1]
        ends += any(found[2])
    assert ends > 20
    assert every == first or differ > 20


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize(("first", "every"), [(1, 1), (1, 3)])
def test_it_chooses_among_ties_text_and_values_given_twice_as_the_procedure_says(
    higher, first, every
):
    """Means are equal, or apart by a tenth of a percent and more: losses decide up to a percent."""
    drawn, seen = random.Random(0), Counter[str]()
    numbered = lambda place: place if isinstance(place, int) else 0  # noqa: E731
    for case in range(300):
        given = [
            drawn.choices(kind, k=drawn.randint(2, 6))
            for kind in drawn.choices((range(3), TEXTS), k=2)
        ]
        places = [[*PLACES] if isinstance(own[0], int) else TEXTS for own in given]
        failing = 0.1 * (case % 3 == 0)
        table, losses = (
            {
                place: [
                    None
                    if drawn.random() < failing
                    else 1 + 0.004 * drawn.randint(0, most) + slope * sum(map(numbered, place))
                    for _ in range(every)
                ]
                for place in itertools.product(*places)
            }
            for most, slope in ((drawn.choice([1, 2, 5]), drawn.choice([0, 0.03, -0.03])), (3, 0))
        )
        known = {} if case % 4 == 0 else losses
        study = Study(table, first, every, given, known, higher, drawn.random() < 0.5)
        found = found_in(study)
        assert found == expected_in(study), study
        plain, other = (
            found_in(replace(study, **one)) for one in ({"losses": {}}, {"higher": not higher})
        )
        seen["the losses decide"] += plain[1] != found[1]
        seen["the direction decides"] += other[1] != found[1]
        seen["an end"] += any(found[2])
        seen["beyond an end"] += any(p not in {*itertools.product(*given)} for p in found[0])
        seen["twice"] += any(len({*own}) < len(own) for own in given)
    assert min(seen.values()) > 20, seen


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
