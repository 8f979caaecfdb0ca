"""The schemas of the documents that verbs print for programs."""

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = files("attnexp.cli") / "schemas"


def schema(name: str) -> Any:
    """Return a schema, by the name of its file without endings."""
    return json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))


def faults(name: str, document: Any) -> list[str]:
    """Return where a document does not follow its schema."""
    found = Draft202012Validator(schema(name)).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in found]
