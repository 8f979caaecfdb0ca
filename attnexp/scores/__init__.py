"""Attention scoring functions, one per file: the formula, its source and the code.

The classes are imported when they are first used: `attnexp.scores.Additive`.
"""

from attnexp.core.lazy import classes_of
from attnexp.scores.base import Score as Score

__getattr__, __dir__ = classes_of(__name__)
