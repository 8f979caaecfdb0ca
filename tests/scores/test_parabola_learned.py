import torch

from attnexp.scores.parabola import Parabola
from attnexp.scores.parabola_learned import ParabolaLearned


def test_equals_the_parabola_kernel_of_its_width(vectors):
    learned = ParabolaLearned(7, 7, initial_width=0.7).double()
    fixed = Parabola(7, 7, width=learned.width.item())
    torch.testing.assert_close(learned(*vectors()), fixed(*vectors()))
