"""Renders the content of a report as one self-contained HTML file."""

import base64
import hashlib
import json
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attnexp.core.language import LANGUAGES, in_language, table
from attnexp.report.page import Page

EVERY = 5
"""Seconds after which a page about unfinished runs loads itself again."""

LOADER = PackageLoader("attnexp.report", "template")

STYLES = ("page.css", "compute.css")
SCRIPTS = ("language.js", "interpreter.js", "laws.js", "writings.js", "compute.js", "page.js")


def page(content: Page) -> str:
    """Return the HTML file of a page, which may load and run only the style and the script in it.

    The content is JSON in which no character can end the element that holds it. The script puts the
    content on the page as text, never as HTML, and everything else is escaped. A page whose content
    is `live` loads itself again every EVERY seconds.
    """
    environment = Environment(loader=LOADER, autoescape=True, undefined=StrictUndefined)
    style, script = (
        "\n".join(LOADER.get_source(environment, name)[0] for name in names)
        for names in (STYLES, SCRIPTS)
    )
    zh = content.language == "zh"
    return environment.get_template("page.html").render(
        language="zh-CN" if zh else "en",
        title=in_language(content.title, content.language or LANGUAGES[0]),
        refresh=EVERY if content.live else None,
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        content=Markup(script_json(content)),
        table=Markup(script_json(table() if content.language else {})),
    )


def script_json(content: Any) -> str:
    """Return JSON that is safe inside a script element."""
    plain = msgspec.to_builtins(content, enc_hook=_plain)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(value: Any) -> Any:
    """Return as a plain value what JSON cannot hold: the Chinese of a Text, a number of NumPy."""
    return value() if callable(value) else float(value)


def _hash(text: str) -> str:
    """Return the hash of the text of an element, by which the page's policy allows that element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
