"""The stack of causal layers that models of one stack share."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions import Positions, require_order
from attnexp.architectures.seq2seq import Seq2Seq, State
from attnexp.architectures.transformer import SelfAttentionLayer
from attnexp.attention.base import Memory
from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask


class CausalStack(Seq2Seq[State]):
    """A model whose attention is that of one causal stack: the entry `self` of its weights."""

    whole = "self"
    causal = True
    positions: Positions

    def _stack(self, layers: int, window: int | None, *parts: Any) -> None:
        """Make the layers of these parts. Raises ValueError as `require_order` does."""
        self.layers = cast(
            "Sequence[SelfAttentionLayer]",
            nn.ModuleList(SelfAttentionLayer(*parts) for _ in range(layers)),
        )
        self.window = window
        require_order(self.layers[0].own, self.positions, window)

    @property
    def attentions(self) -> Mapping[str, Sequence[MultiHead]]:
        return {"self": [layer.own for layer in self.layers]}

    def _read(
        self,
        x: Float[Tensor, "batch length dim"],
        places: Int[Tensor, "*examples length"],
        mask: Bool[Tensor, "batch 1 length"],
        need_weights: bool,
    ) -> tuple[
        Float[Tensor, "batch length dim"],
        tuple[Memory, ...],
        list[Float[Tensor, "batch heads length length"]],
    ]:
        """Return the last layer's output, and the memory and the weights of each layer."""
        causal = causal_mask(x.shape[1], x.device, mask.squeeze(1))
        order = self.positions.order(places, places, self.window)
        memories, maps = [], []
        for layer in self.layers:
            x, memory, weights = layer(x, causal, order, need_weights)
            memories.append(memory)
            if weights is not None:
                maps.append(weights)
        return x, tuple(memories), maps
