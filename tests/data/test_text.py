import re

import pytest
import torch

from attnexp.data.sequences import sequence_batch, sequence_spec
from attnexp.data.text import encode_source, source_text, target_text

FOUR = sequence_batch(*[torch.full((1, 4), 3)] * 3)
NUMBERS = sequence_spec(("0", "1", "10"), ("0", "1", "10"), FOUR, FOUR)
CHARACTERS = sequence_spec((" ", "a", "b"), ("0", "-"), FOUR, FOUR)


def test_numbers_are_joined_by_spaces():
    assert source_text(torch.tensor([5, 3, 4, 2, 0]), NUMBERS) == "10 0 1"
    assert encode_source(" 10  0 1 ", NUMBERS).tolist() == [5, 3, 4, 2]


def test_commas_separate_symbols_that_hold_none():
    assert encode_source("10,0, 1", NUMBERS).tolist() == [5, 3, 4, 2]
    pairs = sequence_spec(("a,b", ",", "c"), ("0",), FOUR, FOUR)
    assert encode_source("a,b , c", pairs).tolist() == [3, 4, 5, 2]
    dates = sequence_spec((" ", ",", "3"), ("0",), FOUR, FOUR)
    assert encode_source("3, 3", dates).tolist() == [5, 4, 3, 5, 2]


def test_characters_are_joined_as_they_are_also_in_targets_without_a_space():
    assert source_text(torch.tensor([4, 3, 5, 2]), CHARACTERS) == "a b"
    assert target_text(torch.tensor([3, 4, 3, 2]), CHARACTERS) == "0-0"
    assert encode_source("a b", CHARACTERS).tolist() == [4, 3, 5, 2]


def test_an_answer_without_an_end_is_shown_whole_with_special_symbols_by_name():
    assert target_text(torch.tensor([3, 0, 1, 5]), NUMBERS) == "0 <pad> <bos> 10"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 7 1", "unknown symbol '7' in '0 7 1': the symbols are '0', '1', '10'"),
        ("0 <eos>", "unknown symbol '<eos>' in '0 <eos>': the symbols are '0', '1', '10'"),
        (" ", "there is no symbol in ' ': the symbols are '0', '1', '10'"),
    ],
)
def test_what_cannot_be_encoded(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        encode_source(text, NUMBERS)
