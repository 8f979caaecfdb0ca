"""Maps from scores to attention weights."""

from attnexp.normalizers.base import Normalizer

__all__ = ["Normalizer"]
