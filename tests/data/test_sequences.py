import re
from itertools import permutations, product

import pytest
import torch

from attnexp.data.flip_flop import FlipFlop
from attnexp.data.mqmtar import MultiTokenRecall
from attnexp.data.nback import NBack
from attnexp.data.sequences import Families, arrangements, draw_distinct, even_shares


def draw(total, families, seed=0):
    of = Families(dict(enumerate(families)), "these")
    return list(draw_distinct(total, of, torch.Generator().manual_seed(seed)).values())


@pytest.mark.parametrize("total", range(15))
def test_even_shares_are_as_even_as_the_rooms_allow(total):
    rooms = [3, 1, 6, 4]
    shares = even_shares(total, rooms)
    best = min(
        (
            sorted(cut, reverse=True)
            for cut in product(*(range(room + 1) for room in rooms))
            if sum(cut) == total
        ),
    )
    assert sorted(shares, reverse=True) == best
    assert all(share <= room for share, room in zip(shares, rooms, strict=True))


@pytest.mark.parametrize(("size", "chosen"), [(1, 1), (4, 1), (4, 3), (5, 5)])
def test_arrangements_are_all_ordered_choices_once(size, chosen):
    digits = list(product(*(range(size - i) for i in range(chosen))))
    found = [tuple(row) for row in arrangements(torch.tensor(digits)).tolist()]
    assert sorted(found) == sorted(permutations(range(size), chosen))


@pytest.mark.parametrize("total", [1, 7, 30, 59, 60])
def test_drawn_rows_are_distinct_and_in_range(total):
    (rows,) = draw(total, [[3, 4, 5]])
    assert rows.shape == (total, 3)
    assert len(rows.unique(dim=0)) == total
    assert (rows >= 0).all()
    assert (rows < torch.tensor([3, 4, 5])).all()


def test_every_row_is_equally_likely():
    rows = torch.cat([draw(2, [[3, 5]], seed)[0] for seed in range(3000)])
    counts = torch.bincount(rows[:, 0] * 5 + rows[:, 1], minlength=15)
    expected = len(rows) / 15
    assert (counts - expected).abs().max() < 4 * expected**0.5


def test_families_share_evenly():
    sizes = [len(rows) for rows in draw(100, [[2], [10, 10], [3, 2], [20, 20]])]
    assert sizes == [2, 46, 6, 46]


def test_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="is 9, but these make only 8 different examples"):
        draw(9, [[2], [2, 3]])


@pytest.mark.parametrize(
    "asked", [{"test_lengths": [40, 90]}, {"test_min_length": 33, "test_max_length": 35}, {}]
)
@pytest.mark.parametrize("kind", [FlipFlop, MultiTokenRecall, NBack])
def test_lengths_that_were_asked_for_are_told_as_the_sources_have_them(kind, asked):
    sizes = {"num_train": 40, "num_validation": 40, "num_test": 40}
    data = kind(torch.Generator().manual_seed(0), **sizes, **asked)
    lengths = data.test.mask.sum(dim=-1).unique()
    if isinstance(data, MultiTokenRecall):
        lengths = lengths - 1  # the end symbol does not count
    told = re.findall(r"(\d+)(?: to (\d+))? for (\d+)(?: to (\d+))?", "".join(data.notes))
    found = [int(number) for pair in told for number in pair[:2] if number]
    wanted = [int(number) for pair in told for number in pair[2:] if number]
    assert found == (lengths[[0, -1]].tolist() if asked else [])
    assert wanted == ([*asked.get("test_lengths", [])] or [*asked.values()])
