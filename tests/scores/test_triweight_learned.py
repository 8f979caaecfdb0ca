import torch

from attnexp.scores.triweight import Triweight
from attnexp.scores.triweight_learned import TriweightLearned


def test_equals_the_triweight_kernel_of_its_width(vectors):
    learned = TriweightLearned(7, 7, initial_width=0.7).double()
    fixed = Triweight(7, 7, width=learned.width.item())
    torch.testing.assert_close(learned(*vectors()), fixed(*vectors()))
