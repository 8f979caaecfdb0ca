"""Short names, and the column that a person means."""

import pytest

from attnexp.core.errors import RequestError
from attnexp.select.names import resolve_name, short_names


def test_names_are_as_short_as_they_can_be_told_apart():
    paths = ["model", "model.width", "arch.encoder.layers", "arch.a.score.dim", "arch.b.score.dim"]
    assert short_names(paths) == {
        "model": "model",
        "model.width": "model.width",
        "arch.encoder.layers": "encoder.layers",
        "arch.a.score.dim": "a.score.dim",
        "arch.b.score.dim": "b.score.dim",
    }


def test_a_name_that_is_the_end_of_another_keeps_its_own():
    assert short_names(["b.c", "a.b.c"]) == {"b.c": "b.c", "a.b.c": "a.b.c"}


def test_the_end_of_a_path_is_enough():
    assert resolve_name("heads", ["arch.heads", "arch.head_dim"]) == "arch.heads"
    assert resolve_name("width", ["width", "model.width"]) == "width"


ALL = "Choose a.dim, arch.heads, b.dim or model."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dim", "'dim' may mean a.dim or b.dim: write one of these"),
        (
            "modle",
            f"There is no column 'modle'. Did you mean 'model'? {ALL}",
        ),
        (
            "haeds",
            f"There is no column 'haeds'. Did you mean 'heads'? {ALL}",
        ),
        ("zzz", "There is no column 'zzz': choose a.dim, arch.heads, b.dim or model."),
    ],
)
def test_unclear_names_are_refused(name: str, text: str):
    with pytest.raises(RequestError) as error:
        resolve_name(name, ["model", "a.dim", "b.dim", "arch.heads"])
    assert str(error.value) == text
