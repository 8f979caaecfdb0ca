"""Recall among noise, read back with a dictionary."""

import re
from typing import Any

import pytest
import torch

from attnexp.data.noisy_recall import NoisyRecall

SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "length": 40,
    "noise_vocab_size": 5,
}
SETS = ("train", "validation", "test")


def build(seed=0, **settings: Any) -> NoisyRecall:
    return NoisyRecall(torch.Generator().manual_seed(seed), **SMALL | settings)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.8, 0.99])
def test_each_answer_is_what_the_example_told_before(share, asked_of):
    data = build(noise_share=share)
    for name in SETS:
        for sequence, due in asked_of(data, getattr(data, name)):
            assert len(sequence) == 40 - 1
            told: dict[str, str] = {}
            expected = []
            for place in range(0, len(sequence), 2):
                key = sequence[place]
                if key.startswith("n"):
                    assert sequence[place + 1].startswith("n")
                    continue
                assert key.startswith("k")
                if key in told:
                    expected.append((place, told[key]))
                if place + 1 < len(sequence):
                    value = sequence[place + 1]
                    assert value.isdigit()
                    assert told.setdefault(key, value) == value
            assert due == expected
            assert due[-1][0] == len(sequence) - 1


def test_noise_has_its_share_and_symbols_of_its_own(asked_of):
    """Of 20 slots the last is a pair, and so is one of the others: 18 are noise at the share."""
    data = build(num_train=3_000, noise_share=0.4)
    assert data.spec.target_vocab[3 + 16 :] == ("n0", "n1", "n2", "n3", "n4")
    noise = [s for sequence, _ in asked_of(data, data.train) for s in sequence if s[0] == "n"]
    assert len(noise) / (3_000 * 2 * 18) == pytest.approx(0.4, abs=0.01)
    for symbol in set(noise):
        assert noise.count(symbol) / len(noise) == pytest.approx(1 / 5, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise_share": 1.0}, "noise_share must be at least 0 and below 1, got 1.0"),
        ({"noise_share": -0.1}, "noise_share must be at least 0 and below 1, got -0.1"),
        ({"noise_vocab_size": 0}, "noise_vocab_size must be at least 1, got 0"),
        (
            {"length": 11},
            "length must be even and at least 4, because pairs of two symbols are stated and told "
            "again, got 11",
        ),
        (
            {"vocab_size": 0},
            "vocab_size must be at least 2, because half are keys and half values, got 0",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)
