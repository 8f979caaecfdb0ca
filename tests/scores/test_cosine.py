import pytest
import torch

from attnexp.scores.cosine import Cosine


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_zero_vector_has_cosine_zero_and_a_finite_gradient(dtype):
    score = Cosine(query_dim=3, key_dim=3).to(dtype)
    queries = torch.zeros(2, 3, dtype=dtype, requires_grad=True)
    keys = torch.tensor([[0.0, 0, 0], [1, 2, 3]], dtype=dtype, requires_grad=True)
    scores = score(queries, keys)
    assert (scores == 0).all()
    scores.softmax(dim=-1).square().sum().backward()
    assert queries.grad.isfinite().all()
    assert keys.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("exponent", [-4, 0, 4])
def test_neither_small_nor_large_vectors_lose_their_direction(dtype, exponent):
    vector = torch.tensor([[3.0, 4.0]], dtype=dtype) * 10.0**exponent
    unit = Cosine(query_dim=2, key_dim=2).to(dtype).project_keys(vector)
    torch.testing.assert_close(unit, torch.tensor([[0.6, 0.8]], dtype=dtype), rtol=1e-2, atol=0)
