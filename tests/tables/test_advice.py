"""Rows whose seeds fall into two groups."""

import pytest

from attnexp.tables.advice import split_rows
from attnexp.tables.entries import Request, divide


def sentences(runs) -> list[str]:
    (part,) = divide(runs, Request())
    return list(split_rows(part))


def shares(better: str) -> dict[str, dict[str, str]]:
    return {"units": {"test_mse": "share"}, "better": {"test_mse": better}}


@pytest.mark.parametrize(
    ("better", "words"),
    [
        ("higher", "1 of 4 seeds of a stayed behind in test_mse: 0.1 against 0.9, 0.9 and 0.95."),
        ("lower", "3 of 4 seeds of a stayed behind in test_mse: 0.9, 0.9 and 0.95 against 0.1."),
    ],
)
def test_the_group_that_is_worse_stayed_behind(sweep_of, better: str, words: str):
    (sentence,) = sentences(sweep_of({"a": [0.9, 0.1, 0.95, 0.9]}, **shares(better)))
    assert sentence.startswith(words)


def test_metrics_without_bounds_and_without_direction_have_no_groups(sweep_of):
    values = {"a": [0.9, 0.1, 0.95, 0.9]}
    assert sentences(sweep_of(values)) == []
    assert sentences(sweep_of(values, units={"test_mse": "share"}, better={})) == []
