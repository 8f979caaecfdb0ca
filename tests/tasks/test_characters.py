"""Bits per character by hand."""

import math

import pytest
import torch

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.core.batch import Batch, Prediction
from attnexp.data.running_text import RunningText
from attnexp.runs.sources import digest
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.tasks.characters import NextCharacter

ALMANAC = "attnexp:almanac.txt"


class Halves(DecoderOnly):
    """Gives the right character 1/2 at the first four places of a window, and 1/8 behind them."""

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        weights = super().forward(batch, need_weights).weights
        right = torch.full(batch.targets.shape, 1 / 8)
        right[:, :4] = 1 / 2
        size = len(self.target_rows)
        others = ((1 - right) / (size - 1)).unsqueeze(-1).expand(-1, -1, size)
        outputs = others.scatter(-1, batch.targets.unsqueeze(-1), right.unsqueeze(-1)).log()
        return Prediction(outputs, weights)


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    return RunningText(generator, ALMANAC, str(digest(ALMANAC)), length=4, num_train=9, test=0.01)


@pytest.fixture
def model(data):
    torch.manual_seed(0)
    return Halves(data.spec, ScaledDot, layers=1, heads=1, dim=8, feed_forward=False).eval()


def test_bits_at_each_length_by_hand(data, model):
    """1 bit for each of four characters; then (4 + 4 * 3) / 8, and (4 + 12 * 3) / 16."""
    with torch.no_grad():
        metrics = NextCharacter().evaluate(model, data).metrics
    assert metrics["bits_per_character"] == pytest.approx(1.0)
    assert metrics["bits_per_character_2x"] == pytest.approx(2.0)
    assert metrics["bits_per_character_4x"] == pytest.approx(2.5)
    assert metrics["val_bits_per_character"] == pytest.approx(1.0)
    assert metrics["unigram_bits"] == data.chance["unigram_bits"]
    assert metrics["bigram_bits"] == data.chance["bigram_bits"]
    assert metrics["test_loss"] == pytest.approx(5.5 / 3 * math.log(2))


def test_the_validation_has_one_length(data, model):
    with torch.no_grad():
        found = NextCharacter().validate(model, data.validation)
    assert found["bits_per_character"] == pytest.approx(1.0)
    assert "bits_per_character_2x" not in found
