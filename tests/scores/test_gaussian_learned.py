import torch

from attnexp.scores.gaussian import Gaussian
from attnexp.scores.gaussian_learned import GaussianLearned


def test_equals_the_gaussian_of_its_width(vectors):
    learned = GaussianLearned(7, 7, initial_width=1.7).double()
    torch.testing.assert_close(
        learned(*vectors()), Gaussian(7, 7, width=learned.width.item())(*vectors())
    )


def test_first_width_is_drawn_between_0_and_1():
    widths = torch.stack([GaussianLearned(1, 1).width.detach() for _ in range(200)])
    assert (widths >= 0).all()
    assert (widths < 1).all()
    assert 0.4 < widths.mean() < 0.6


def test_the_sign_of_the_width_does_not_matter(vectors):
    plus, minus = (GaussianLearned(7, 7, initial_width=sign * 1.7).double() for sign in (1, -1))
    torch.testing.assert_close(plus(*vectors()), minus(*vectors()))


def test_width_zero_is_a_stationary_point(vectors):
    score = GaussianLearned(7, 7, initial_width=0).double()
    score(*vectors()).sum().backward()
    assert score.width.grad == 0
