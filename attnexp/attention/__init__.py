"""Attention built from a score and a normalizer: attention pooling and multi-head attention."""

from attnexp.attention.base import Attention, Memory
from attnexp.attention.multihead import MultiHead, single_or_multihead
from attnexp.attention.pooling import AttentionPooling

__all__ = [
    "Attention",
    "AttentionPooling",
    "Memory",
    "MultiHead",
    "single_or_multihead",
]
