import torch

from attnexp.attention.base import Memory


def test_memory_keeps_what_some_query_may_see():
    keys, values = torch.ones(1, 3, 2), torch.ones(1, 3, 1)
    mask = torch.tensor([[[True, False, False], [False, True, False]]])
    memory = Memory.of(keys, values, mask)
    assert memory.keys[0, :, 0].tolist() == [1, 1, 0]
    assert memory.values[0, :, 0].tolist() == [1, 1, 0]
