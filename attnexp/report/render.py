"""A report's content as one HTML file that needs nothing else, from no network."""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

PARTS = files("attnexp.report") / "template"
"""The page, its style and its script, each a file of its own."""


def page(content: Mapping[str, Any]) -> str:
    """The file. What it may load and run is limited to the style and the script in it.

    The content goes in as JSON in which no letter can end the element that holds it, and the script
    puts it on the page as text, never as HTML.
    """
    style, script = ((PARTS / name).read_text("utf-8") for name in ("page.css", "page.js"))
    filled = {
        "title": html.escape(content["title"]),
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "style": style,
        "script": script,
        "content": script_json(content),
    }
    text = (PARTS / "page.html").read_text("utf-8")
    pieces = text.split("{{")
    inside = [piece.partition("}}") for piece in pieces[1:]]
    return pieces[0] + "".join(filled[name] + rest for name, _, rest in inside)


def script_json(content: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _hash(text: str) -> str:
    """The hash by which a browser knows an element that it may use."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
