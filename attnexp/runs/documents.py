"""YAML that somebody else wrote, read within bounds.

A few lines of YAML can describe more than any memory holds, because an alias repeats what an anchor
names; a file can contain itself, and nesting is followed by recursion. All of that is seen in the
events of the parser, before anything is made of them.
"""

from pathlib import Path
from typing import Any

import yaml

from attnexp.runs.files import UnreadableRunError, read_bytes, text_of

MOST_BYTES = 2**20
"""Bytes of a YAML file."""

DEEPEST = 50
"""Levels of nesting."""

MOST_NODES = 100_000
"""Values that a file may describe, those that aliases repeat included."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises FileNotFoundError where there is none, and UnreadableRunError for what `check_yaml`
    refuses and for what is not YAML.
    """
    return parse_yaml(path, read_bytes(path, MOST_BYTES))


def parse_yaml(path: Path, content: bytes) -> Any:
    """Return the content of a YAML file whose bytes are these. Raises as `read_yaml`."""
    text = text_of(path, content)
    try:
        _check_events(path, text)
        return yaml.load(text, Loader=LOADER)
    except (yaml.YAMLError, ValueError, TypeError) as error:  # a date of the 45th of a month
        raise UnreadableRunError(
            f"{path}: not valid YAML: {' '.join(str(error).split())}"
        ) from error


def check_settings_file(path: Path) -> None:
    """Raise UnreadableRunError unless a YAML file can hold settings, within the bounds.

    What is not YAML passes: whoever reads the file next says in which line.
    """
    text = text_of(path, read_bytes(path, MOST_BYTES))
    try:
        root = _check_events(path, text)
    except yaml.YAMLError:
        return
    if not isinstance(root, yaml.MappingStartEvent | None):
        kind = "a list" if isinstance(root, yaml.SequenceStartEvent) else "a single value"
        raise UnreadableRunError(f"{path} holds {kind}: settings are lines of `name: value`")


def _check_events(path: Path, text: str) -> yaml.Event | None:
    """Return the event that begins the first document, None where it is empty.

    Raises UnreadableRunError for a file that goes too deep, contains itself, or is too large.
    """
    root: yaml.Event | None = None
    open_nodes: list[tuple[str | None, int]] = []  # the anchor of each, and the nodes before it
    sizes: dict[str, int] = {}
    nodes = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in {anchor for anchor, _ in open_nodes}:
                raise UnreadableRunError(f"{path} contains itself: *{event.anchor} is inside it")
            nodes += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
            root = root or event
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, nodes))
            elif event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = nodes - before + 1
        if len(open_nodes) > DEEPEST:
            raise UnreadableRunError(f"{path} is nested deeper than {DEEPEST} levels")
        if nodes > MOST_NODES:
            raise UnreadableRunError(f"{path} describes more than {MOST_NODES:,} values")
    empty = isinstance(root, yaml.ScalarEvent) and root.value in ("", "~", "null")
    return None if empty else root
