import torch

from attnexp.attention.base import Memory


def test_memory_keeps_what_some_query_may_see():
    keys, values = torch.ones(1, 3, 2), torch.ones(1, 3, 1)
    mask = torch.tensor([[[True, False, False], [False, True, False]]])
    memory = Memory.of(keys, values, mask)
    assert memory.keys[0, :, 0].tolist() == [1, 1, 0]
    assert memory.values[0, :, 0].tolist() == [1, 1, 0]


def test_later_queries_see_what_was_seen_and_all_that_is_new():
    mask = torch.tensor([[[True, False, False], [True, True, False]]])
    past = Memory.of(torch.zeros(1, 3, 2), torch.zeros(1, 3, 1), mask)
    new = Memory(torch.ones(1, 2, 2), torch.ones(1, 2, 1), None)
    whole = past.followed_by(new)
    assert whole.keys[0, :, 0].tolist() == whole.values[0, :, 0].tolist() == [0, 0, 0, 1, 1]
    assert whole.mask.tolist() == [[[True, True, False, True, True]]]
    assert new.followed_by(new).mask is None
