"""Whether the recurrences of a model call the compiled steps."""

from collections.abc import Mapping
from typing import Any

from attnexp.architectures.base import Architecture
from attnexp.architectures.recurrence.native.library import NoLibraryError, Recurrent, load, use
from attnexp.core import console
from attnexp.core.errors import RequestError


def choose_native_steps(model: Architecture, settings: Mapping[str, Any]) -> str | None:
    """Let the recurrences of a model call the compiled steps, if the settings of a run allow it.

    Returns their compiler, or None if PyTorch computes the steps. Raises RequestError for
    `native=true` if the compiled steps cannot be called.
    """
    asked, lacking = settings["native"], _lacking(model, settings)
    if asked is True and lacking:
        raise RequestError(f"native=true needs {lacking}; native=auto takes PyTorch's steps then")
    if not asked or lacking:
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


def _lacking(model: Architecture, settings: Mapping[str, Any]) -> str | None:
    """Return the first need of the compiled steps that a run does not meet."""
    if not any(isinstance(module, Recurrent) for module in model.modules()):
        return "a recurrent model, such as arch=rnn"
    if settings["precision"] != "fp32":
        return f"precision=fp32, got {settings['precision']}"
    if settings["threads"] != 1:
        return f"threads=1, got {settings['threads']}"
    if settings["batched"]:
        return "batched=false: replicas train by PyTorch"
    device = next(model.parameters()).device
    return None if device.type == "cpu" else f"device=cpu, got {device}"
