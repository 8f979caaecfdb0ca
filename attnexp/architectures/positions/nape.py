"""Half of the heads without positions, half with linear biases."""

import torch

from attnexp.architectures.positions.alibi import Alibi, slopes_of


class Nape(Alibi):
    """a(q_i, k_j) - m_h |i - j|, with m_h = 0 for the first half of the heads.

    "NoPE + ALiBi positional encoding" of Vasylenko et al. (2025, arXiv 2506.16640), which trains
    adaptive-scalable entmax with it: heads without positions can attend anywhere, and the others
    prefer near keys. Their slopes are those that `Alibi` has for their number. Of an odd number of
    heads, the half with biases has one more. No parameters, and no longest position.
    """

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        without = heads // 2
        self.slopes = torch.tensor([0.0] * without + slopes_of(heads - without))
