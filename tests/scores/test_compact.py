"""The compact kernels at the edge of their support, and their learned width."""

import math
from functools import partial

import pytest
import torch

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.data.sine import Sine
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.biweight_learned import BiweightLearned
from attnexp.scores.epanechnikov_learned import EpanechnikovLearned
from attnexp.scores.parabola_learned import ParabolaLearned
from attnexp.scores.triweight_learned import TriweightLearned
from attnexp.tasks.regression import Regression
from attnexp.training.base import TrainSettings
from attnexp.training.loop import Training
from attnexp.training.optimizers import Rprop
from attnexp.training.schedules import Constant

LEARNED = [EpanechnikovLearned, ParabolaLearned, BiweightLearned, TriweightLearned]

HEIGHTS = {
    EpanechnikovLearned: lambda u: 1 - u,
    ParabolaLearned: lambda u: 1 - u**2,
    BiweightLearned: lambda u: (1 - u**2) ** 2,
    TriweightLearned: lambda u: (1 - u**2) ** 3,
}


@pytest.fixture(params=LEARNED)
def kernel(request):
    return request.param


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_at_the_edge(kernel, dtype):
    """Keys a rounding step inside the edge, on it and outside, with another key or alone."""
    edge = torch.tensor(1.0, dtype=dtype)
    inside = torch.nextafter(edge, torch.tensor(0.0, dtype=dtype))
    outside = torch.nextafter(edge, torch.tensor(2.0, dtype=dtype))
    score = kernel(1, 1, initial_width=1.0).to(dtype)
    for near in ([], [0.3]):
        keys = torch.stack([inside, edge, outside, *edge.new_tensor(near)]).unsqueeze(-1)
        queries = torch.zeros(1, 1, dtype=dtype)
        for leaf in (keys, queries):
            leaf.requires_grad_()
        score.zero_grad()
        weights = Softmax(heads=1)(score(queries, keys))
        assert weights[0, 0] > 0
        assert weights[0, 1:3].tolist() == [0, 0]
        (weights * torch.arange(1.0, len(keys) + 1, dtype=dtype)).sum().backward()
        for gradient in (keys.grad, queries.grad, score.width.grad):
            assert gradient.isfinite().all()
            assert gradient.abs().max() < 1e3


def test_first_width_is_drawn_between_0_and_1(kernel):
    widths = torch.stack([kernel(1, 1).width.detach() for _ in range(200)])
    assert (widths >= 0).all()
    assert (widths < 1).all()
    assert 0.4 < widths.mean() < 0.6


def test_the_sign_of_the_width_does_not_matter(kernel, vectors):
    plus, minus = (kernel(7, 7, initial_width=sign * 0.7).double() for sign in (1, -1))
    torch.testing.assert_close(plus(*vectors()), minus(*vectors()))


def test_learning_the_width_is_leave_one_out_cross_validation(kernel):
    """The learned width has the least error of a search that leaves out one point at a time."""
    data = Sine(torch.Generator().manual_seed(0))
    x, y = (part[0, :, 0].double().tolist() for part in (data.train.queries, data.train.targets))

    def error(width):
        total = 0.0
        for i in range(len(x)):
            heights = [
                HEIGHTS[kernel](width * abs(x[i] - x[j]))
                if j != i and width * abs(x[i] - x[j]) < 1
                else 0.0
                for j in range(len(x))
            ]
            others = [y[j] for j in range(len(x)) if j != i]
            answer = math.fsum(h * v for h, v in zip(heights, y, strict=True))
            reached = sum(heights) > 0
            answer = answer / sum(heights) if reached else sum(others) / len(others)
            total += (answer - y[i]) ** 2
        return total / len(x)

    torch.manual_seed(0)
    model = KernelRegression(data.spec, partial(kernel, initial_width=0.5))
    descent = partial(Rprop, lr=0.01, scalar_lr=1.0, max_step=1.0)
    recipe = (descent, Constant(), TrainSettings(max_epochs=100, tolerance=0.001))
    for row in Training(model, data, Regression(), *recipe, torch.Generator()).epochs():
        loss = row.loss
    learned = abs(model.pooling.score.width.item())
    assert error(learned) == pytest.approx(loss, rel=1e-3)
    least = min(error(0.5 * 1.02**step) for step in range(90))
    assert error(learned) < 1.001 * least
