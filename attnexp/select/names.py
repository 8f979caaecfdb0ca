"""Short names of settings, and the settings that they name."""

from collections import Counter
from collections.abc import Iterable, Sequence

from attnexp.core.errors import RequestError, choose, nearest_text, with_choices


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for each dotted path: its last two parts, or more if those are ambiguous."""
    paths = list(paths)
    counts = Counter(tail for path in paths for tail in _tails(path))
    return {
        path: next((tail for tail in _tails(path) if counts[tail] == 1), path) for path in paths
    }


def resolve_name(name: str, paths: Sequence[str], what: str = "column", listing: str = "") -> str:
    """Return the path `name`, or the only path that ends with `.name`.

    `listing` is the command that lists the paths.

    Raises RequestError if there is none, or several.
    """
    if name in paths:
        return name
    ending = [path for path in paths if path.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise RequestError(f"'{name}' may mean {' or '.join(ending)}: write one of these")
    ends = {path.rpartition(".")[2]: path for path in paths}
    nearest = nearest_text(name, [*paths, *ends])
    listed = choose(name, paths, listing, nearest)
    raise RequestError(with_choices(f"There is no {what} '{name}'", nearest, listed))


def _tails(path: str) -> list[str]:
    """Return the last two parts of a path, its last three, and so on."""
    parts = path.split(".")
    return [".".join(parts[start:]) for start in range(max(len(parts) - 2, 0), -1, -1)]
