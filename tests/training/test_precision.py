"""Runs in double precision and in bfloat16 beside those in float32."""

import math
from typing import Any

import pytest
import torch
from safetensors.numpy import load_file

from attnexp import load_run
from attnexp.core.errors import RequestError
from attnexp.normalizers.base import Normalizer
from attnexp.runs.summary import read_summary
from attnexp.training.precision import choose_precision

SEQUENCES = (
    "data=reverse",
    "data.num_train=60",
    "data.num_validation=10",
    "data.num_test=10",
    "data.vocab_size=6",
    "data.max_length=3",
    "train.max_epochs=1",
    "train.batch_size=30",
)


@pytest.fixture
def trained(succeeds, tmp_path):
    """Runs a command line, and returns the folder of its run."""

    def train(*words):
        succeeds(*words, f"output_dir={tmp_path / 'new'}")
        (folder,) = (tmp_path / "new").iterdir()
        return folder.rename(tmp_path / folder.name)

    return train


def test_a_regression_has_the_same_numbers_in_every_precision(trained):
    folders = {
        name: trained("figures=false", "seed=1", f"precision={name}")
        for name in ("fp32", "fp64", "bf16")
    }
    assert len(set(folders.values())) == 3  # the precision is part of the key
    plain, double, half = (read_summary(folder).metrics for folder in folders.values())
    names = ("test_mse", "loo_mse", "train_loss", "bandwidth", "pooling.score.width")
    for name in names:
        assert double[name] == pytest.approx(plain[name], rel=1e-3)
        assert half[name] == pytest.approx(plain[name], rel=5e-2)
    for name, dtype in {"fp32": "float32", "fp64": "float64", "bf16": "float32"}.items():
        for file in ("attention.safetensors", "model.safetensors"):
            arrays = load_file(folders[name] / file).values()
            assert {str(each.dtype) for each in arrays} - {"bool"} == {dtype}


slow = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.parametrize(
    "arch",
    [pytest.param("rnn", marks=slow), pytest.param("transformer", marks=slow), "decoder_only"],
)
def test_sequences_in_other_precisions(trained, succeeds, arch):
    """All metrics are finite, and every verb reads the run."""
    folders = {
        name: trained(*SEQUENCES, f"arch={arch}", f"precision={name}", f"figures={name == 'fp64'}")
        for name in ("fp32", "fp64", "bf16")
    }
    losses = {name: read_summary(folder).metrics["test_loss"] for name, folder in folders.items()}
    assert losses["fp64"] == pytest.approx(losses["fp32"], rel=1e-4)
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=2e-2)
    assert losses["bf16"] != losses["fp32"]
    for name, dtype in {"fp64": "float64", "bf16": "float32"}.items():
        summary, run = read_summary(folders[name]), load_run(folders[name])
        assert summary.config["precision"] == name
        metrics: Any = summary.metrics
        assert all(map(math.isfinite, metrics.values()))
        assert str(run.attention.weights["cross"].dtype) == dtype
        for words in (["decode", str(folders[name]), "3 1"], ["show", str(folders[name])]):
            succeeds(*words)
    assert read_summary(folders["fp64"]).notes == []
    assert (folders["fp64"] / "figures" / "attention.png").exists()


def test_weights_of_half_precision_scores_sum_to_one(normalizer_name, settings_of):
    from hydra.utils import instantiate

    normalizer: Normalizer = instantiate(settings_of("normalizer", normalizer_name), heads=1)
    weights = normalizer(torch.linspace(-1, 1, 200).expand(1, 3, 200).bfloat16())
    assert weights.dtype == torch.float32
    if normalizer.sums_to_one:
        assert weights.sum(dim=-1).flatten().tolist() == pytest.approx([1] * 3, abs=1e-5)


def test_an_apple_gpu_has_no_double_precision():
    sentence = "precision=fp64 is not possible with device=mps: use device=cpu"
    with pytest.raises(RequestError, match=sentence):
        choose_precision("fp64", torch.device("mps"))
