"""Recurrent layers, and their derivatives written by hand.

Importing the package registers the derivatives of scores, one module for each.
"""

from attnexp.architectures.recurrence import additive_derivative as additive_derivative
from attnexp.architectures.recurrence import dot_derivative as dot_derivative
