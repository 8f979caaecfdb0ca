"""The states of many steps and their derivative, against PyTorch's own layers."""

import pytest
import torch
from library_layers import LIBRARY, copy_weights

from attnexp.architectures.recurrence.scan import Scan


def states_of(cell, inputs):
    return Scan.apply(type(cell), None, cell.W_x(inputs), cell.W_h.weight, cell.W_h.bias)[0]


@pytest.fixture(params=LIBRARY)
def kind(request):
    torch.manual_seed(1)
    return request.param


@pytest.fixture
def inputs():
    return torch.randn(3, 7, 5, dtype=torch.float64)


def test_values_and_gradients_are_those_of_pytorch(kind, inputs):
    library = LIBRARY[kind](5, 11, batch_first=True).double()
    ours = copy_weights(kind(5, 11).double(), library)
    theirs = inputs.clone().requires_grad_()
    inputs.requires_grad_()
    factors = torch.randn(3, 7, 11, dtype=torch.float64)
    outputs, expected = ours.output(states_of(ours, inputs))[1:].movedim(0, 1), library(theirs)[0]
    torch.testing.assert_close(outputs, expected)
    (outputs * factors).sum().backward()
    (expected * factors).sum().backward()
    torch.testing.assert_close(inputs.grad, theirs.grad)
    for linear, name in ((ours.W_x, "ih"), (ours.W_h, "hh")):
        torch.testing.assert_close(linear.weight.grad, getattr(library, f"weight_{name}_l0").grad)
        torch.testing.assert_close(linear.bias.grad, getattr(library, f"bias_{name}_l0").grad)


@pytest.mark.parametrize("axes", [(2,), (2, 3)])
def test_copies_have_the_values_and_gradients_that_they_have_alone(kind, axes, inputs):
    cell = kind(5, 6).double()
    x = torch.randn(*axes, 3, 7, cell.W_x.out_features, dtype=torch.float64)
    W = torch.randn(*axes, *cell.W_h.weight.shape, dtype=torch.float64)
    b = torch.randn(*axes, *cell.W_h.bias.shape, dtype=torch.float64)
    given = [tensor.requires_grad_() for tensor in (x, W, b)]
    states = Scan.apply(kind, None, *given)[0]
    found = torch.autograd.grad(states.sin().sum(), given)
    for place in torch.cartesian_prod(*map(torch.arange, axes)).reshape(-1, len(axes)).tolist():
        alone = [tensor[tuple(place)].detach().requires_grad_() for tensor in given]
        expected = Scan.apply(kind, None, *alone)[0]
        torch.testing.assert_close(states[:, *place], expected)
        gradients = torch.autograd.grad(expected.sin().sum(), alone)
        torch.testing.assert_close(tuple(each[tuple(place)] for each in found), gradients)
