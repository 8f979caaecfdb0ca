"""`train.attention_every` keeps how the attention grows, and changes nothing else."""

import numpy as np


def folders(path):
    return sorted(path.parent for path in path.rglob("summary.json"))


def test_snapshots_lie_beside_a_run_that_they_do_not_change(succeeds, tmp_path):
    from attnexp.runs import files

    for name, every in (("plain", "null"), ("kept", "4")):
        succeeds(
            "train.max_epochs=10",
            "model=additive",
            "figures=false",
            f"train.attention_every={every}",
            f"output_dir={name}",
        )
    (plain,), (kept,) = folders(tmp_path / "plain"), folders(tmp_path / "kept")
    assert plain.name == kept.name
    for file in (files.MODEL, files.ATTENTION, files.PREDICTIONS):
        assert (plain / file).read_bytes() == (kept / file).read_bytes()
    assert not (plain / files.SNAPSHOTS).exists()
    arrays, metadata = files.read_tensors(kept / files.SNAPSHOTS)
    assert arrays["epochs"].tolist() == [0, 4, 8]
    assert arrays["weights.pooling"].shape == (3, 1, 1, 1, 50, 50)
    assert metadata["axes"]["weights.pooling"][0] == "epochs"
    np.testing.assert_allclose(arrays["weights.pooling"].sum(axis=-1), 1, atol=1e-5)
    assert not np.allclose(arrays["weights.pooling"][0], arrays["weights.pooling"][2])
