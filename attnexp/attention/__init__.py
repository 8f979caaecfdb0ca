"""Attention built from a score: the masked softmax, attention pooling and multi-head attention."""

from attnexp.attention.base import Attention, Memory
from attnexp.attention.multihead import MultiHead, single_or_multihead
from attnexp.attention.pooling import AttentionPooling
from attnexp.attention.softmax import masked_softmax

__all__ = [
    "Attention",
    "AttentionPooling",
    "Memory",
    "MultiHead",
    "masked_softmax",
    "single_or_multihead",
]
