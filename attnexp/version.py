"""The version of attnexp."""

__version__ = "0.1.0"
