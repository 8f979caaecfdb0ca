"""All positions work with every score."""

import pytest
import torch
from conftest import choice_names
from hydra.utils import get_object, instantiate

from attnexp.attention.multihead import MultiHead


@pytest.mark.parametrize("name", choice_names("positions"))
def test_all_positions_work_with_every_score(name, model_name, settings_of):
    build = instantiate(settings_of("model", model_name), _partial_=True)
    attention = MultiHead(build, 12, 12, 12, 12, heads=2, head_dim=6)
    x, places = torch.randn(3, 5, 12), torch.arange(5)
    positions = get_object(settings_of("positions", name)["_target_"])(12, 2, 5)
    order = positions.order(places, places)
    memory = attention.remember(x, x, None, order.turn)
    context, weights = attention.attend(x, memory, True, order.turn, order.bias)
    assert context.isfinite().all()
    assert weights.shape == (3, 2, 5, 5)
