"""Attention scoring functions, one a file: the formula, its source and the code."""

from attnexp.scores.base import Score

__all__ = ["Score"]
