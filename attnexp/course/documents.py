"""YAML files of the course, read as objects whose fields are checked."""

from pathlib import Path
from typing import TypeVar

import msgspec

from attnexp.errors import RequestError
from attnexp.runs.documents import read_yaml
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.settings import clean

Document = TypeVar("Document")


def read_document(path: Path, kind: type[Document]) -> Document:
    """Return the content of a YAML file as an object.

    Raises RequestError where there is none, and for content with other fields or types.
    """
    try:
        return msgspec.convert(read_yaml(path), kind)
    except (FileNotFoundError, UnreadableRunError) as error:
        raise RequestError(str(error)) from error
    except msgspec.ValidationError as error:
        raise RequestError(f"{path}: {clean(str(error))}") from error
