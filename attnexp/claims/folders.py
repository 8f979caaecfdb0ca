"""The folders of claims, by name: those of attnexp, and those of your own."""

from pathlib import Path

from attnexp.config.groups import conf_dir, first_line

GROUP = "claim"
"""The folder of the claims, in attnexp's configuration and in one of your own."""

FILE = "claim.yaml"
"""The file in the folder of a claim."""


def names(config_dir: Path | None = None) -> list[str]:
    """Return the names of the claims, those of your own folder included."""
    return list(folders(config_dir))


def question(name: str, config_dir: Path | None = None) -> str:
    """Return the first line of the file of a claim."""
    return first_line(folders(config_dir)[name] / FILE)


def folders(config_dir: Path | None) -> dict[str, Path]:
    """Return the folder of each claim by its name."""
    roots = [conf_dir(), *([config_dir] if config_dir else [])]
    files = (file for root in roots for file in (root / GROUP).glob(f"*/{FILE}"))
    return dict(sorted({file.parent.name: file.parent for file in files}.items()))
