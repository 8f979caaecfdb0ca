"""Training ends when nothing moves any more."""

import torch

from attnexp.training.early_stopping import ParameterMotion


class TestParameterMotion:
    def moved(self, *positions, tolerance=0.1):
        """Whether motion has ceased after each of these positions of two tensors of a model."""
        tensors = [torch.zeros(1, 2), torch.zeros(1)]
        motion = ParameterMotion(tensors, tolerance)
        answers = []
        for vector, scalar in positions:
            tensors[0].copy_(torch.tensor([vector, 0.0]))
            tensors[1].fill_(scalar)
            answers += motion.has_ceased()
        return answers

    def test_two_still_epochs_in_a_row_are_needed(self):
        assert self.moved((1, 1), (1, 1), (2, 2), (2, 2), (2, 2)) == [False] * 4 + [True]

    def test_each_tensor_is_measured_by_its_own_longest_move(self):
        steps = [(100, 0.1), (100, 0.15), (100, 0.2), (100, 0.205), (100, 0.21)]
        assert self.moved(*steps) == [False] * 4 + [True]

    def test_a_move_of_just_the_tolerance_is_still(self):
        assert self.moved((8, 8), (9, 9), (10, 10), tolerance=0.125) == [False, False, True]

    def test_what_never_moves_has_converged(self):
        assert self.moved((0, 0), (0, 0)) == [False, True]

    def test_nan_is_not_still(self):
        assert self.moved((1, 1), *[(float("nan"), 1)] * 3) == [False] * 4

    def test_models_beside_each_other_cease_by_themselves(self):
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
