"""The Python of the claims that ship: decisions on runs of known truth, and computed points."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from shipped_claims import own_of

from attnexp.attention.multihead import MultiHead
from attnexp.claims.evidence import Evidence, Point
from attnexp.core.errors import RequestError
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.runs import files
from attnexp.scores.scaled_dot import ScaledDot

Rate, errors_of, slope_of = (
    getattr(own_of("nw_rate"), name) for name in ("Rate", "errors_of", "slope_of")
)
SameMinimum, minima = (
    getattr(own_of("learned_width_is_cross_validation"), name) for name in ("SameMinimum", "minima")
)
Stages = own_of("induction_in_stages").Stages

X = np.linspace(0, 5, 51)
RATE: dict[str, Any] = {
    "expected": -0.8,
    "tolerance": 0.05,
    "low": 1,
    "high": 4,
    "shown": {"whole": [0, 5]},
}
one_symbol_fades = own_of("one_symbol_fades").one_symbol_fades
rank = own_of("rank_collapse")
capacity = own_of("associative_capacity")
sinks = own_of("sinks_are_necessary")
kernels = own_of("sparse_is_a_kernel")
ends = own_of("local_linear_at_the_ends")
variance_of_scores = own_of("scale_and_width").variance_of_scores


@pytest.fixture
def curve_of(loaded):
    """Writes a run whose squared error is one number inside 1 to 4, and another at the ends."""

    def write(size, seed, error, ends, width=1.0):
        run = loaded({"seed": seed, "data.num_train": size, "model.width": width})
        inside = (X >= 0.999) & (X <= 4.001)
        off = np.sqrt(np.where(inside, error, ends))
        rows = [
            {"x": float(x), "truth": 0.0, "prediction": float(o)}
            for x, o in zip(X, off, strict=True)
        ]
        files.write_rows(run.folder / files.PREDICTIONS, rows)
        return run

    return write


@pytest.fixture
def two_widths(curve_of):
    """Runs at two sizes and two widths: the error is least at the first width, then the second."""
    errors = [(10, 1.0, 1.0), (10, 2.0, 2.0), (100, 1.0, 5.0), (100, 2.0, 0.1)]
    return [
        curve_of(size, seed, error, 1.0, width) for seed in (0, 1) for size, width, error in errors
    ]


@pytest.fixture
def falling(curve_of):
    def runs(slope, seeds=10, noise=0.01):
        rng = np.random.default_rng(0)
        return [
            curve_of(size, seed, size**slope * np.exp(rng.normal(0, noise)), size**-0.5)
            for seed in range(seeds)
            for size in (100, 1000, 10000)
        ]

    return runs


def test_a_rate_that_is_within_tolerance_is_reproduced(falling):
    verdict = Rate(**RATE).decide(Evidence(falling(-0.8)))
    assert verdict.word == "reproduced"
    assert "the slope is -0.8" in verdict.because
    assert "over 10 seeds, where -0.8 is claimed" in verdict.because
    ((name, text),) = verdict.shown
    assert name == "whole"
    assert text.startswith("-0.")


def test_another_rate_is_not(falling):
    assert Rate(**RATE).decide(Evidence(falling(-0.6))).word == "not reproduced"


def test_few_or_noisy_seeds_cannot_tell(falling):
    runs = falling(-0.8, noise=1.0)
    few = Rate(**RATE).decide(Evidence([run for run in runs if run.seed == 0]))
    assert (few.word, few.more_seeds) == ("cannot tell", 5)
    noisy = Rate(**RATE).decide(Evidence(runs))
    assert noisy.word == "cannot tell"
    assert noisy.more_seeds > 10
    assert noisy.text == f"cannot tell: {noisy.more_seeds} more seeds"


def test_the_best_width_of_each_size_counts(two_widths):
    slope, reach, seeds = slope_of(errors_of(two_widths, 1, 4))
    assert slope == pytest.approx(-1.0)
    assert reach == pytest.approx(0.0, abs=1e-12)
    assert seeds == 2


def test_the_interval_of_a_slope_covers_it():
    """Errors of seeds from the exponential distribution, whose logarithm is far from normal."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        table = {n: n**-0.8 * rng.exponential(size=20) for n in (100, 1000, 10000)}
        errors = {1.0: {n: dict(enumerate(values.tolist())) for n, values in table.items()}}
        slope, reach, _ = slope_of(errors)
        held += abs(slope + 0.8) <= reach
    assert held / 300 > 0.9


def test_points_of_a_step_are_a_part_of_those_that_were_tested(curve_of):
    run = curve_of(10, 0, 1.0, 3.0)
    (by_size,) = errors_of([run], 0, 4, 1.0).values()  # x = 0, 1, 2, 3, 4
    assert by_size[10][0] == pytest.approx((3 + 4 * 1) / 5)
    with pytest.raises(RequestError, match="was not tested on 7 <= x <= 8"):
        errors_of([run], 7, 8)


def test_a_rate_is_refused_where_there_is_no_curve(loaded):
    with pytest.raises(RequestError, match="has no predictions of a curve"):
        Rate(**RATE).decide(Evidence([loaded({})]))


@pytest.fixture
def searched(loaded):
    """Runs of a grid with given errors by width, and a learned one."""

    def run(model, seed, width, error):
        settings = {"seed": seed, "model.width": float(width)}
        return loaded(settings, choices={"model": model}, metrics={"loo_mse": error})

    def write(learned, grid):
        runs = [run("learned", seed, 1, error) for seed, error in enumerate(learned)]
        for seed, errors in enumerate(grid):
            runs += [run("grid", seed, *point) for point in enumerate(errors, start=1)]
        return SameMinimum("loo_mse", "learned", "grid", 0.001).decide(Evidence(runs))

    return write


ONE, TWO = [3.0, 1.0, 2.0], [3.0, 1.0, 2.0, 1.5, 4.0]


def test_the_curve_of_a_minimum_is_the_grid(loaded):
    fields = {"choices": {"model": "grid"}, "metrics": {"loo_mse": 0.25}}
    runs = [loaded({"seed": 3, "model.width": 2.0}, **fields)]
    runs.append(loaded({"seed": 3}, choices={"model": "learned"}))
    decision = SameMinimum("loo_mse", "learned", "grid", 0.001)
    assert decision.curves(Evidence(runs)) == [Point(3, "grid", 2.0, 0.25)]


def test_minima_are_places_lower_than_their_neighbours():
    assert minima(dict(enumerate(ONE))) == [1.0]
    assert minima(dict(enumerate(TWO))) == [1.0, 1.5]
    assert minima({1.0: 1.0, 2.0: 2.0}) == [1.0]


@pytest.mark.parametrize(
    ("learned", "grid", "word"),
    [
        ([0.9995, 1.0005] * 3, [ONE] * 6, "reproduced"),
        ([1.0] * 6 + [1.5], [ONE] * 6 + [TWO], "reproduced"),  # in the other of two minima
        ([1.0] * 5 + [1.5], [ONE] * 6, "cannot tell"),
        ([1.0] * 19 + [1.5], [ONE] * 20, "reproduced"),  # nearly all of many
        ([1.5] * 5 + [1.0], [ONE] * 6, "cannot tell"),
        ([1.5] * 6, [ONE] * 6, "not reproduced"),
        ([1.0] * 5, [ONE] * 5, "cannot tell"),
        ([1.5] * 20, [TWO] * 20, "cannot tell"),  # no seed decides
        ([1.5005] * 20, [TWO] * 20, "cannot tell"),  # to within the tolerance of a thousandth
        ([2.5] * 20, [TWO] * 20, "not reproduced"),  # two minima, and in neither
        ([1.4] * 20, [TWO] * 20, "not reproduced"),
        ([1.5] * 6 + [2.5] * 6, [TWO] * 12, "not reproduced"),
    ],
)
def test_a_minimum_is_the_same_or_not(searched, learned, grid, word):
    assert searched(learned, grid).word == word


@pytest.fixture
def staged(loaded):
    def write(*courses):
        runs = [loaded({"seed": seed}) for seed in range(len(courses))]
        for run, course in zip(runs, courses, strict=True):
            rows = [
                {"epoch": i, "step": 25 * i, "val_early": early, "val_late": late}
                for i, (early, late) in enumerate(course, start=1)
            ]
            files.write_rows(run.folder / files.METRICS, rows)
        return Stages("val_early", "val_late", 0.03, "seed >= 0").decide(Evidence(runs))

    return write


WITH = [(0.2, 0.3), (0.02, 0.06), (0.05, 0.01)]
AT_ONCE = [(0.2, 0.3), (0.05, 0.01), (0.05, 0.01)]
BACK = [(0.02, 0.06), (0.05, 0.01), (0.02, 0.06)]
NEVER = [(0.2, 0.3), (0.02, 0.06), (0.02, 0.06)]


@pytest.mark.parametrize(
    ("courses", "word"),
    [
        ([WITH] * 6, "reproduced"),
        ([WITH] * 5, "cannot tell"),
        ([WITH] * 5 + [AT_ONCE], "cannot tell"),
        ([WITH] * 19 + [AT_ONCE], "reproduced"),
        ([BACK, AT_ONCE] * 3, "not reproduced"),
        ([NEVER] * 9 + [WITH], "not reproduced"),
    ],
)
def test_stages_are_there_or_not(staged, courses, word):
    assert staged(*courses).word == word


def test_the_steps_of_stages_are_shown(staged):
    verdict = staged(WITH, WITH, WITH)
    assert dict(verdict.shown)["seed 2"] == "val_early from step 50 on, val_late from 75 on"


def test_columns_that_were_not_logged_decide_nothing(loaded):
    runs = [loaded({"seed": seed}) for seed in range(3)]
    decision = Stages("val_early", "val_late", 0.03, "seed >= 0")
    with pytest.raises(RequestError, match="logged no step and no val_early and no val_late"):
        decision.decide(Evidence(runs))


def test_the_curves_of_a_rate_are_errors_at_the_best_width(two_widths):
    points = Rate(**RATE | {"shown": {}}).curves(Evidence(two_widths))
    assert {(p.seed, p.curve, p.x, round(p.y, 6)) for p in points} == {
        (seed, "1 <= x <= 4", *point) for seed in (0, 1) for point in [(10, 1.0), (100, 0.1)]
    }


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


def test_the_errors_at_the_ends_are_those_of_averages_and_lines_by_numpy(monkeypatch):
    """One width, so that there is nothing to choose."""
    for name, value in {"DRAWS": 4, "AT_ONCE": 2, "LEAST": 4.0, "MOST": 4.0}.items():
        monkeypatch.setattr(ends, name, value)
    found = {(name, n): y for name, n, y in ends.local_linear_at_the_ends(3, [60, 90])}
    generator = torch.Generator().manual_seed(3)
    errors: dict[tuple[str, int], list[float]] = {}
    for n in (60, 90):
        for _ in range(2):
            x = 5 * torch.rand(2, n, 1, generator=generator, dtype=torch.float64)
            e = torch.randn(x.shape, generator=generator, dtype=torch.float64)
            for own_x, own_e in zip(x.squeeze(2).numpy(), e.squeeze(2).numpy(), strict=True):
                y = 2 * np.sin(own_x) + own_x**0.8 + 0.5 * own_e
                for place, at in {"at the end": 5.0, "inside": 2.5}.items():
                    root = np.exp(-((4 * (own_x - at)) ** 2) / 4)
                    truth = 2 * math.sin(at) + at**0.8
                    average = np.polyfit(own_x - at, y, 0, w=root)[-1]
                    line = np.polyfit(own_x - at, y, 1, w=root)[-1]
                    for kind, answer in (("local constant", average), ("local linear", line)):
                        errors.setdefault((f"{kind}, {place}", n), []).append((answer - truth) ** 2)
    for key, squares in errors.items():
        assert found[key] == pytest.approx(np.mean(squares), rel=1e-4)
    one, other = (found["local linear, at the end", n] for n in (60, 90))
    slope = math.log(other / one) / math.log(90 / 60)
    assert found["slope, local linear, at the end", 90] == pytest.approx(slope)
    ratio = found["local linear, inside", 60] / found["local constant, inside", 60]
    assert found["ratio, inside", 60] == pytest.approx(ratio)
