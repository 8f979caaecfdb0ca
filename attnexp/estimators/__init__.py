"""Estimators: how the weights of a query and the values become its answer.

The classes are imported when they are first used: `attnexp.estimators.LocalLinear`.
"""

from attnexp.core.lazy import classes_of
from attnexp.estimators.base import Estimator as Estimator

__getattr__, __dir__ = classes_of(__name__)
