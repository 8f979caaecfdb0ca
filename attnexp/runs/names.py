"""Short names of settings, and the settings that short names stand for."""

from collections import Counter
from collections.abc import Iterable, Sequence

from attnexp.errors import RequestError, nearest_text


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for each dotted path: its last two parts, or more where others end alike."""
    paths = list(paths)
    lengths = dict.fromkeys(paths, 2)
    while True:
        names = {path: _tail(path, length) for path, length in lengths.items()}
        crowded = _repeated(names.values())
        longer = {
            path: length + 1
            for path, length in lengths.items()
            if names[path] in crowded and names[path] != path
        }
        if not longer:
            return names
        lengths |= longer


def meant(name: str, paths: Sequence[str], what: str = "column") -> str:
    """Return the path that `name` stands for: that path, or the only one that ends with it.

    Raises RequestError where there is none, or several.
    """
    if name in paths:
        return name
    ending = [path for path in paths if path.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise RequestError(f"'{name}' may mean {' or '.join(ending)}: write one of these")
    ends = {path.rpartition(".")[2]: path for path in paths}
    near = nearest_text(name, [*paths, *ends])
    listed = "" if near else f" There are {', '.join(paths)}."
    raise RequestError(f"There is no {what} '{name}'.{near}{listed}")


def _tail(path: str, length: int) -> str:
    return ".".join(path.split(".")[-length:])


def _repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}
