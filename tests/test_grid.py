"""Every scoring function trains on every data set, found by listing conf/."""

import json

import pytest

from attnexp import record


@pytest.mark.parametrize("heads", [1, 4])
def test_model_trains_on_data(in_process, tmp_path, model_name, data_name, heads):
    if data_name not in ("sine", "sine_v1"):
        pytest.skip("sequence data have a grid of their own")
    answer = in_process(
        f"model={model_name}",
        f"data={data_name}",
        f"arch.heads={heads}",
        "train.max_epochs=3",
        "figures=false",
        "device=cpu",
    )
    assert answer.returncode == 0, answer.stderr
    (folder,) = (tmp_path / "outputs").iterdir()
    summary = record.read_summary(folder)
    assert summary["status"] == "finished"
    assert summary["choices"]["model"] == model_name
    assert all(value is not None for value in summary["metrics"].values())
    tensors, metadata = record.read_tensors(folder / record.ATTENTION)
    weights = tensors["weights.pooling"]
    assert metadata["axes"]["weights.pooling"] == ["batch", "layers", "heads", "queries", "keys"]
    assert weights.shape[:3] == (1, 1, heads)
    assert weights.min() >= 0
    assert weights.max() <= 1 + 1e-6
    sums = weights.sum(axis=-1)
    assert ((abs(sums - 1) < 1e-5) | (sums == 0)).all()


def test_every_choice_opens_with_a_line_that_says_what_it_is():
    from attnexp.catalogue import GROUPS, choices

    for group in GROUPS:
        for choice in choices(group):
            assert len(choice.line) > 10, choice.path
            assert choice.line.endswith((".", "?")), choice.path


def test_same_data_whichever_model(in_process, tmp_path):
    keys = []
    for model in ("average", "additive"):
        in_process(f"model={model}", "train.max_epochs=1", "figures=false", "seed=5")
    for folder in (tmp_path / "outputs").iterdir():
        tensors, _ = record.read_tensors(folder / record.ATTENTION)
        keys.append(json.dumps([tensors["keys"].tolist(), tensors["values"].tolist()]))
    assert len(keys) == 2
    assert keys[0] == keys[1]
