"""The logarithm that kernels of products use."""

import torch
from jaxtyping import Float
from torch import Tensor


def log_positive(values: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Return log x, or minus infinity with gradient zero if x is not above zero.

    Numbers below the smallest normal number count as zero, because their 1/x may overflow.
    """
    positive = values >= torch.finfo(values.dtype).tiny
    return values.where(positive, 1.0).log().masked_fill(~positive, -torch.inf)
