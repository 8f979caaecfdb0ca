"""Whether the recurrences of a model call the compiled steps."""

from typing import Literal

from attnexp.architectures.base import Architecture
from attnexp.architectures.recurrence.native.library import NoLibraryError, Recurrent, load, use
from attnexp.core import console
from attnexp.core.errors import RequestError


def use_native_steps(model: Architecture, asked: bool | Literal["auto"]) -> str | None:
    """Let the recurrences of a model call the compiled steps, and return their compiler.

    None if PyTorch computes the steps: if they are not `asked` for, for a model without recurrences
    or on a GPU, and if there is no library, which is said.

    Raises RequestError if there is no library and `asked` is true.
    """
    recurrent = any(isinstance(module, Recurrent) for module in model.modules())
    if not asked or not recurrent or next(model.parameters()).device.type != "cpu":
        return None
    try:
        library = load()
    except NoLibraryError as error:
        if asked is True:
            raise RequestError(f"native=true: {error}") from error
        console.say(f"native: {error}; PyTorch computes the recurrences")
        return None
    use(model, library)
    return library.name
