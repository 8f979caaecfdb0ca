"""Nested settings, walked in one way."""

from attnexp.runs.settings import cells, clean, leaves, without

NESTED = {"a": {"b": 2.0, "c": {"d": None}}, "e": [0.9, 1.0, {"f": None}], "g": {}, "h": "x"}


def test_leaves_have_dotted_paths_in_order():
    assert list(leaves(NESTED)) == [
        ("a.b", 2.0),
        ("a.c.d", None),
        ("e", [0.9, 1.0, {"f": None}]),
        ("g", {}),
        ("h", "x"),
    ]


def test_what_is_left_out_is_left_out_with_all_that_is_in_it():
    assert without(NESTED, {"a.c", "h"}) == {"a": {"b": 2.0}, "e": NESTED["e"], "g": {}}
    assert NESTED["a"]["c"] == {"d": None}


def test_cells_are_as_on_the_command_line_and_whole_floats_are_whole_numbers():
    assert cells(NESTED | {"yes": True}, frozenset({"h"})) == {
        "a.b": 2,
        "a.c.d": None,
        "e": "[0.9, 1, {f: null}]",
        "yes": True,
    }


def test_text_that_would_steer_a_terminal_is_marked():
    assert clean("\x1b[31mred\n\ud83d") == "\ufffd[31mred\ufffd\ufffd"
    assert clean("ü 漢字") == "ü 漢字"
