"""Models built around a scoring function. They do not know which data they read."""

from typing import TYPE_CHECKING

from attnexp.core.lazy import names_in

if TYPE_CHECKING:
    from attnexp.architectures.base import Architecture
else:
    __getattr__, __dir__ = names_in(
        __name__, {"Architecture": "attnexp.architectures.base:Architecture"}
    )

__all__ = ["Architecture"]
