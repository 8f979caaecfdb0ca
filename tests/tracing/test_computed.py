"""What a page gets to compute a run: numbers in units, the truth, and reasons why not."""

import csv
import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from composed import prepared
from interpreted import interpreted, needs_node

from attnexp.core.errors import RequestError
from attnexp.core.writing import Words
from attnexp.data.text import encode_source
from attnexp.tracing import computed as of_runs
from attnexp.tracing.computed import SPARE

computed = partial(of_runs.computed, label="", seed=0)
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
    points = list(zip(content.x, content.y, strict=True))
    assert all(min(abs(x - a) + abs(y - b) for a, b in rows) < 1e-2 for x, y in points)
    x, y = (torch.tensor(each, dtype=torch.float64) for each in (content.x, content.y))
    assert [content.units.x.name, content.units.y.name] == ["t", "height"]
    across, up = content.units.x, content.units.y
    keys = ((x - across.mean) / across.deviation).float()
    values = ((y - up.mean) / up.deviation).float()
    grid = (torch.tensor(content.grid) - across.mean) / across.deviation
    spare = [0.0] * SPARE
    inputs = {
        "queries": grid.tolist(),
        "keys": keys.tolist() + spare,
        "values": values.tolist() + spare,
        "mask": [1.0] * len(keys) + spare,
    }
    job = {"program": content.programs.fit, "inputs": inputs, "outputs": ["outputs"]}
    (found,) = interpreted([job])
    distances = (grid.double()[:, None] - keys.double()) ** 2
    kernel = torch.exp(-distances * 0.5**2 / 2)
    expected = (kernel / kernel.sum(dim=-1, keepdim=True)) @ y
    torch.testing.assert_close(
        found["outputs"].double() * up.deviation + up.mean, expected, rtol=1e-3, atol=1e-3
    )


def test_the_truth_of_a_curve_is_given(table):
    content = computed(prepared("model=gaussian", *CURVE))
    x = torch.tensor(content.grid)
    torch.testing.assert_close(
        torch.tensor(content.truth), 2 * torch.sin(x) + x**0.8, rtol=1e-3, atol=1e-3
    )
    assert computed(table[1]).truth is None


def test_several_inputs_are_counted(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b,c\n" + "".join(f"{i},{i * i},{7 - i}\n" for i in range(9)))
    run = prepared("model=gaussian", "data=table", f"data.path={path}", "data.x=[a,b]", "data.y=c")
    with pytest.raises(RequestError, match="it has 2 inputs and 1 outputs"):
        computed(run)


@pytest.mark.check
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


SOURCES = {
    "Chinese": lambda draw: "".join(draw.choices("一二三四五六七八九", k=draw.randint(3, 6))),
    "Japanese": lambda draw: " ".join(draw.choices(("カタ", "カナ", "ひら", "漢字"), k=4)),
    "Korean": lambda draw: " ".join(draw.choices(("안녕", "세계", "서울"), k=5)),
    "Latin": lambda draw: "I " + ", ".join(draw.choices(("don't", "3.14", "(go)"), k=3)) + "!",
}


def of_pairs(folder, sources, *words):
    """The run on pairs of texts, whose targets are the sources."""
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{source}\t{source}\n" for source in dict.fromkeys(sources)))
    return prepared("data=pairs", f"data.path={path}", "arch=rnn", "arch.hidden_dim=4", *words)


@pytest.mark.check
@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("Chinese", "word"),
        *(
            pytest.param(kind, level, marks=pytest.mark.slow)
            for kind, level in (
                ("Japanese", "character"),
                ("Japanese", "word"),
                ("Korean", "word"),
                ("Latin", "whitespace"),
            )
        ),
    ],
)
def test_the_first_source_is_read_as_a_test_source(tmp_path, kind, level):
    draw = random.Random(0)
    sources = [SOURCES[kind](draw) for _ in range(60)]
    run = of_pairs(tmp_path, sources, f"data.level={level}", "data.min_count=2")
    content, spec = computed(run), run.dataset.spec
    known = [ids for ids in run.dataset.test.keys.tolist() if spec.unknown not in ids]
    typed = [[i for i in ids if i != spec.pad] for ids in known]
    assert encode_source(content.first, spec).tolist() in typed


@pytest.mark.check
def test_a_source_with_a_symbol_that_no_text_has_is_not_the_first(tmp_path):
    run = of_pairs(tmp_path, [f"a {'bcd'[i % 3]} w{i}" for i in range(40)], "data.min_count=2")
    content, marks = computed(run), ("<pad>", "<bos>", "<eos>", "<unk>")
    assert content.first == ""
    offered = [content.source_vocab[i] for i in content.typed]
    assert sorted(offered) == sorted(set(run.dataset.spec.source_vocab) - set(marks))
    assert set(marks) <= set(content.source_vocab)


class Backwards(Words):
    """Words in the other order."""


def test_a_writing_that_a_page_does_not_know_is_named(tmp_path):
    run = of_pairs(tmp_path, [f"a b {i}" for i in range(40)])
    run.dataset.spec = replace(run.dataset.spec, source_writing=Backwards())
    with pytest.raises(RequestError, match=r"Backwards, not by one of .*Spaced, Characters, Words"):
        computed(run)


@pytest.mark.parametrize(("attention", "signed"), [("plain", False), ("differential", True)])
def test_a_page_knows_whether_weights_may_be_negative(attention, signed):
    sizes = (f"data.{name}=8" for name in ("num_train", "num_validation", "num_test"))
    words = ("arch=pooling", "data=reverse", "arch.dim=8", "arch.heads=2", *sizes)
    run = prepared(*words, f"attention={attention}")
    assert of_runs.computed(run, "", 0).signed == signed
