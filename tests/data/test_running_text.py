"""A text of the user's own: windows, parts that share nothing, counted baselines, bad files."""

import hashlib
import math
import random
from pathlib import Path

import pytest
import torch

from attnexp.data.running_text import RunningText
from attnexp.runs.sources import digest


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def numbered_text(characters):
    """A text of different characters, so that each tells its place."""
    return "".join(chr(0x4E00 + place) for place in range(characters))


def built(text, seed=0, **settings):
    content = text if isinstance(text, bytes) else text.encode()
    Path("my.txt").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    small = {"length": 4, "num_train": 50, "min_count": 1}
    return RunningText(torch.Generator().manual_seed(seed), "my.txt", sha256, **small | settings)


def rows(data, batch):
    """The symbols of the queries and of the targets of each window."""
    vocab = data.spec.target_vocab
    for i in range(len(batch)):
        counts = batch.target_mask[i].tolist()
        yield tuple(
            [vocab[symbol] for symbol, there in zip(ids[i].tolist(), counts, strict=True) if there]
            for ids in (batch.queries, batch.targets)
        )


def texts(data, batch):
    return ["".join(targets) for _, targets in rows(data, batch)]


TEXT = "a cat and a dog. the cat sat. the dog ran, and the sun set. " * 8


def test_a_window_is_its_own_input_behind_its_beginning():
    data = built(TEXT)
    for batch in (data.train, data.validation, data.test):
        for queries, targets in rows(data, batch):
            assert queries == ["<bos>", *targets[:-1]]
        assert (batch.keys == data.spec.eos).all()
    assert all(each in TEXT for each in texts(data, data.train))


@pytest.mark.parametrize("seed", range(8))
def test_the_parts_share_no_place_and_windows_stay_in_theirs(seed):
    """Each character of the text is another one, unknown if it is not in training."""
    text = numbered_text(200)
    data = built(text, seed=seed, num_train=2_000, validation=0.1, test=0.2)
    trained = texts(data, data.train)
    assert all(len(each) == 4 and each in text for each in trained)
    seen = {*"".join(trained)}
    assert {*data.spec.target_vocab[4:]} == seen
    assert len(seen) == 200 - 20 - 32
    assert {*"".join("".join(t) for _, t in rows(data, data.validation))} <= {*"<unk>"}
    held = [place for place in range(200) if text[place] not in seen]
    assert held == list(range(held[0], held[0] + 52))
    assert "32 of 32 characters of the test part are read as <unk>" in data.notes[0]


def test_the_test_has_the_same_characters_at_three_lengths():
    data = built(TEXT, test=0.1)
    found = texts(data, data.test)
    parts = ["".join(each for each in found if len(each) == length) for length in (4, 8, 16)]
    assert parts[0] == parts[1] == parts[2]
    assert parts[0] in TEXT
    assert len(parts[0]) == 48
    assert [sum(len(each) == length for each in found) for length in (4, 8, 16)] == [12, 6, 3]
    assert "".join(texts(data, data.validation)) + parts[0] in TEXT


def test_each_pass_has_new_windows():
    data, order = built(TEXT), torch.Generator().manual_seed(5)
    before = order.get_state()
    first, second = data.epoch(order), data.epoch(order)
    assert not torch.equal(first.targets, second.targets)
    order.set_state(before)
    assert torch.equal(data.epoch(order).targets, first.targets)


@pytest.mark.parametrize("seed", range(4))
def test_the_baselines_by_a_loop(seed):
    """What is not in the validation or the test part trains; here its two pieces are searched."""
    drawn = random.Random(seed)
    text = "".join(drawn.choice("ab cde") for _ in range(300)).replace("  ", "ab").strip()
    data = built(text, seed=seed, validation=0.1, test=0.2)
    windows = [each for each in texts(data, data.test) if len(each) == 4]
    held = "".join(texts(data, data.validation)) + "".join(windows)
    place = text.index(held)
    assert text.count(held) == 1
    pieces = text[:place], text[place + len(held) :]
    symbols = len({*"".join(pieces)}) + 1
    unigram = bigram = characters = 0.0
    for window in windows:
        for i, symbol in enumerate(window):
            count = sum(piece.count(symbol) for piece in pieces) + 1
            single = count / (len(text) - len(held) + symbols)
            unigram -= math.log2(single)
            if i == 0:
                bigram -= math.log2(single)
            else:
                before = both = 0
                for piece in pieces:
                    for j in range(len(piece) - 1):
                        before += piece[j] == window[i - 1]
                        both += piece[j] == window[i - 1] and piece[j + 1] == symbol
                bigram -= math.log2((both + 1) / (before + symbols))
            characters += 1
    assert data.chance["unigram_bits"] == pytest.approx(unigram / characters)
    assert data.chance["bigram_bits"] == pytest.approx(bigram / characters)


def test_white_space_is_one_space_and_forms_are_composed():
    data = built(TEXT.replace(" ", "\r\n\t ") + "cafe\u0301" * 20)
    assert {*data.spec.target_vocab[4:]} <= {*TEXT, "f", "é"}
    assert data.spec.target_writing.join(["a", " ", "b"]) == "a b"


def test_rare_characters_are_unknown():
    vocab = built(TEXT + "q", min_count=2).spec.target_vocab
    assert {*vocab[4:]} == {*TEXT}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "my.txt must hold at least two different characters, got ''"),
        (b" \n\n", "my.txt must hold at least two different characters, got ''"),
        (b"aaaa" * 100, "my.txt must hold at least two different characters, got 'a'"),
        (
            b"abcd" * 6,
            "my.txt has 24 characters, too few for windows of length 4: 4 are for validation and "
            "16 for the test, and training requires 8 more: lower data.length, data.test or "
            "data.validation",
        ),
        (
            b"gr\xf6\xdfer \xff" * 50,
            "my.txt, line 1: it is not UTF-8, perhaps it is Latin-1 or Windows-1252: save the file "
            "as UTF-8",
        ),
    ],
)
def test_a_file_that_is_no_text_to_learn_from_is_refused(content, sentence):
    with pytest.raises(ValueError) as raised:
        built(content)
    assert str(raised.value) == sentence


def test_a_missing_file_and_another_content_are_refused():
    built(TEXT)
    with pytest.raises(ValueError, match=r"^my\.txt is not the file that was asked for"):
        RunningText(torch.Generator(), "my.txt", 64 * "0")
    with pytest.raises(ValueError, match=r"^there is no file my\.tx\. Did you mean 'my\.txt'\?"):
        RunningText(torch.Generator(), "my.tx", 64 * "0")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"num_train": 0}, "num_train must be at least 1, got 0"),
        ({"min_count": 0}, "min_count must be at least 1, got 0"),
        (
            {"min_count": 10**6},
            "min_count must be at most 95, the count of the most frequent character that trains, "
            "got 1,000,000",
        ),
        ({"test": 1.0}, "test must be a share between 0 and 1, got 1.0"),
        ({"validation": 0.0}, "validation must be a share between 0 and 1, got 0.0"),
    ],
)
def test_bad_settings_are_refused(settings, sentence):
    with pytest.raises(ValueError) as raised:
        built(TEXT, **settings)
    assert str(raised.value) == sentence


def test_the_almanac_that_ships_is_as_long_as_the_documents_say():
    path = "attnexp:almanac.txt"
    data = RunningText(torch.Generator().manual_seed(0), path, str(digest(path)))
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    tested = int((data.test.target_mask.sum(dim=1) == 64).sum()) * 64
    assert f"{tested:,} characters of the test part" in page
