"""Which of attnexp's architectures take which of its data sets, found without PyTorch."""

from collections.abc import Mapping, Sequence
from typing import Any

from attnexp.config.documents import read_document
from attnexp.config.groups import choices
from attnexp.config.unknown import FOR_SEQUENCES
from attnexp.core.errors import RequestError, choices_text

OF_SEQUENCES, OF_POINTS = "copy", "sine"
"""Data sets to suggest for architectures of sequences and of points."""

ARCHITECTURE = "override /arch@_global_.arch"
"""The default that only the files of sequence data sets have."""


def require_fitting(chosen: Mapping[str, str]) -> None:
    """Raise RequestError if attnexp's architecture and data set do not fit each other."""
    known = {each.name: each.path for each in choices("data")}
    names = [each.name for each in choices("arch")]
    if chosen["data"] not in known or chosen["arch"] not in names:
        return
    defaults = read_document(known[chosen["data"]], dict[str, Any]).get("defaults", ())
    has_sequences = any(ARCHITECTURE in each for each in defaults)
    if has_sequences != (chosen["arch"] in FOR_SEQUENCES):
        fitting = [each for each in names if (each in FOR_SEQUENCES) == has_sequences]
        raise RequestError(misfit(chosen, fitting))


def misfit(chosen: Mapping[str, str], fitting: Sequence[str]) -> str:
    """Return the sentence for an architecture that does not fit the data, with choices that fit."""
    data = OF_SEQUENCES if chosen["arch"] in FOR_SEQUENCES else OF_POINTS
    other = f", or data={data}" if data != chosen["data"] else ""
    return (
        f"arch={chosen['arch']} is not for data={chosen['data']}: "
        f"choose arch={choices_text(fitting)}{other}"
    )
