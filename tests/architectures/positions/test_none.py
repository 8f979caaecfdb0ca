from functools import partial

import torch

from attnexp.architectures.transformer import Transformer
from attnexp.scores.scaled_dot import ScaledDot


def test_an_encoder_without_positions_takes_a_set(spec, batch):
    torch.manual_seed(0)
    score, order = partial(ScaledDot), torch.tensor([4, 2, 0, 6, 1, 5, 3])
    model = Transformer(spec, score, positions="none").double()
    source, mask = batch.keys[:1], batch.mask[:1]
    encoded, _ = model._encode(source, mask, need_weights=False)
    permuted, _ = model._encode(source[:, order], mask, need_weights=False)
    torch.testing.assert_close(permuted, encoded[:, order])
    with_positions = Transformer(spec, score).double()
    encoded, _ = with_positions._encode(source, mask, need_weights=False)
    permuted, _ = with_positions._encode(source[:, order], mask, need_weights=False)
    assert not torch.allclose(permuted, encoded[:, order])
