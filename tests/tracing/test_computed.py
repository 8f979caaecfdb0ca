"""What a page gets to compute a run: numbers in units, the truth, and reasons why not."""

import csv

import pytest
import torch
from composed import prepared
from interpreted import interpreted, needs_node

from attnexp.core.errors import RequestError
from attnexp.tracing.computed import SPARE, computed

CURVE = ("data.num_train=12", "data.num_test=5")


@pytest.fixture
def table(tmp_path):
    """The rows of a file with one input, and the run on it."""
    rows = [(1000 + 3 * i, 5e-3 * i * i) for i in range(20)]
    path = tmp_path / "own.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("t", "height"), *rows])
    words = ("data=table", f"data.path={path}", "data.x=[t]", "data.y=height")
    return rows, prepared("model=gaussian", "model.width=0.5", *words)


@needs_node
def test_a_table_of_one_input_is_computed_in_its_units(table):
    rows, run = table
    content = computed(run)
    points = list(zip(content["x"], content["y"], strict=True))
    assert all(min(abs(x - a) + abs(y - b) for a, b in rows) < 1e-2 for x, y in points)
    x, y = (torch.tensor(content[name], dtype=torch.float64) for name in ("x", "y"))
    assert [content["units"][name]["name"] for name in ("x", "y")] == ["t", "height"]
    mean, deviation = content["units"]["x"]["mean"], content["units"]["x"]["deviation"]
    keys = ((x - mean) / deviation).float()
    mean, deviation = content["units"]["y"]["mean"], content["units"]["y"]["deviation"]
    values = ((y - mean) / deviation).float()
    grid = (torch.tensor(content["grid"]) - content["units"]["x"]["mean"]) / (
        content["units"]["x"]["deviation"]
    )
    spare = [0.0] * SPARE
    inputs = {
        "queries": grid.tolist(),
        "keys": keys.tolist() + spare,
        "values": values.tolist() + spare,
        "mask": [1.0] * len(keys) + spare,
    }
    job = {"program": content["programs"]["fit"], "inputs": inputs, "outputs": ["outputs"]}
    (found,) = interpreted([job])
    distances = (grid.double()[:, None] - keys.double()) ** 2
    kernel = torch.exp(-distances * 0.5**2 / 2)
    expected = (kernel / kernel.sum(dim=-1, keepdim=True)) @ y
    torch.testing.assert_close(
        found["outputs"].double() * deviation + mean, expected, rtol=1e-3, atol=1e-3
    )


def test_the_truth_of_a_curve_is_given(table):
    content = computed(prepared("model=gaussian", *CURVE))
    x = torch.tensor(content["grid"])
    torch.testing.assert_close(
        torch.tensor(content["truth"]), 2 * torch.sin(x) + x**0.8, rtol=1e-3, atol=1e-3
    )
    assert computed(table[1])["truth"] is None


def test_several_inputs_are_counted(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b,c\n" + "".join(f"{i},{i * i},{7 - i}\n" for i in range(9)))
    run = prepared("model=gaussian", "data=table", f"data.path={path}", "data.x=[a,b]", "data.y=c")
    with pytest.raises(RequestError, match="it has 2 inputs and 1 outputs"):
        computed(run)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 1e6])
@pytest.mark.parametrize(
    "words", [("model=additive", "arch.features=4"), ("model=gaussian_learned",)]
)
def test_parameters_that_a_page_cannot_hold_are_one_sentence(words, number):
    run = prepared(*words, *CURVE)
    with torch.no_grad():
        next(run.model.parameters()).flatten()[0] = number
    with pytest.raises(
        RequestError, match=r"^some of its parameters are NaN, infinite or above 65,504$"
    ):
        computed(run)
