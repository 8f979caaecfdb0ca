"""What a value from YAML must be, and the sentence for one that is not."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pytest
import torch

from attnexp.config.schema import check_type
from attnexp.core.errors import RequestError

FITTING = [
    (3, int),
    (3, float),
    (None, float | None),
    ("learned", float | Literal["learned"]),
    ([1, 2.5], tuple[float, float]),
    ([1], Sequence[float]),
    ({"a": 1}, Mapping[str, Any]),
    (3, float | torch.Tensor),
    ("anything", torch.dtype),
    ("anything", Callable[[], int]),
    ("anything", "a forward reference"),
]


@pytest.mark.parametrize(("value", "annotation"), FITTING, ids=str)
def test_a_value_that_fits_is_accepted(value, annotation):
    check_type(value, annotation, "model.width")


MISFITS = [
    ("loud", float, "must be a number, got 'loud'"),
    (True, int, "must be a whole number, got True"),
    (1.5, int | None, "must be a whole number or null, got 1.5"),
    ("max", Literal["mean", "sum"], "must be mean or sum, got 'max'"),
    (3, Literal["mean", "sum"], "must be mean or sum, got 3"),
    (
        "lerned",
        float | Literal["learned"],
        "must be a number or learned, got 'lerned'. Did you mean 'learned'[?]",
    ),
    ("fast", float | torch.Tensor, "must be a number, got 'fast'"),
    ([1, 2, 3], tuple[float, float], r"must be a list of length 2, got \[1, 2, 3\]"),
    (["de", None], list[str], r"\[1\] must be text, got None"),
    (10**40, int, "must be within -2\\^63 and 2\\^63, got 1.000e\\+40"),
    (float("nan"), float, "must be a number, got nan"),
]


@pytest.mark.parametrize(("value", "annotation", "sentence"), MISFITS, ids=str)
def test_a_value_that_does_not_fit_is_refused_by_name(value, annotation, sentence):
    with pytest.raises(RequestError, match=rf"^model\.width ?{sentence}$"):
        check_type(value, annotation, "model.width")


@pytest.mark.parametrize("value", [{"a": [1, "x"]}, {"a": 3}])
def test_a_misfit_inside_a_mapping_is_refused(value):
    with pytest.raises(RequestError, match=r"a value inside decides must be a (number|list), got"):
        check_type(value, Mapping[str, Sequence[float]], "decides")
