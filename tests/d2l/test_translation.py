"""Sentence pairs by hand, and BLEU against its formula."""

import math

import pytest

from attnexp import d2l


def test_examples_are_those_of_the_book():
    data = d2l.MTFraEng(batch_size=3, num_steps=4, num_train=6, num_val=2)
    src, inputs, lengths, targets = data.arrays
    assert [tuple(each.shape) for each in data.arrays] == [(8, 4), (8, 4), (8,), (8, 4)]
    assert data.src_vocab.to_tokens(src[0]) == ["go", ".", "<eos>", "<pad>"]
    assert data.tgt_vocab.to_tokens(inputs[1]) == ["<bos>", "va", "maintenant", "!"]
    assert data.tgt_vocab.to_tokens(targets[1]) == ["va", "maintenant", "!", "<eos>"]
    assert lengths.tolist() == [3, 4, 4, 4, 4, 4, 4, 4]
    assert [len(batch[0]) for batch in data.train_dataloader()] == [3, 3]
    (batch,) = data.val_dataloader()
    assert all(ours.equal(every[6:]) for ours, every in zip(batch, data.arrays, strict=True))


def test_sentences_are_cut_and_filled():
    data = d2l.MTFraEng(batch_size=8, num_steps=4)
    src, inputs, lengths, targets = data.build(["Go!", "I'm home ."], ["Va !", "zzz chez moi !!"])
    assert data.src_vocab.to_tokens(src[0]) == ["go", "<unk>", "<eos>", "<pad>"]
    assert data.src_vocab.to_tokens(src[1]) == ["i'm", "home", ".", "<eos>"]
    assert data.tgt_vocab.to_tokens(inputs[0]) == ["<bos>", "va", "!", "<eos>"]
    assert data.tgt_vocab.to_tokens(targets[1]) == ["<unk>", "chez", "moi", "!"]
    assert lengths.tolist() == [3, 4]


def test_the_sentences_of_the_books_cells_are_known():
    data = d2l.MTFraEng(batch_size=128)
    engs = ["go .", "i lost .", "he's calm .", "i'm home ."]
    fras = ["va !", "j'ai perdu .", "il est calme .", "je suis chez moi ."]
    src, _, _, targets = data.build(engs, fras)
    assert not (src == data.src_vocab.unk).any()
    assert not (targets == data.tgt_vocab.unk).any()
    assert [len(batch[0]) for batch in data.train_dataloader()] == 4 * [128]
    assert data.arrays[0].shape == (640, 9)


def test_batches_of_0_17_are_the_pairs_with_the_lengths_of_both():
    batches, src_vocab, tgt_vocab = d2l.load_data_nmt(64, 10)
    assert [len(batch[0]) for batch in batches] == [*9 * [64], 24]
    data = d2l.MTFraEng(64, 10, num_train=600, num_val=0)
    assert src_vocab.idx_to_token == data.src_vocab.idx_to_token
    assert tgt_vocab.idx_to_token == data.tgt_vocab.idx_to_token
    found = []
    for batch in batches:
        for source, source_length, target, target_length in zip(*batch, strict=True):
            for ids, vocab, length in [
                (source, src_vocab, source_length),
                (target, tgt_vocab, target_length),
            ]:
                symbols = vocab.to_tokens(ids)
                assert len(symbols) == 10
                assert all(symbol != "<pad>" for symbol in symbols[: length.item()])
                assert all(symbol == "<pad>" for symbol in symbols[length.item() :])
            found.append((*source.tolist(), *target.tolist()))
    expected = [
        (*source.tolist(), *target.tolist())
        for source, target in zip(data.arrays[0], data.arrays[3], strict=True)
    ]
    assert found != expected
    assert sorted(found) == sorted(expected)


def test_batches_of_0_17_are_of_as_many_pairs_as_asked_for():
    for count, expected in ((20, 20), (None, 917)):
        batches, _, _ = d2l.load_data_nmt(8, 4, num_examples=count)
        assert sum(len(batch[0]) for batch in batches) == expected
    for count in (0, 918):
        sentence = f"^num_examples must be from 1 to 917, .* built in, got {count}$"
        with pytest.raises(ValueError, match=sentence):
            d2l.load_data_nmt(8, 4, count)


def test_numbers_of_pairs_are_checked():
    sentence = (
        "^num_train and num_val must add up to at most 917, the pairs that are built in, "
        "got 900 and 128$"
    )
    with pytest.raises(ValueError, match=sentence):
        d2l.MTFraEng(batch_size=8, num_train=900)
    sentence = "^each sentence must have a translation, got 2 sentences and 1 translations$"
    with pytest.raises(ValueError, match=sentence):
        d2l.MTFraEng(batch_size=8).build(["a", "b"], ["c"])


def test_a_vocabulary():
    vocab = d2l.Vocab([["b", "a"], ["b", "c"]], min_freq=2, reserved_tokens=["<pad>"])
    assert vocab.idx_to_token == ["<pad>", "<unk>", "b"]
    assert vocab.token_freqs[0] == ("b", 2)
    assert vocab[["b", "a", "<pad>"]] == [2, 1, 0]
    assert vocab["b"] == 2
    assert vocab.to_tokens(2) == "b"
    assert vocab.to_tokens([2, 1]) == ["b", "<unk>"]
    assert len(d2l.Vocab(["a", "b", "a"])) == 3


@pytest.mark.parametrize(
    ("pred", "label", "k", "expected"),
    [
        ("va !", "va !", 2, 1),
        ("il est calme .", "il est calme .", 2, 1),
        ("il est", "il est calme .", 2, math.exp(-1)),
        ("il il", "il est", 1, 0.5**0.5),
        ("a b c d", "a b x d", 2, (3 / 4) ** 0.5 * (1 / 3) ** 0.25),
        ("a b c d e", "a b c", 3, (3 / 5) ** 0.5 * (2 / 4) ** 0.25 * (1 / 3) ** 0.125),
        ("a", "a b", 2, math.exp(-1)),
        ("", "va !", 2, 0),
    ],
)
def test_bleu_is_the_formula(pred, label, k, expected):
    assert d2l.bleu(pred, label, k=k) == pytest.approx(expected)
