"""The HTML by which a notebook shows an object: a table, and pictures below it."""

import base64
from collections.abc import Collection

from markupsafe import Markup

from attnexp.plots import style
from attnexp.plots.catalogue import first_figures
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison
from attnexp.tables.formats import as_html
from attnexp.tables.grid import Report

PICTURE = Markup('<img alt="{}" src="data:image/png;base64,{}" style="max-width: 100%">')
SENTENCE = Markup("<p>{}</p>")


def html(report: Report, subject: Run | Comparison | None, names: Collection[str]) -> str:
    """Return a report and pictures of a subject as HTML, in which all text is escaped.

    A picture that cannot be drawn is replaced by the reason.
    """
    parts = [Markup(as_html(report))]
    for name, found in [] if subject is None else first_figures(subject, names):
        if isinstance(found, str):
            parts.append(SENTENCE.format(found))
        else:
            with style.style_context():
                content = base64.b64encode(style.encoded(found)).decode()
            parts.append(PICTURE.format(name, content))
    return "\n".join(parts)
