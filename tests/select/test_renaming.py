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


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("dot, hidden_dim=8", "dot, size=8"),
        ("dot, model.hidden_dim=8", "dot, size=8"),
        ("dot, arch.hidden_dim=8", "dot, arch.hidden_dim=8"),
        ("my_hidden_dim=8", "my_hidden_dim=8"),
        ("hidden_dim=16", "wide"),
        ("hidden_dim and test_mse", "hidden_dim and test_mse"),
    ],
)
def test_a_setting_has_another_name_before_its_value(text, named):
    settings = {"model.hidden_dim": "size", "hidden_dim": "size"}
    assert Renaming({"hidden_dim=16": "wide"}, settings, {"test_mse": "MSE"})(text) == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("test_mse of dot, size=8", "MSE of Luong, size=8"),
        ("test_mse 0.12", "MSE 0.12"),
        ("probe.hard.test_mse and test_mse@5", "probe.hard.test_mse and test_mse@5"),
        ("my_test_mse, test_mse.", "my_test_mse, MSE."),
    ],
)
def test_a_sentence_has_the_other_names_of_metrics(text, named):
    assert Renaming({"dot": "Luong"}, {}, {"test_mse": "MSE"}).sentence(text) == named


def test_a_column_has_its_other_name_as_its_head():
    names = Renaming({"dot": "Luong"}, {"model.width": "h", "width": "h"}, {"test_mse": "MSE"})
    assert [*map(names.title, ("model.width", "test_mse", "dot"))] == ["h", "MSE", "dot"]


def test_a_whole_label_has_a_name_of_its_own():
    names = Renaming({"gaussian, width=2": "flat", "gaussian": "Gauss"})
    assert names.whole("gaussian, model.width=2") == "flat"
    assert names.whole("gaussian, model.width=20") is None
    assert names.whole("gaussian") is None
