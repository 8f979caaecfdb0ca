"""The farthest weights with the same weighted mean, against plain loops and random ones."""

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnexp.probe import farthest as module
from attnexp.probe.farthest import farthest


def jsd(p, q):
    """The Jensen-Shannon divergence, term by term."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        total += a * math.log(2 * a / (a + b)) / 2 if a else 0.0
        total += b * math.log(2 * b / (a + b)) / 2 if b else 0.0
    return total


def by_loops(weights, values, near):
    """The largest divergence over all weights of one key, and of two at a bound."""
    n, answer = len(weights), sum(w * v for w, v in zip(weights, values, strict=True))
    best = 0.0
    for i in range(n):
        for j in range(n):
            for bound in (answer - near, answer + near):
                if i == j and abs(values[i] - answer) <= near:
                    share = 1.0
                elif values[i] < bound < values[j]:
                    share = (values[j] - bound) / (values[j] - values[i])
                else:
                    continue
                other = [0.0] * n
                other[j] += 1 - share
                other[i] += share
                best = max(best, jsd(other, weights))
    return best


def one(weights, values, near, valid=None):
    own = torch.tensor([weights], dtype=torch.float64)
    allowed = torch.ones_like(own, dtype=torch.bool) if valid is None else torch.tensor([valid])
    (distance,), (exact,) = farthest(own, allowed, torch.tensor(values, dtype=torch.float64), near)
    return float(distance), bool(exact)


def drawn(seed, n):
    """Weights, some of them 0 or equal, and values, some of them equal."""
    draw = random.Random(seed)
    values = [draw.choice([0.0, 1.0, draw.gauss(0, 1), draw.gauss(0, 1)]) for _ in range(n)]
    weights = [draw.choice([0.0, 1.0, draw.random(), math.exp(-9 * draw.random())]) for _ in values]
    weights[0] += 0.1
    return [weight / sum(weights) for weight in weights], values


def test_two_keys_by_hand():
    """Between 0 and 1 an answer of 0.5 may go to 0.6: the weights are then 0.4 and 0.6."""
    assert one([0.5, 0.5], [0.0, 1.0], 0.1)[0] == pytest.approx(jsd([0.4, 0.6], [0.5, 0.5]))
    assert one([0.5, 0.5], [0.0, 1.0], 1.0)[0] == pytest.approx(jsd([1.0, 0.0], [0.5, 0.5]))
    assert one([0.5, 0.5], [0.0, 1.0], 0.0)[0] == pytest.approx(0, abs=1e-12)
    assert one([0.5, 0.5, 0.0], [0.0, 1.0, 0.5], 0.0)[0] == pytest.approx(math.log(2))


@pytest.mark.parametrize("near", [1e-3, 0.01, 0.3])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_all_pairs_in_plain_loops_find_no_more(n, near):
    for seed in range(30):
        weights, values = drawn(seed, n)
        found, exact = one(weights, values, near)
        assert exact
        assert found == pytest.approx(by_loops(weights, values, near), abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 8), st.sampled_from([0.01, 0.3]))
@settings(deadline=None, max_examples=50)
def test_no_random_weights_with_the_same_answer_are_farther(seed, n, near):
    weights, values = drawn(seed, n)
    answer = sum(w * v for w, v in zip(weights, values, strict=True))
    found, _ = one(weights, values, near)
    draw = random.Random(seed)
    for _ in range(100):
        other = [draw.random() ** draw.choice([1, 20]) for _ in range(n)]
        other = [each / sum(other) for each in other]
        moved = abs(sum(w * v for w, v in zip(other, values, strict=True)) - answer)
        # on the way to the learned weights the answer comes as near as it must
        step = 1.0 if moved <= near else near / moved
        mixed = [(1 - step) * w + step * o for w, o in zip(weights, other, strict=True)]
        assert jsd(mixed, weights) <= found + 1e-9


def test_keys_that_are_not_valid_have_no_weight():
    hidden = one([0.5, 0.5, 0.0], [0.0, 1.0, 0.5], 0.1, [True, True, False])
    assert hidden == one([0.5, 0.5], [0.0, 1.0], 0.1)


def test_a_row_has_its_own_sum():
    """With the sum 2 an answer of 1 may go to 1.2, which is a mean of 0.6."""
    assert one([1.0, 1.0], [0.0, 1.0], 0.2)[0] == pytest.approx(one([0.5, 0.5], [0.0, 1.0], 0.1)[0])
    assert one([0.0, 0.0], [0.0, 1.0], 0.1) == (0.0, True)


def test_blocks_change_nothing(monkeypatch):
    rows = [drawn(seed, 40) for seed in range(10)]
    whole = [one(weights, values, 0.01) for weights, values in rows]
    monkeypatch.setattr(module, "PAIRS", 7)
    assert [one(weights, values, 0.01) for weights, values in rows] == whole


def test_with_too_many_keys_the_lightest_are_looked_at(monkeypatch):
    """Weights that fall with the distance from the answer leave no key out."""
    values = [(-1) ** i * (1 + 0.1 * i) for i in range(20)]
    weights = [math.exp(-0.1 * i) for i in range(20)]
    weights = [weight / sum(weights) for weight in weights]
    whole, exact = one(weights, values, 0.01)
    assert exact
    monkeypatch.setattr(module, "KEYS", 3)
    some, exact = one(weights, values, 0.01)
    assert not exact
    assert 0.5 * whole < some <= whole


def test_ten_thousand_keys_take_little_time_and_memory():
    generator = torch.Generator().manual_seed(0)
    x = torch.linspace(0, 5, 10_000, dtype=torch.float64)
    queries = torch.tensor([[1.0], [4.0]], dtype=torch.float64)
    weights = (-((queries - x) ** 2)).softmax(dim=-1)
    values = x.sin() + 0.5 * torch.randn(len(x), generator=generator, dtype=torch.float64)
    distances, exact = farthest(weights, torch.ones_like(weights).bool(), values, 0.01)
    assert exact.all()
    assert (distances > 0.69).all()
