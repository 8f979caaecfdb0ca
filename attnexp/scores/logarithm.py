"""The logarithm that kernels of products use."""

import torch
from jaxtyping import Float
from torch import Tensor


def log_positive(values: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Return log x, and minus infinity with gradient zero where x is not above zero.

    Numbers below the smallest normal one, of which 1/x may overflow, count as zero.
    """
    positive = values >= torch.finfo(values.dtype).tiny
    return values.where(positive, 1.0).log().masked_fill(~positive, -torch.inf)
