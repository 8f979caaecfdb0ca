import numpy as np
import pytest

from attnexp import record
from attnexp.errors import RequestError
from attnexp.pictures.stored import open_run


def test_a_regression_map_is_sorted_on_both_sides(regression_run):
    attention = open_run(regression_run()).attention
    one = attention.map("pooling", example=0, layer=0, head=0)
    order = np.argsort(attention.batch["keys"][0, :, 0])
    assert np.array_equal(one.columns.numbers, attention.batch["keys"][0, order, 0])
    assert np.array_equal(one.weights, attention.weights["pooling"][0, 0, 0][:, order])
    assert one.gold is None


def test_a_sequence_map_leaves_padding_out_and_has_its_symbols(sequence_run):
    attention = open_run(sequence_run()).attention
    one = attention.map("cross", example=0, layer=0, head=0)
    assert one.weights.shape == (4, 4)
    assert one.columns.symbols[:3] == one.rows.symbols[2::-1]
    assert one.columns.symbols[3] == one.rows.symbols[3] == "<eos>"
    assert one.gold.tolist() == [2, 1, 0, -1]


def test_a_missing_run_and_missing_attention_are_said(tmp_path, regression_run):
    with pytest.raises(RequestError, match=r"holds no summary\.json"):
        open_run(tmp_path / "nowhere")
    run = open_run(regression_run())
    (run.folder / record.ATTENTION).unlink()
    with pytest.raises(RequestError, match=r"holds no attention\.safetensors"):
        _ = run.attention


def test_an_unknown_attention_is_said_with_the_choices(sequence_run):
    with pytest.raises(RequestError, match=r"no attention 'pooling' in .*: it holds cross"):
        open_run(sequence_run()).attention_named("pooling")
