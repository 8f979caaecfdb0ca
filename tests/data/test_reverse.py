from attnexp.data.reverse import Reverse


def test_the_target_goes_backwards(generator, examples):
    data = Reverse(generator(), num_train=200, min_length=2, max_length=7, vocab_size=5)
    rows = list(examples(data.train))
    assert len(rows) == 200
    assert all(target == source[::-1] for source, target, _ in rows)
