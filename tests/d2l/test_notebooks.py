"""The PyTorch cells of the book's chapter, with attnexp.d2l in place of its package.

`ATTNEXP_D2L_BOOK` names a checkout of d2l-ai/d2l-en at v1.0.3, and `ATTNEXP_D2L_ZH_BOOK` one of
d2l-ai/d2l-zh, release 2.0.0. This project holds neither.
"""

import ast
import os
import re
from pathlib import Path

import pytest
import torch

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

ZH_BOOK = os.environ.get("ATTNEXP_D2L_ZH_BOOK", "")
ZH_CHAPTER = "chapter_attention-mechanisms"
ZH_CELLS = {
    "attention-cues.md": 2,
    "nadaraya-waston.md": 13,
    "attention-scoring-functions.md": 9,
    "bahdanau-attention.md": 7,
    "multihead-attention.md": 4,
    "self-attention-and-positional-encoding.md": 6,
    "transformer.md": 19,
}
"""The same of the Chinese edition: 60, and 67 with those that import."""

PRINTED = {
    ("nadaraya-waston.md", 2): 50,
    ("nadaraya-waston.md", 7): (2, 1, 6),
    ("nadaraya-waston.md", 8): [[[4.5]], [[14.5]]],
    ("attention-scoring-functions.md", 5): [[[2, 3, 4, 5]], [[10, 11, 12, 13]]],
    ("attention-scoring-functions.md", 8): [[[2, 3, 4, 5]], [[10, 11, 12, 13]]],
    ("bahdanau-attention.md", 3): ((4, 7, 10), 3, (4, 7, 16), 2, (4, 16)),
    ("multihead-attention.md", 4): (2, 4, 100),
    ("self-attention-and-positional-encoding.md", 2): (2, 4, 100),
    ("transformer.md", 5): (2, 3, 4),
    ("transformer.md", 7): (2, 100, 24),
    ("transformer.md", 9): (2, 100, 24),
    ("transformer.md", 11): (2, 100, 24),
    ("transformer.md", 15): (2, 4, 10, 10),
}
"""What the Chinese edition prints under a cell, where it does not depend on random numbers."""

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


def zh_cells(text):
    """The code of PyTorch's cells of the Chinese edition, in order."""
    found = re.findall(r"^```\{\.python \.input.*\}\n#@tab (.*)\n((?:.*\n)*?)```", text, re.M)
    return [code for tabs, code in found if {"pytorch", "all"} & set(re.split(r",\s*", tabs))]


def value(code, names):
    """Run a cell, and return the value of its last line if that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None


@pytest.mark.slow
@pytest.mark.skipif(not ZH_BOOK, reason="ATTNEXP_D2L_ZH_BOOK does not name a checkout of the book")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ZH_CELLS)
def test_the_cells_of_a_file_of_the_chinese_edition_run(name, tmp_path, monkeypatch):
    """In two epochs of training, where the book has 250 or 200."""
    monkeypatch.chdir(tmp_path)
    d2l.plt.switch_backend("Agg")
    first, *others = zh_cells((Path(ZH_BOOK) / ZH_CHAPTER / name).read_text())
    assert IMPORT in first
    assert len(others) == ZH_CELLS[name]
    names = {"d2l": d2l}
    exec(first.replace(IMPORT, ""), names)
    compared = set()
    for number, code in enumerate(others, start=1):
        found = value(re.sub(r"(num_epochs, device = [\d.]+), \d+", r"\1, 2", code), names)
        if (name, number) in PRINTED:
            expected = PRINTED[name, number]
            if torch.is_tensor(found):
                torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float32))
            else:
                assert found == expected
            compared.add((name, number))
    d2l.plt.close("all")
    assert compared == {key for key in PRINTED if key[0] == name}
