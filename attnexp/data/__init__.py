"""Data sets, one per file. They do not know which architecture reads them."""

from attnexp.data.base import Dataset

__all__ = ["Dataset"]
