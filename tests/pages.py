"""The content of a page, for tests of reports."""

import json
import re


def english(part):
    """Return the English of a text in both languages, and any other part as it is."""
    return part["en"] if part.keys() == {"en", "zh"} else part


def content_of(page):
    """Return the content that the scripts of a page read, in English."""
    text = re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(text, object_hook=english)
