"""The numbers of a prediction are found in a sentence of any language."""

import pytest

from attnexp.course.forecast import NUMBER


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("It is 0.25, or -2e-3.", ["0.25", "-2e-3"]),
        ("误差的均值是0.25。", ["0.25"]),
        ("误差的均值为 0.25、不是0.2。", ["0.25", "0.2"]),
        ("entmax15 and v1.5 are names", []),
    ],
)
def test_the_numbers_of_a_sentence(sentence, numbers):
    assert NUMBER.findall(sentence) == numbers
