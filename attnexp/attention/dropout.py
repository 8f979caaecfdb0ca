"""Dropout that draws from a generator of its own."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Dropout(nn.Module):
    """y = m x / (1 - p) in training, with m = 0 with probability p and else 1; y = x otherwise.

    Srivastava et al. (2014), scaled in training and not in evaluation. The masks come from a
    generator of the module, seeded at construction by one draw from the global generator. So the
    seed of a model's construction determines its masks, and training draws nothing from the global
    generator. A loaded state dict does not restore the generator.

    With p = 0, or in evaluation, the module is the identity: the forward pass is pure, and copies
    of a model can be batched by `torch.func.vmap`. With p above 0 each call advances the generator.

    Raises ValueError for a p outside [0, 1). `name` is the name of p in the message.
    """

    def __init__(self, p: float, name: str = "dropout") -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"{name} must be at least 0 and less than 1, got {p}")
        self.p = p
        self.generator = torch.Generator().manual_seed(int(torch.randint(2**62, (), device="cpu")))

    @property
    def drops(self) -> bool:
        """Whether a call drops entries: in training, with p above 0."""
        return self.training and self.p > 0

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.drops:
            return x
        if self.generator.device != x.device:
            seed = self.generator.initial_seed()
            self.generator = torch.Generator(x.device).manual_seed(seed)
        kept = torch.rand(x.shape, generator=self.generator, device=x.device) >= self.p
        return x * kept / (1 - self.p)


def weight_dropout(p: float) -> Dropout | None:
    """Return the dropout of attention weights, or None for p = 0, which draws no seed.

    Raises ValueError for a p outside [0, 1).
    """
    return None if p == 0 else Dropout(p, "attention_dropout")
