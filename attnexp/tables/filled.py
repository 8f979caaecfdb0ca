"""Fills the templates of tables."""

from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"
"""The templates of the HTML and of the LaTeX tables."""


def filled(name: str, content: dict[str, Any], **syntax: Any) -> str:
    """Return a template filled with the content, in the syntax of its format."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        **syntax,
    )
    return environment.get_template(name).render(content)
