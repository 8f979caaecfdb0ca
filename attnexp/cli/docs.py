"""`attnexp docs`: lists the documents, and prints one in the terminal."""

import os
import re
from pathlib import Path
from typing import Annotated

from rich.markup import escape

from attnexp.cli import arguments
from attnexp.cli.candidates import names
from attnexp.cli.parser import Argument
from attnexp.core import console
from attnexp.core.errors import RequestError, none_of
from attnexp.core.language import LANGUAGES, said, say, speaking, translate, usual_language

EPILOG = """examples:
  attnexp docs              the documents, with their titles and first sentences
  attnexp docs results      one of them
  attnexp docs --lang zh tour  in Chinese, as with LANG=zh_CN.UTF-8
  attnexp docs results | less  as plain text, page by page
"""

GROUPS = {
    said("Learn"): "tour course pooling scoring bahdanau heads transformer exercises attend",
    said("Use"): "install choices data own_code recipes sweeps python",
    said("Read"): "runs results statistics metrics pictures",
    said("Judge"): "card claims probe gate",
    said("Appendix"): "tables outside coming_from cluster performance reliability card_numbers "
    "card_sayings register inside glossary",
}
"""The documents by purpose, in the order of a menu."""

OF_LANGUAGE = {"en": "", "zh": "zh/"}
"""The folder of the documents in each language, inside that of all documents."""


def documents(language: str = LANGUAGES[0]) -> dict[str, Path]:
    """Return the documents in a language by the names of their files, those of the course last.

    The documents lie inside an installed package, or next to it in a checkout.

    Raises FileNotFoundError if they are in neither place.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "documents", package.parent / "docs"):
        own = folder / OF_LANGUAGE[language]
        if paths := [*sorted(own.glob("*.md")), *sorted(own.glob("course/*.md"))]:
            return {path.stem: path for path in paths}
    raise FileNotFoundError(f"attnexp's documents are neither in {package} nor next to it")


def summary(text: str) -> str:
    """Return the title of a document and the first sentence of its text, without markup.

    Chinese has its own full stop, and no blank where its lines were joined.
    """
    title, *parts = re.split(r"\n\s*\n", re.sub(r"```.*?```", "", text, flags=re.DOTALL).strip())
    prose = next(
        part for part in parts if part.strip() and not part.lstrip().startswith(("#", "|"))
    )
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    first = re.sub("[*`]", "", re.split(r"(?<=[.:?])\**\s|(?<=[。\uff1a\uff1f])", plain)[0])
    whole = re.sub("[:\uff1a]$", ".", f"{title.removeprefix('# ')}. {first}").replace("?.", "?")
    stops = r"(?<=[^\0-~])\.( |$)|(?<=[A-Za-z])\. (?=[^\0-~])"
    stopped = re.sub(stops, "。", whole.replace("\uff1f. ", "\uff1f"))
    return re.sub(r"(?<=[^\0-~]) (?=[^\0-~])", "", stopped)


def main(
    page: Annotated[str | None, Argument(completes=names(documents))] = None,
    *,
    lang: arguments.Language | None = None,
) -> None:
    """Print a document in the terminal.

    It is laid out on a terminal, and plain text elsewhere. Without a page, the documents are
    listed. Documents that are not in the language of the locale are in English. Raises RequestError
    for an unknown document, and for one that is not in the language that is asked for.

    Args:
        page (PAGE): without one: list the documents
    """
    if page is not None and OF_LANGUAGE["zh"] in page:
        lang = "zh"
    own = documents(lang or usual_language(os.environ))
    pages = documents() | own
    if page is None:
        with speaking(lang):
            table = console.plain_table([say("page"), say("about")])
            for group, names_of_group in GROUPS.items():
                table.add_row(translate(group).upper())
                for name in filter(pages.__contains__, names_of_group.split()):
                    table.add_row(name, escape(summary(pages[name].read_text(encoding="utf-8"))))
        console.screen.out.print(table)
        return
    name = Path(page).stem
    if name not in pages:
        raise RequestError(f"page {none_of(page, pages, 'attnexp docs')}")
    if lang is not None and name not in own:
        raise RequestError(f"page '{name}' is in English alone: attnexp docs --lang en {name}")
    text = pages[name].read_text(encoding="utf-8")
    if not console.screen.out.is_terminal:
        console.screen.out.print(text, markup=False, soft_wrap=True, end="")
        return
    from rich.markdown import Markdown

    console.screen.out.print(Markdown(text, hyperlinks=False))
