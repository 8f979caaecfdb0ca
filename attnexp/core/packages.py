"""The packages that only some choices and options need."""

import importlib.util

from attnexp.core.errors import RequestError


def require_package(package: str, source: str, what: str) -> None:
    """Raise RequestError for a package that `what` needs and that is not installed.

    `source` is what pip installs for it, such as `attnexp[nile]`.
    """
    if importlib.util.find_spec(package) is None:
        raise RequestError(f"{what} needs the package {package}: pip install '{source}'")
