"""What claims compute without training, by hand where there is a hand."""

import math

import mpmath
import pytest
import torch
from shipped_claims import own_of

from attnexp.attention.multihead import MultiHead
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.scores.scaled_dot import ScaledDot

one_symbol_fades = own_of("one_symbol_fades").one_symbol_fades
rank = own_of("rank_collapse")
capacity = own_of("associative_capacity")
sinks = own_of("sinks_are_necessary")
kernels = own_of("sparse_is_a_kernel")
variance_of_scores = own_of("scale_and_width").variance_of_scores


def by_curve(points):
    found = {}
    for curve, x, y in points:
        found.setdefault(curve, {})[x] = y
    return found


def test_one_symbol_fades_by_hand():
    """One score at c and n - 1 at -c: e^c / (e^c + (n - 1) e^-c)."""
    found = by_curve(one_symbol_fades(0, 1.5, [4, 100]))
    for n in (4, 100):
        expected = math.exp(1.5) / (math.exp(1.5) + (n - 1) * math.exp(-1.5))
        assert found["softmax, at best"][n] == pytest.approx(expected)
        # scores times log n: n^c / (n^c + (n - 1) n^-c)
        scaled = n**1.5 / (n**1.5 + (n - 1) * n**-1.5)
        assert found["log_length, at best"][n] == pytest.approx(scaled)
        assert found["sparsemax, at best"][n] == 1.0
        assert found["softmax, at random"][n] < expected
    assert found["bound"] == {4: 1.0, 100: pytest.approx(math.exp(3) / 100)}
    assert found["largest softmax over bound"][0] == pytest.approx(
        100 * found["softmax, at best"][100] / math.exp(3)
    )


def test_the_residual_is_what_is_left_of_the_mean():
    zero, ones = torch.zeros(1, 1, 2), torch.ones(1, 1, 2)
    assert rank.of_parts(ones, torch.zeros(1, 3, 2)) == 0.0
    # rows (1, 0) and (-1, 0): their mean is zero
    assert rank.of_parts(zero, torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])) == 1.0
    # rows (3, 0) and (1, 0): the mean is (2, 0), so sqrt(2) of sqrt(10)
    rest = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]], dtype=torch.float64)
    two = torch.tensor([[[2.0, 0.0]]], dtype=torch.float64)
    assert rank.of_parts(two, rest) == pytest.approx(math.sqrt(0.2))
    assert rank.of_parts(two, rest * 1e-200) == pytest.approx(0.5e-200)


def exact_residuals(layers, x, heads):
    """The residuals of a stack of attention, in 200 digits: |X - 1 m'|/|X| after each layer."""
    with mpmath.workdps(200):
        exact, found = mpmath.matrix(x.tolist()), []
        for layer in layers:
            q, k, v = (
                exact * mpmath.matrix(w.weight.T.tolist())
                for w in (layer.W_q, layer.W_k, layer.W_v)
            )
            size = q.cols // heads
            context = mpmath.matrix(q.rows, q.cols)
            for head in range(heads):
                own = slice(head * size, (head + 1) * size)
                scores = q[:, own] * k[:, own].T / mpmath.sqrt(size)
                weights = scores.apply(mpmath.exp)
                for i in range(q.rows):
                    row = weights[i, :] / sum(weights[i, :])
                    context[i, own] = row * v[:, own]
            exact = context * mpmath.matrix(layer.W_o.weight.T.tolist())
            means = [sum(exact[:, j]) / exact.rows for j in range(exact.cols)]
            apart = mpmath.matrix(
                [[exact[i, j] - means[j] for j in range(exact.cols)] for i in range(exact.rows)]
            )
            found.append(mpmath.mnorm(apart, "f") / mpmath.mnorm(exact, "f"))
    return [float(each) for each in found]


def test_the_residual_is_that_of_exact_numbers_far_below_rounding():
    torch.manual_seed(1)
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    layers = [MultiHead(ScaledDot, 8, heads=2).double().requires_grad_(False) for _ in range(5)]
    mean = x.mean(dim=-2, keepdim=True)
    rest, found = x - mean, []
    for layer in layers:
        mean, rest = rank.apart(layer, mean, rest)
        found.append(rank.of_parts(mean, rest))
    assert found == pytest.approx(exact_residuals(layers, x[0], heads=2), rel=1e-9)
    assert found[3] < 1e-20


def test_layers_begin_at_the_same_symbols_and_leave_the_generator():
    before = torch.get_rng_state()
    found = by_curve(rank.rank_collapse(3, depth=3, width=8, heads=2, symbols=5))
    assert torch.equal(torch.get_rng_state(), before)
    firsts = {curve[0] for name, curve in found.items() if not name.startswith("rate")}
    assert len(firsts) == 1
    assert found["attention alone"][2] < found["attention alone"][1] < firsts.pop()
    assert found == by_curve(rank.rank_collapse(3, depth=3, width=8, heads=2, symbols=5))


def test_dot_products_weigh_by_themselves():
    keys = torch.tensor([[[1.0, 1.0], [1.0, -1.0]]])
    answer, weights = capacity.by_dot_products(torch.tensor([[[2.0, 1.0]]]), keys, keys)
    assert answer.tolist() == [[[4.0, 2.0]]]  # 3 (1, 1) + 1 (1, -1)
    assert weights is None


def test_more_patterns_are_stored_by_steeper_weights():
    found = by_curve(capacity.associative_capacity(0, [8, 16], most=65536))
    assert found["dot products"][16] < found["squares"][16] < found["exponential"][16]
    # of two dimensions, the slope is the difference over the distance
    bits = math.log2(found["exponential"][16] / found["exponential"][8]) / 8
    assert found["bits a dimension, exponential"] == {16: pytest.approx(bits)}


def test_a_capacity_beyond_the_search_is_not_measured():
    found = by_curve(capacity.associative_capacity(0, [4, 6, 8, 16], most=64))
    assert 16 not in found["exponential"]
    assert max(found["exponential"].values()) < 64
    assert set(found["dot products"]) == {4, 6, 8, 16}
    # the slope by the normal equations, of the dimensions that were measured
    d = torch.tensor(list(found["exponential"]), dtype=torch.float64)
    bits = torch.tensor(list(found["exponential"].values()), dtype=torch.float64).log2()
    slope = (d - d.mean()) @ bits / ((d - d.mean()) @ (d - d.mean()))
    assert found["bits a dimension, exponential"][16] == pytest.approx(slope.item())


def test_the_rate_of_a_collapse_tells_cubing_from_averaging():
    found = by_curve(rank.rank_collapse(0, depth=4, width=48, heads=4, symbols=32))
    for curve in ("attention alone", "attention alone, Xavier"):
        r = found[curve]
        assert found[f"rate, {curve}"][3] == pytest.approx(math.log(r[4]) / math.log(r[3]))
        assert 3 < found[f"rate, {curve}"][3] < 3.5
        assert set(found[f"rate, {curve}"]) == {3}
    # a sum of the parts rounds at 2e-16
    assert 1e-19 < found["attention alone"][3] < 1e-17
    assert found["attention alone, Xavier"][1] > found["attention alone"][1]


def test_the_width_of_a_threshold_by_hand():
    """Scores 0 and -1: sparsemax has the weights 1 and 0, so tau = -1 and h^2 = 1 / b."""
    squares = torch.tensor([[0.0, 0.5]], dtype=torch.float64)
    weights = Sparsemax(heads=1)(-2.0 * squares)
    assert weights.tolist() == [[1.0, 0.0]]
    assert kernels.width_of(squares, weights, 2.0, power=1).tolist() == [0.5]
    # scores 0 and -1/2: the weights are 3/4 and 1/4, so tau = -3/4 and h^2 = 3/8
    weights = Sparsemax(heads=1)(-2.0 * squares / 2)
    assert kernels.width_of(squares / 2, weights, 2.0, power=1).tolist() == [0.375]


def test_kernels_and_normalizers_agree_where_they_should():
    found = by_curve(kernels.sparse_is_a_kernel(0, [9], 4.0))
    assert found["normalized relu, fixed width"][9] < 1e-12
    assert found["sparsemax, adaptive width"][9] < 1e-12
    assert found["entmax 1.5, adaptive width"][9] < 1e-12
    assert found["range of widths"][9] > 1.1


def test_the_variance_is_the_number_of_features():
    found = by_curve(variance_of_scores(0, [16, 64], points=1000))
    for curve in ("dot over d", "scaled_dot"):
        assert found[curve] == {16: pytest.approx(1, abs=0.05), 64: pytest.approx(1, abs=0.05)}


def test_answers_are_means_at_triggers_and_zero_elsewhere():
    symbols, trigger, targets = sinks.draw(50, torch.Generator().manual_seed(0))
    assert symbols.shape == (50, sinks.LENGTH, sinks.VECTOR + 3)
    vectors, marks = symbols.split([sinks.VECTOR, 3], dim=-1)
    assert (marks.sum(dim=-1) == 1).all()
    assert marks[:, 0, 0].all()
    assert not vectors[:, 0].any()
    assert torch.equal(marks[..., 1].bool(), trigger)
    assert 0.4 < trigger[:, 1:].double().mean() < 0.6
    assert not targets[~trigger].any()
    for example, place in trigger.nonzero().tolist():
        expected = vectors[example, 1 : place + 1].mean(dim=0)
        torch.testing.assert_close(targets[example, place], expected)


def test_a_sink_grows_where_rows_sum_to_one():
    found = by_curve(sinks.sinks_are_necessary(0, ["softmax", "relu"], [1], steps=150, every=50))
    assert set(found["softmax"]) == {50, 100, 150}
    assert found["softmax"][150] > 0.5
    assert found["relu"][150] < 0.1
    assert set(found["error, softmax"]) == {150}
    assert found["error, softmax"][150] < 0.5
