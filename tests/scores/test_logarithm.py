import math

import torch

from attnexp.scores.logarithm import log_positive


def test_is_the_logarithm_above_zero_and_minus_infinity_elsewhere():
    values = log_positive(torch.tensor([math.e, 1.0, 0.0, -2.0]))
    torch.testing.assert_close(values, torch.tensor([1.0, 0.0, -math.inf, -math.inf]))


def test_gradients_are_finite_next_to_zero():
    tiny = torch.finfo(torch.float32).tiny
    values = torch.tensor([0.0, tiny / 2, tiny, -1.0], requires_grad=True)
    log_positive(values).masked_fill(values < tiny, 0.0).sum().backward()
    assert values.grad.isfinite().all()
    assert (values.grad > 0).tolist() == [False, False, True, False]
