"""Other names for rows."""

import pytest

from attnexp.select.renaming import KEPT, Renaming


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("dot on sine, seed 0", "Luong on sine, seed 0"),
        ("dot, width=1", "Luong, narrow"),
        ("dot, model.width=1", "Luong, narrow"),
        ("scaled_dot, width=12", "scaled_dot, width=12"),
        ("score.dot, width=1.5", "score.dot, width=1.5"),
        ("dot-product", "dot-product"),
        ("gaussian, model.width=2 has", "flat has"),
        ("gaussian, model.width=21 has", "gaussian, model.width=21 has"),
    ],
)
def test_names_replace_whole_words_the_longest_first(text, named):
    names = {"dot": "Luong", "width=1": "narrow", "gaussian, width=2": "flat"}
    assert Renaming(names)(text) == named
    assert KEPT(text) == text


def test_a_new_name_is_not_renamed_again():
    assert Renaming({"a": "b", "b": "a"})("a, b") == "b, a"
    assert Renaming({"dot": r"\1 dot"})("dot") == r"\1 dot"


def test_a_whole_label_has_a_name_of_its_own():
    names = Renaming({"gaussian, width=2": "flat", "gaussian": "Gauss"})
    assert names.whole("gaussian, model.width=2") == "flat"
    assert names.whole("gaussian, model.width=20") is None
    assert names.whole("gaussian") is None
