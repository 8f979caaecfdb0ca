"""YAML files read as values whose types are checked."""

from pathlib import Path
from typing import Any

import msgspec

from attnexp.errors import RequestError, shortened
from attnexp.runs.files import read_bytes
from attnexp.runs.settings import clean


def read_document(path: Path, kind: Any) -> Any:
    """Return the content of a YAML file as a value of a type, such as `dict[str, int]`.

    Raises RequestError where there is no such file, and for other fields or types than expected.
    """
    try:
        return msgspec.yaml.decode(read_bytes(path), type=kind)
    except FileNotFoundError as error:
        raise RequestError(str(error)) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RequestError(f"{path}: {shortened(clean(' '.join(str(error).split())))}") from error
