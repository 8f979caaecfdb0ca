"""Whether the recurrences of a model call the compiled steps. PyTorch is imported with a model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from attnexp.architectures.compiled import NoLibraryError, compiled
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.summary import NATIVE

if TYPE_CHECKING:
    from attnexp.architectures.base import Architecture

RNN = "attnexp.architectures.rnn.Rnn"


@dataclass(frozen=True)
class NativeSteps:
    """What computes the recurrences of a model: the `compiler` of its steps, None for PyTorch.

    `notes` has the reason if steps were to be compiled and could not be.
    """

    compiler: str | None = None
    notes: tuple[str, ...] = ()


PYTORCH = NativeSteps()


def choose_native_steps(model: "Architecture", settings: Mapping[str, Any]) -> NativeSteps:
    """Let a model's recurrences call compiled steps if the settings of a run allow it.

    Returns what computes them from now on.

    Raises RequestError for `native=true` if compiled steps cannot be called.
    """
    from attnexp.architectures.recurrence.native.library import load, use

    asked, lacking = settings.get("native"), _lacking(model, settings)
    if asked is True and lacking:
        raise RequestError(f"native=true needs {lacking}; native=auto takes PyTorch's steps then")
    if not asked or lacking:
        return PYTORCH
    try:
        library = load()
    except NoLibraryError as error:
        if asked is True:
            raise RequestError(f"native=true: {error}") from error
        return NativeSteps(notes=(_note(error),))
    use(model, library)
    return NativeSteps(library.name)


def ask_compiler(runs: Iterable[Mapping[str, Any]]) -> None:
    """Compile the steps before runs begin, if one of them may call the compiled steps.

    A warning says, once in a process, why the steps cannot be compiled.
    """
    asked = [settings["native"] for settings in runs if _may_call(settings)]
    try:
        if asked:
            compiled()
    except NoLibraryError as error:
        if "auto" in asked:
            _warn_once(_note(error))


def _note(error: NoLibraryError) -> str:
    return f"{NATIVE}: {error}; PyTorch computes the recurrences"


@cache
def _warn_once(text: str) -> None:
    console.warn(text)


def _may_call(settings: Mapping[str, Any]) -> bool:
    recurrent = settings["arch"].get("_target_") == RNN
    asked = settings.get("native") in ("auto", True) and settings["device"] in ("auto", "cpu")
    return recurrent and asked and not _lacking_among(settings)


def _lacking(model: "Architecture", settings: Mapping[str, Any]) -> str | None:
    """Return the first condition for compiled steps that a run does not meet, None without one."""
    from attnexp.architectures.recurrence.native.library import Recurrent

    if not any(isinstance(module, Recurrent) for module in model.modules()):
        return "a recurrent model, such as arch=rnn"
    device = next(model.parameters()).device
    on_cpu = device.type == "cpu"
    return _lacking_among(settings) or (None if on_cpu else f"device=cpu, got {device}")


def _lacking_among(settings: Mapping[str, Any]) -> str | None:
    if settings["precision"] != "fp32":
        return f"precision=fp32, got {settings['precision']}"
    if settings["threads"] != 1:
        return f"threads=1, got {settings['threads']}"
    return "batched=false: replicas train by PyTorch" if settings["batched"] else None
