import math

import pytest
import torch

from attnexp.normalizers.entmax15 import Entmax15


def test_by_hand():
    """Two keys with scores 0 and 2d: (d/2 + r)^2 and (r - d/2)^2 sum to 1, so r^2 = 1/2 - d^2/4."""
    for d in (0.0, 0.3, 0.9, 1.0, 2.0):
        r = math.sqrt(0.5 - d * d / 4) if d < 1 else 0.5
        upper = min(1.0, (d / 2 + r) ** 2)
        weights = Entmax15(heads=1)(torch.tensor([[0.0, 2 * d]], dtype=torch.float64))
        assert weights[0].tolist() == pytest.approx([1 - upper, upper], abs=1e-12)
