import torch

from attnexp.scores.epanechnikov import Epanechnikov
from attnexp.scores.epanechnikov_learned import EpanechnikovLearned


def test_equals_the_epanechnikov_kernel_of_its_width(vectors):
    learned = EpanechnikovLearned(7, 7, initial_width=0.7).double()
    fixed = Epanechnikov(7, 7, width=learned.width.item())
    torch.testing.assert_close(learned(*vectors()), fixed(*vectors()))
