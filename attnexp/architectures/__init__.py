"""Models built around a scoring function. They do not know which data they read."""

from attnexp.architectures.base import Architecture

__all__ = ["Architecture"]
