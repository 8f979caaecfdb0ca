import torch

from attnexp.scores.average import Average


def test_scores_are_zero(vectors):
    assert (Average(7, 7)(*vectors()) == 0).all()


def test_has_no_parameters():
    assert not list(Average(7, 7).parameters())


def test_every_key_weighs_the_same(vectors):
    weights = Average(7, 7)(*vectors()).softmax(dim=-1)
    torch.testing.assert_close(weights, torch.full((3, 5), 1 / 5, dtype=torch.float64))
