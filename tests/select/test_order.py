"""The order of runs."""

import pytest

from attnexp.select.order import sort_runs


@pytest.mark.parametrize(
    ("better", "by", "order"),
    [
        ("lower", "score", [0.1, 0.2, 0.3]),
        ("lower", "-score", [0.3, 0.2, 0.1]),
        ("higher", "score", [0.3, 0.2, 0.1]),
        ("higher", "-score", [0.1, 0.2, 0.3]),
    ],
)
def test_the_best_come_first_and_the_missing_last(frame, better, by, order):
    direction = {"better": {"score": better}, "primary": "score"}
    runs = [({"seed": i}, {"metrics": {"score": x}, **direction}) for i, x in enumerate(order[::2])]
    runs += [({"seed": 8}, {"metrics": {"score": None}, **direction})]
    runs += [({"seed": 9}, {"metrics": {"score": order[1]}, **direction})]
    found = sort_runs(frame(*runs), by)
    assert found.data["score"].tolist()[:3] == order
    assert found.data["seed"].tolist()[3] == 8
