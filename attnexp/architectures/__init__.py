"""Models built around a scoring function. They do not know which data they read."""

from attnexp.core.lazy import names_in

__getattr__, __dir__ = names_in(
    __name__, {"Architecture": "attnexp.architectures.base:Architecture"}
)
