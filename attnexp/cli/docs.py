"""`attnexp docs`: lists the documents, and prints one in the terminal."""

import re
from pathlib import Path
from typing import Annotated

from rich.markup import escape

from attnexp.cli.candidates import names
from attnexp.cli.parser import Argument
from attnexp.core import console
from attnexp.core.errors import RequestError, none_of

EPILOG = """examples:
  attnexp docs                  the documents, with their titles and first sentences
  attnexp docs results          one of them
  attnexp docs results | less   as plain text, page by page
"""


def documents() -> dict[str, Path]:
    """Return the documents by the names of their files, those of the course last.

    They lie inside an installed package, or next to it in a checkout. Raises FileNotFoundError if
    the installation is broken.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "documents", package.parent / "docs"):
        if paths := [*sorted(folder.glob("*.md")), *sorted(folder.glob("course/*.md"))]:
            return {path.stem: path for path in paths}
    raise FileNotFoundError(f"attnexp's documents are neither in {package} nor next to it")


def summary(text: str) -> str:
    """Return the title of a document and the first sentence of its text, without markup."""
    title, *parts = re.split(r"\n\s*\n", re.sub(r"```.*?```", "", text, flags=re.DOTALL).strip())
    prose = next(
        part for part in parts if part.strip() and not part.lstrip().startswith(("#", "|"))
    )
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    title = title.removeprefix("# ")
    first = re.split(r"(?<=[.:?])\**\s", plain)[0].replace("*", "").replace("`", "")
    return f"{title}{'' if title.endswith('?') else '.'} {re.sub(':$', '.', first)}"


def main(
    page: Annotated[str | None, Argument(completes=names(documents))] = None,
) -> None:
    """Print a document in the terminal.

    It is laid out on a terminal, and plain text elsewhere. Without a page, the documents are
    listed. Raises RequestError for an unknown document.

    Args:
        page (PAGE): without one: list the documents
    """
    pages = documents()
    if page is None:
        table = console.plain_table(["page", "about"])
        for name, path in pages.items():
            table.add_row(name, escape(summary(path.read_text(encoding="utf-8"))))
        console.screen.out.print(table)
        return
    name = Path(page).stem
    if name not in pages:
        raise RequestError(f"page {none_of(page, pages, 'attnexp docs')}")
    text = pages[name].read_text(encoding="utf-8")
    if not console.screen.out.is_terminal:
        console.screen.out.print(text, markup=False, soft_wrap=True, end="")
        return
    from rich.markdown import Markdown

    console.screen.out.print(Markdown(text, hyperlinks=False))
