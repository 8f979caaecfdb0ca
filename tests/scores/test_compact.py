"""The compact kernels at the edge of their support."""

import pytest
import torch

from attnexp.normalizers.softmax import Softmax
from attnexp.scores.biweight import Biweight
from attnexp.scores.epanechnikov import Epanechnikov
from attnexp.scores.parabola import Parabola
from attnexp.scores.triweight import Triweight


@pytest.mark.parametrize("kernel", [Epanechnikov, Parabola, Biweight, Triweight])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_at_the_edge(kernel, dtype):
    """Keys a rounding step inside the edge, on it and outside, with another key or alone."""
    edge = torch.tensor(1.0, dtype=dtype)
    inside = torch.nextafter(edge, torch.tensor(0.0, dtype=dtype))
    outside = torch.nextafter(edge, torch.tensor(2.0, dtype=dtype))
    score = kernel(1, 1, width="learned", initial_width=1.0).to(dtype)
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
