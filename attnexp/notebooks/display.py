"""What a notebook shows in place of an object: a table, and pictures below it."""

import base64
from collections.abc import Collection

from markupsafe import Markup

from attnexp.errors import RequestError
from attnexp.plots import style
from attnexp.plots.catalogue import PICTURES, first_figure
from attnexp.runs.configurations import Comparison
from attnexp.runs.run import Run
from attnexp.tables.formats import html_fragment
from attnexp.tables.table import Report

PICTURE = Markup('<img alt="{}" src="data:image/png;base64,{}" style="max-width: 100%">')
SENTENCE = Markup("<p>{}</p>")


def html(report: Report, subject: Run | Comparison | None, names: Collection[str]) -> str:
    """Return a report and pictures of a subject as HTML, in which all text is escaped.

    In place of a picture that cannot be drawn stands the reason.
    """
    parts = [Markup(html_fragment(report))]
    for picture in PICTURES:
        if subject is None or picture.name not in names:
            continue
        try:
            figure = first_figure(picture, subject)
        except RequestError as error:
            parts.append(SENTENCE.format(str(error)))
        else:
            if figure is not None:
                with style.style():
                    content = base64.b64encode(style.encoded(figure)).decode()
                parts.append(PICTURE.format(picture.name, content))
    return "\n".join(parts)
