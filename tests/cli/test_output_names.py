"""The name that --output is given says what is written there, and no other is taken."""

from pathlib import Path

import pytest

from attnexp.cli.arguments import folder


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        *(
            (f"report --output page{ending}", f"page{ending} must end with .htm or .html: the page")
            for ending in (".pdf", ".docx", ".md", ".png", "", ".html.gz")
        ),
        ("claims --output page.html", "page.html must end with .markdown or .md: the records"),
        *(
            (
                f"plot --output fig.{ending}",
                f"fig.{ending} ends like a file, and a folder is expected: write fig, "
                f"and --format {ending.lower()} for the pictures",
            )
            for ending in ("pdf", "png", "svg", "gif", "PDF")
        ),
        *(
            (
                f"plot --output paper/fig.{ending}",
                "write paper/fig, and --format gif, pdf, png or svg for the pictures",
            )
            for ending in ("html", "docx", "eps", "jpg", "tex")
        ),
        ("import csv runs.csv --output runs.csv", "a folder is expected: write runs. `"),
        ("new score laplace --into laplace.py", "a folder is expected: write laplace. `"),
    ],
)
def test_a_name_that_promises_something_else_is_refused(words, sentence, refused, tmp_path):
    said = refused(*words.split())
    assert sentence in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["paper", "paper.v2", ".hidden", "2026.11", "a.b.c", "."])
def test_names_of_folders_may_have_points(name):
    assert folder(name) == Path(name)
