"""The book's short functions."""

import pytest
import torch

from attnexp import d2l


def test_a_shape_is_checked():
    d2l.check_shape(torch.zeros(2, 3), (2, 3))
    d2l.check_shape(torch.zeros(2, 3), torch.ones(2, 3).shape)
    with pytest.raises(AssertionError, match=r"^the shape must be \(3, 2\), got \(2, 3\)$"):
        d2l.check_shape(torch.zeros(2, 3), (3, 2))


def test_a_length_is_checked():
    d2l.check_len([1, 2], 2)
    with pytest.raises(AssertionError, match=r"^the length must be 3, got 2$"):
        d2l.check_len([1, 2], 3)


def test_a_function_becomes_a_method_of_objects_that_exist():
    class Number:
        value = 2

    number = Number()

    @d2l.add_to_class(Number)
    def twice(self):
        return 2 * self.value

    assert number.twice() == 4  # type: ignore[attr-defined]
    assert twice(number) == 4


@pytest.mark.parametrize("gpus", [0, 2])
def test_devices(gpus, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert d2l.num_gpus() == gpus
    assert [str(d2l.try_gpu(i)) for i in (0, 1, 2)] == [
        *(f"cuda:{i}" for i in range(gpus)),
        *(3 - gpus) * ["cpu"],
    ]
    assert [str(each) for each in d2l.try_all_gpus()] == [f"cuda:{i}" for i in range(gpus)]
    assert [str(d2l.cpu()), str(d2l.gpu(1))] == ["cpu", "cuda:1"]


def test_functions_of_tensors_are_pytorchs():
    X = d2l.reshape(d2l.arange(6, dtype=d2l.float32), (2, 3))
    assert d2l.reduce_sum(X, 0).tolist() == [3, 5, 7]
    assert d2l.reduce_mean(X).item() == 2.5
    assert d2l.argmax(X, axis=1).tolist() == [2, 2]
    assert d2l.astype(X > 2, d2l.int32).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert d2l.transpose(X).shape == d2l.swapaxes(X, 0, 1).shape == (3, 2)
    assert d2l.expand_dims(X, 1).shape == (2, 1, 3)
    assert d2l.concat((X, d2l.zeros(1, 3)), 0).shape == (3, 3)
    assert d2l.batch_matmul(d2l.ones(1, 2, 3), d2l.ones(1, 3, 4)).shape == (1, 2, 4)
    assert d2l.numpy(d2l.tensor([1.0], requires_grad=True)).tolist() == [1]
    assert d2l.to(X, d2l.cpu()) is X
    assert d2l.size(X) == 6
    assert d2l.repeat(d2l.eye(1), 2, 1).shape == (2, 1)


@pytest.mark.parametrize("shape", [(2, 4), (2, 4, 3)])
def test_a_sequence_is_masked_from_its_length_on(shape):
    X = torch.rand(shape)
    before, expected = X.clone(), X.clone()
    lengths = [1, 3]
    for row, length in enumerate(lengths):
        for step in range(length, 4):
            expected[row, step] = -5
    assert d2l.sequence_mask(X, torch.tensor(lengths), value=-5).equal(expected)
    assert X.equal(before)
    assert d2l.sequence_mask(X, torch.tensor([0, 4]))[0].count_nonzero() == 0
    weights = torch.ones(2, 4, dtype=torch.long)
    assert d2l.sequence_mask(weights, torch.tensor(lengths)).sum().item() == 4
