"""The name of a project, under which a tool lists runs."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def require_project(name: str) -> None:
    """Raise ValueError for a name that a tool would refuse or change."""
    if not NAME.fullmatch(name):
        raise ValueError(
            f"tracker.project is {name!r:.60}, expected up to 100 characters of a-z, A-Z, "
            "0-9, - and _, and neither - nor _ as the first"
        )
