"""Maps from scores to attention weights.

The classes are imported when they are first used: `attnexp.normalizers.Sparsemax`.
"""

from attnexp.core.lazy import classes_of
from attnexp.normalizers.base import Normalizer as Normalizer

__getattr__, __dir__ = classes_of(__name__)
