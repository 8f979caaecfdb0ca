from attnexp.data.sort import Sort


def test_the_target_ascends_and_equal_symbols_keep_their_order(generator, examples):
    data = Sort(generator(), num_train=200, min_length=2, max_length=7, vocab_size=5)
    rows = list(examples(data.train))
    assert len(rows) == 200
    for source, target, places in rows:
        assert target == sorted(source)
        assert places == sorted(range(len(source)), key=lambda place: (source[place], place))
