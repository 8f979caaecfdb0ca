"""Flip-flop sequences, carried out one instruction at a time."""

import re
from collections import Counter
from typing import Any

import pytest
import torch

from attnexp.data.flip_flop import FlipFlop
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "min_length": 8,
    "max_length": 11,
    "write_prob": 0.3,
}


def build(**settings: Any) -> FlipFlop:
    return FlipFlop(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """Instructions, the answer and its gold place, without padding."""
    for i in range(len(batch)):
        source = symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab)
        (answer,) = symbols(batch.targets[i], data.spec.target_vocab)
        assert list(symbols(batch.queries[i], data.spec.target_vocab)) == ["r"]
        yield list(zip(source[::2], source[1::2], strict=True)), answer, int(batch.alignment[i])


def test_reading_returns_what_was_written_last():
    data, lengths = build(), set()
    for name in SETS:
        for instructions, answer, gold in examples(data, getattr(data, name)):
            assert instructions[0][0] == "w"
            memory = place = None
            for step, (command, bit) in enumerate(instructions):
                assert command in {"w", "i"}
                assert bit in {"0", "1"}
                if command == "w":
                    memory, place = bit, 2 * step + 1
            assert (answer, gold) == (memory, place)
            lengths.add(len(instructions) + 1)
    assert lengths == {8, 9, 10, 11}


def test_bits_are_even_and_writes_have_their_probability():
    data = build(num_train=9_000, min_length=15, max_length=15)
    counts = Counter(
        (step > 0, *instruction)
        for instructions, *_ in examples(data, data.train)
        for step, instruction in enumerate(instructions)
    )
    later = 9_000 * 13
    for bit in ("0", "1"):
        assert counts[True, "w", bit] / later == pytest.approx(0.3 / 2, abs=0.005)
        assert counts[True, "i", bit] / later == pytest.approx(0.7 / 2, abs=0.005)
        assert counts[False, "w", bit] / 9_000 == pytest.approx(1 / 2, abs=0.02)


@pytest.mark.parametrize(("write_prob", "place"), [(0, 0), (1, -1)])
def test_without_or_with_all_writes_the_first_or_last_bit_is_read(write_prob, place):
    data = build(write_prob=write_prob)
    for instructions, answer, _ in examples(data, data.train):
        assert answer == instructions[place][1]


def test_what_is_published_has_32_to_64_symbols():
    data = FlipFlop(torch.Generator().manual_seed(0), 400, 10, 10)
    lengths = {2 * len(told) + 1 for told, *_ in examples(data, data.train)}
    assert lengths == set(range(31, 64, 2))


def test_the_test_set_may_have_other_lengths():
    data = build(test_lengths=[30, 20])
    assert Counter(len(told) + 1 for told, *_ in examples(data, data.test)) == {20: 15, 30: 15}
    assert (data.spec.max_source, data.spec.test_max_source) == (20, 58)


def test_no_string_of_bits_comes_twice():
    data = build(num_train=22, num_validation=4, num_test=6, min_length=6, max_length=6)
    bits = {
        tuple(bit for _, bit in told)
        for name in SETS
        for told, *_ in examples(data, getattr(data, name))
    }
    assert len(bits) == 32


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"test_lengths": [1, 9]},
            "lengths must be at least 2, because an instruction writes and one reads, got 1",
        ),
        ({"write_prob": -0.1}, "write_prob must be within 0 to 1, got -0.1"),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
        (
            {"min_length": 4, "max_length": 5},
            "num_train + num_validation + num_test is 350, but bits of 4 to 5 instructions make "
            "only 24 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)
