"""Fused attention of all replicas at once."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class FoldedAttention(TorchFunctionMode):
    """Within the block, fused attention is computed for all replicas at once.

    PyTorch has no batching rule for fused attention, and would compute one replica after the other.
    Here the axis of the replicas becomes part of the axis of the batch.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is F.scaled_dot_product_attention:
            return _folded(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _folded(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float,
) -> Tensor:
    """Return fused attention of all replicas; expands the mask to the axes of the queries."""
    if attn_mask is not None:
        missing = queries.dim() - attn_mask.dim()
        attn_mask = attn_mask[(None,) * missing].expand(len(queries), *[-1] * (queries.dim() - 1))
    attended: Tensor = _Folded.apply(queries, keys, values, attn_mask, is_causal, scale)
    return attended


class _Folded(torch.autograd.Function):
    @staticmethod
    def forward(*_: Any) -> Tensor:
        raise NotImplementedError("outside of torch.func.vmap")

    @staticmethod
    def setup_context(*_: Any) -> None:
        raise NotImplementedError("outside of torch.func.vmap")

    @staticmethod
    def vmap(info: Any, dims: Any, *inputs: Any) -> tuple[Tensor, int]:
        *tensors, mask, causal, scale = inputs

        def fold(tensor: Tensor, dim: int | None) -> Tensor:
            if dim is None:
                return tensor.expand(info.batch_size, *tensor.shape).flatten(0, 1)
            return tensor.movedim(dim, 0).flatten(0, 1)

        queries, keys, values = map(fold, tensors, dims[:3])
        folded_mask = None if mask is None else fold(mask, dims[3])
        attended = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=folded_mask, is_causal=causal, scale=scale
        )
        return attended.unflatten(0, (info.batch_size, -1)), 0
