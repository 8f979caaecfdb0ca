import torch

from attnexp.scores.biweight import Biweight
from attnexp.scores.biweight_learned import BiweightLearned


def test_equals_the_biweight_kernel_of_its_width(vectors):
    learned = BiweightLearned(7, 7, initial_width=0.7).double()
    fixed = Biweight(7, 7, width=learned.width.item())
    torch.testing.assert_close(learned(*vectors()), fixed(*vectors()))
