from attnexp.data.copy import Copy


def test_the_target_repeats_the_source(generator, examples):
    data = Copy(generator(), num_train=200, min_length=2, max_length=7, vocab_size=5)
    rows = list(examples(data.train))
    assert len(rows) == 200
    assert all(target == source for source, target, _ in rows)
