"""The functions of docs/inside.md are in the files that it links to; its wings import downwards."""

import ast
import re
import runpy

import pytest
from conftest import ROOT

PAGE = (ROOT / "docs" / "inside.md").read_text()
LINKS = re.compile(r"\[`([\w.]+)`\]\(\.\./([\w/]+\.py)\)")
*_, WORDS = re.split(r"^## .*\n", PAGE, flags=re.MULTILINE)


def named_in(path):
    """The functions and classes of a file, and methods as `Class.method`."""
    body = ast.parse((ROOT / path).read_text()).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    methods = [(f"{one.name}.", node) for one in classes for node in one.body]
    defined = [("", node) for node in body] + methods
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {before + node.name for before, node in defined if isinstance(node, kinds)}


@pytest.mark.parametrize(("name", "path"), sorted(set(LINKS.findall(PAGE))))
def test_a_name_is_in_the_file_that_it_links_to(name, path):
    assert name in named_in(path)


def test_the_wings_are_those_of_the_table_of_parts_and_import_downwards():
    inside = runpy.run_path(str(ROOT / "docs" / "inside.py"))
    assert inside["written"](PAGE) == PAGE, "run `python docs/inside.py`"
    wings = list(inside["WINGS"])
    in_wings = " ".join(inside["WINGS"].values()).split()
    assert sorted(in_wings) == sorted(inside["parts"]())
    for place, wing in enumerate(wings):
        assert set(inside["imports"](wing)) <= set(wings[place + 1 :])


def test_each_word_is_explained_once_and_in_order():
    words = re.findall(r"^- \*\*([\w ]+)\*\*: ", WORDS, re.MULTILINE)
    assert words == sorted(set(words))
