"""The PyTorch cells of the book's chapter, with attnexp.d2l in place of its package.

`ATTNEXP_D2L_BOOK` names a checkout of d2l-ai/d2l-en at v1.0.3, which this project does not hold.
"""

import os
import re
from pathlib import Path

import pytest

from attnexp import d2l

BOOK = os.environ.get("ATTNEXP_D2L_BOOK", "")
CHAPTER = "chapter_attention-mechanisms-and-transformers"
CELLS = {
    "queries-keys-values.md": 2,
    "attention-pooling.md": 9,
    "attention-scoring-functions.md": 10,
    "bahdanau-attention.md": 7,
    "multihead-attention.md": 3,
    "self-attention-and-positional-encoding.md": 5,
    "transformer.md": 20,
    "vision-transformer.md": 7,
}
"""The number of cells of each file, without the one that imports: 63."""

IMPORT = "from d2l import torch as d2l\n"


class Tab:
    """The book's choice between frameworks, which its tool leaves out of notebooks."""

    def selected(self, *names):
        return "pytorch" in names


def cells(text):
    """The code of PyTorch's cells, in order."""
    found = re.findall(r"^```\{\.python \.input.*\}\n%%tab (.*)\n((?:.*\n)*?)```", text, re.M)
    return [code for tabs, code in found if {"pytorch", "all"} & set(tabs.split(", "))]


@pytest.mark.slow
@pytest.mark.skipif(not BOOK, reason="ATTNEXP_D2L_BOOK does not name a checkout of the book")
@pytest.mark.filterwarnings("default")  # the book's cells warn with a current pandas
@pytest.mark.parametrize("name", CELLS)
def test_the_cells_of_a_file_run(name, tmp_path, monkeypatch):
    """In two epochs of training, where the book has 10 or 30. There are no images."""
    (tmp_path / "notebook").mkdir()
    monkeypatch.chdir(tmp_path / "notebook")
    d2l.plt.switch_backend("Agg")
    first, *others = cells((Path(BOOK) / CHAPTER / name).read_text())
    assert IMPORT in first
    assert len(others) == CELLS[name]
    names = {"d2l": d2l, "tab": Tab()}
    exec(first.replace(IMPORT, ""), names)
    stopped = {}
    for number, code in enumerate(others, start=1):
        try:
            exec(re.sub(r"max_epochs=\d+", "max_epochs=2", code), names)
        except Exception as error:
            stopped[number] = error
    d2l.plt.close("all")
    assert all("FashionMNIST" in str(error) for error in stopped.values())
    assert len(stopped) == (name == "vision-transformer.md")
