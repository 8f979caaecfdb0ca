"""Training ends when nothing moves any more."""

import pytest
import torch

from attnexp.training.early_stopping import ParameterMotion

NAN = float("nan")


@pytest.mark.parametrize(
    ("positions", "tolerance", "ceased"),
    [
        ([(1, 1), (1, 1), (2, 2), (2, 2), (2, 2)], 0.1, 5),
        ([(100, 0.1), (100, 0.15), (100, 0.2), (100, 0.205), (100, 0.21)], 0.1, 5),
        ([(8, 8), (9, 9), (10, 10)], 0.125, 3),
        ([(0, 0), (0, 0)], 0.1, 2),
        ([(1, 1), (NAN, 1), (NAN, 1), (NAN, 1)], 0.1, None),
    ],
    ids=[
        *("two still epochs in a row", "each tensor by its own longest move"),
        *("a move of just the tolerance", "what never moves", "what is not a number"),
    ],
)
def test_motion_ceases_after_an_epoch_or_never(positions, tolerance, ceased):
    """Of two tensors of a model, at these positions after each epoch."""
    tensors = [torch.zeros(1, 2), torch.zeros(1)]
    motion = ParameterMotion(tensors, tolerance)
    answers = []
    for vector, scalar in positions:
        tensors[0].copy_(torch.tensor([vector, 0.0]))
        tensors[1].fill_(scalar)
        answers += motion.has_ceased()
    assert answers == [number == ceased for number in range(1, len(positions) + 1)]


def test_models_beside_each_other_cease_by_themselves():
    tensors = [torch.zeros(3, 2)]
    motion = ParameterMotion(tensors, tolerance=0.1)
    tensors[0][1:] += 1
    assert motion.has_ceased() == [False, False, False]
    tensors[0][2] += 1
    assert motion.has_ceased() == [True, False, False]
    rows = torch.tensor([2, 1])
    tensors[0] = tensors[0][rows]
    motion.keep(tensors, rows)
    assert motion.has_ceased() == [False, True]
