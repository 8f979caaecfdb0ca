"""Text of the user's own: splits, vocabularies, notes."""

import hashlib
import itertools
import re
from pathlib import Path

import pytest
import torch

from attnexp.core.writing import Words
from attnexp.data.pair_files import read_pairs
from attnexp.data.pairs import Pairs
from attnexp.data.text import encode_source, source_text, target_text, unknown_symbols
from attnexp.runs.sources import digest


def write(path, *pairs):
    """Write pairs into a file, and return its digest."""
    content = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    Path(path).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


NUMBERED = [(f"s{i}", f"t{i}") for i in range(20)]
ONE_LETTER = [(i * "a", i * "b") for i in range(1, 21)]


def built(*pairs, seed=0, **settings):
    sha256 = write("my.tsv", *(pairs or NUMBERED))
    return Pairs(torch.Generator().manual_seed(seed), "my.tsv", sha256, **settings)


def texts(data, split):
    batch = getattr(data, split)
    return [
        (source_text(source, data.spec), target_text(target, data.spec))
        for source, target in zip(batch.keys, batch.targets, strict=True)
    ]


def test_the_sets_are_shares_of_the_file_and_hold_all_of_it():
    data = built(*ONE_LETTER, validation=0.2, test=0.1, level="character")
    sets = [texts(data, split) for split in ("train", "validation", "test")]
    assert [len(part) for part in sets] == [14, 4, 2]
    assert sorted(itertools.chain(*sets)) == ONE_LETTER
    assert data.notes == ()


def test_the_test_set_does_not_depend_on_how_much_is_trained_on():
    few = built(*ONE_LETTER, num_train=3, level="character")
    all_of_it = built(*ONE_LETTER, level="character")
    assert texts(few, "test") == texts(all_of_it, "test")
    assert texts(few, "validation") == texts(all_of_it, "validation")
    assert len(few.train) == 3


def test_all_targets_of_a_source_are_in_one_set_and_right_in_the_test():
    several = [(f"s{i}", f"t{j}") for i in range(10) for j in range(3)]
    data = built(*several, level="character")
    assert len(data.train) == 3 * 8
    assert len(data.validation) == len(data.test) == 1
    assert data.references == (("t0", "t1", "t2"),)
    assert texts(data, "test")[0][1] == "t0"


def test_the_vocabulary_is_of_the_training_data_and_the_rest_is_unknown():
    data = built(level="whitespace", validation=0.1, test=0.1)
    spec = data.spec
    assert spec.source_vocab[:4] == ("<pad>", "<bos>", "<eos>", "<unk>")
    assert set(spec.source_vocab[4:]) == {source for source, _ in texts(data, "train")}
    assert texts(data, "test") == [("<unk>", "<unk>")] * 2
    assert [own for (own,) in data.references] != ["<unk>"] * 2
    assert data.notes == (
        "2 of 2 source symbols of the test set are read as <unk>, which is not in training: "
        "min_count=2 trains it",
        "2 of 2 target symbols of the test set are read as <unk>, which is not in training: "
        "min_count=2 trains it",
    )
    assert unknown_symbols("s99 <unk> s99", spec) == ["s99", "<unk>"]
    assert encode_source("s99", spec).tolist() == [spec.unknown, spec.eos]


def test_rare_symbols_of_training_are_unknown():
    data = built(*[(f"a b{i}", "c") for i in range(10)], min_count=2)
    assert data.spec.source_vocab[4:] == ("a",)
    assert {source for source, _ in texts(data, "train")} == {"a <unk>"}
    assert data.notes == ("1 of 2 source symbols of the test set are read as <unk>",)


def test_what_is_left_out_is_told():
    data = built(*NUMBERED, ("a b c d", "e"), ("s1", "t1"), ("s1", " t1"), max_length=3)
    assert data.notes[:2] == (
        "1 of 23 pairs of my.tsv have a side of more than 3 symbols and are left out",
        "2 of 23 pairs of my.tsv repeat another one and are left out",
    )
    assert sum(len(texts(data, split)) for split in ("train", "validation", "test")) == 20


@pytest.mark.parametrize(
    ("further", "columns", "note"),
    [
        (["CC-BY"], {}, "not used: column 3 of my.tsv"),
        (["CC-BY", ""], {}, "not used: columns 3, 4 of my.tsv"),
        (["x", "y"], {"source": 1, "target": 2}, "not used: columns 3, 4 of my.tsv"),
        (["x"], {"source": 2, "target": 1}, "not used: column 3 of my.tsv"),
        ([], {"source": 2, "target": 1}, None),
        (["x"], {"source": "s0", "target": "t0"}, None),
    ],
)
def test_columns_between_tabs_that_are_not_used_are_told(further, columns, note):
    data = built(
        *[(source, "\t".join([target, *further])) for source, target in NUMBERED], **columns
    )
    assert [each for each in data.notes if "used" in each] == ([note] if note else [])


def test_pairs_with_an_empty_side_are_left_out_and_counted_in_one_note():
    data = built(*NUMBERED, ("a", ""), (" ", "b"), ("", ""), max_length=3)
    assert [note for note in data.notes if "my.tsv" in note] == [
        "3 of 23 pairs of my.tsv have an empty side and are left out"
    ]
    assert sum(len(texts(data, split)) for split in ("train", "validation", "test")) == 20


def test_a_side_of_any_length_is_left_out_and_counted():
    data = built(
        *NUMBERED, ("a " * 10**6, "b"), ("c", "d" * 10**6), ("e", "f " * 51), max_length=50
    )
    assert data.notes[0] == (
        "2 of 23 pairs of my.tsv have a side of more than 50 symbols and are left out"
    )
    assert sum(len(texts(data, split)) for split in ("train", "validation", "test")) == 21


def test_a_set_may_have_a_file_of_its_own_without_what_was_seen():
    test = write("test.tsv", ("s1", "t1"), ("s1", "new"), ("v", "w"), ("x", "y"))
    validation = write("validation.tsv", ("v", "w"), ("s2", "t2"))
    data = built(
        level="character",
        validation_path="validation.tsv",
        validation_sha256=validation,
        test_path="test.tsv",
        test_sha256=test,
    )
    assert len(data.train) == 20
    assert [own[0] for own in data.references] == ["new", "y"]
    assert len(data.validation) == 1
    assert data.notes[:2] == (
        "1 of 2 pairs of validation.tsv are in the training or validation data too and are left "
        "out",
        "2 of 4 pairs of test.tsv are in the training or validation data too and are left out",
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"validation": 0.0}, "validation must be a share between 0 and 1, got 0.0"),
        ({"test": 1.0}, "test must be a share between 0 and 1, got 1.0"),
        ({"min_count": 0}, "min_count must be at least 1, got 0"),
        (
            {"validation": 0.5, "test": 0.5},
            "my.tsv has 20 different sources of up to 50 symbols, and none is left for "
            "training after 10 for validation and 10 for the test",
        ),
        (
            {"max_length": 1, "level": "character"},
            "my.tsv has no pair of texts of 1 to 1 symbols",
        ),
    ],
)
def test_settings_that_leave_nothing_are_refused(settings, sentence):
    with pytest.raises(ValueError) as raised:
        built(**settings)
    assert str(raised.value) == sentence


def test_a_test_file_with_nothing_new_and_the_name_of_a_special_symbol_are_refused():
    seen = write("test.tsv", ("s1", "t1"))
    with pytest.raises(ValueError, match=r"^every pair of test\.tsv is in the training or val"):
        built(test_path="test.tsv", test_sha256=seen)
    with pytest.raises(ValueError, match=r"^my\.tsv holds <eos>, which is the name of a special"):
        built(("a", "<eos>"), *NUMBERED, level="whitespace")


def test_a_file_with_another_content_is_not_read():
    sha256 = write("my.tsv", *NUMBERED)
    write("my.tsv", *NUMBERED[:-1])
    with pytest.raises(ValueError, match=r"^my\.tsv is not the file that was asked for"):
        Pairs(torch.Generator(), "my.tsv", sha256)


def test_references_are_spelled_as_their_symbols_are_joined():
    data = built(*[(f"s{i}", f"où {i} ?") for i in range(10)])
    ((reference,),) = data.references
    assert reference in {f"où {i}?" for i in range(10)}


def test_the_file_that_ships_has_900_sentences_of_160_words():
    path = "attnexp:english_french.tsv"
    sha256 = str(digest(path))
    pairs, notes = read_pairs(path, sha256, 1, 2)
    assert (len(pairs), notes) == (900, [])
    symbols = {symbol for source, _ in pairs for symbol in Words().split(source)}
    assert len(symbols - {".", "?"}) == 160
    assert len(Pairs(torch.Generator().manual_seed(0), path, sha256).train) == 720


def test_the_chinese_file_that_ships_has_329_sentences_each_of_its_own_script():
    path = "attnexp:chinese_english.tsv"
    sha256 = str(digest(path))
    pairs, notes = read_pairs(path, sha256, 1, 2)
    assert notes == []
    chinese, english = (list(side) for side in zip(*pairs, strict=True))
    assert len(pairs) == len(set(chinese)) == len(set(english)) == 329
    assert all(re.fullmatch(r"[\u4e00-\u9fff]+[\u3002\uff1f]", text) for text in chinese)
    assert all(re.fullmatch(r"[A-Z][A-Za-z ]+[.?]", text) for text in english)
    assert len({character for text in chinese for character in text[:-1]}) == 84
    assert len({word for text in english for word in text[:-1].split()}) == 117
    assert len(Pairs(torch.Generator().manual_seed(0), path, sha256).train) == 263
