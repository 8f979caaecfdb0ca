"""The pretended GPUs themselves: planted faults raise, and planted waits are counted."""

import copy

import numpy as np
import pytest
import torch
from pretended import MixedDevicesError, device_of, devices
from torch import nn
from torch.nn import functional as F

HERE = torch.device("cuda", 0)


@pytest.fixture
def gpu():
    with devices(2) as made:
        yield made


def row(*numbers, on="cpu"):
    return torch.tensor(numbers or (1.0, 2.0, 3.0), device=on)


MIXES = {
    "a sum": lambda: row(on="cuda") + row(),
    "a product of matrices": lambda: torch.eye(3, device="cuda") @ torch.eye(3),
    "a layer that was left behind": lambda: nn.Linear(3, 2)(row(on="cuda")),
    "an input that was left behind": lambda: nn.Linear(3, 2).cuda()(row()),
    "a mask": lambda: row(on="cuda").masked_fill(row() > 1, 0.0),
    "symbols of an embedding": lambda: nn.Embedding(4, 2).cuda()(torch.tensor([1, 2])),
    "a choice of places": lambda: row(on="cuda").index_select(0, torch.tensor([0])),
    "a stack with one number": lambda: torch.stack([row(on="cuda")[0], torch.tensor(1.0)]),
    "in place": lambda: row().add_(row(on="cuda")),
    "one number of the GPU": lambda: row() * row(on="cuda")[0],
    "two GPUs": lambda: row(on="cuda:0") + row(on="cuda:1"),
    "a loss": lambda: F.cross_entropy(torch.zeros(1, 3, device="cuda"), torch.tensor([1])),
    "under vmap": lambda: torch.vmap(lambda one: one + row())(torch.ones(2, 3, device="cuda")),
    "in the backward pass": lambda: Mixing.apply(row(on="cuda").requires_grad_()).sum().backward(),
    "in an update": lambda: update(torch.ones(3)),
}


class Mixing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, numbers):
        ctx.left_behind = torch.ones(3)
        return numbers.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.left_behind


def update(momentum):
    parameter = nn.Parameter(row(on="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9, foreach=False)
    optimizer.state[parameter]["momentum_buffer"] = momentum
    parameter.sum().backward()
    optimizer.step()


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("work", MIXES.values(), ids=MIXES)
def test_tensors_of_two_devices_raise(work):
    with pytest.raises(MixedDevicesError, match="same device"):
        work()


ERRORS = {
    "numpy": lambda: row(on="cuda").numpy(),
    "an array": lambda: np.asarray(row(on="cuda")),
    "a GPU that is not there": lambda: row(on="cuda:2"),
    "a generator of the CPU": lambda: torch.rand(3, device="cuda", generator=torch.Generator()),
    "a state of a generator of the CPU": lambda: torch.Generator("cuda").set_state(
        torch.Generator().get_state()
    ),
}


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("work", ERRORS.values(), ids=ERRORS)
def test_other_faults_raise(work):
    with pytest.raises((TypeError, RuntimeError)):
        work()


WAITS = {
    "item": lambda: row(on="cuda").sum().item(),
    "a branch": lambda: bool(row(on="cuda")[0] > 0),
    "a list": lambda: row(on="cuda").tolist(),
    "nonzero": lambda: row(on="cuda").nonzero(),
    "an index of truth values": lambda: row(on="cuda")[torch.ones(3, device="cuda") > 0],
    "a copy to the GPU": lambda: row().cuda(),
    "a copy from the GPU": lambda: torch.zeros(3, device="cuda").cpu(),
    "a tensor of a list": lambda: torch.tensor([1.0], device="cuda"),
    "new_tensor": lambda: torch.zeros(3, device="cuda").new_tensor([1.0]),
    "copy_": lambda: torch.zeros(3, device="cuda").copy_(torch.ones(3)),
    "an index on the CPU": lambda: torch.zeros(3, device="cuda")[torch.tensor([1])],
}


@pytest.mark.parametrize("work", WAITS.values(), ids=WAITS)
def test_waits_are_counted(gpu, work):
    before = gpu.waits.total()
    work()
    assert gpu.waits.total() > before


@pytest.mark.parametrize("work", WAITS.values(), ids=WAITS)
def test_waits_raise_if_they_are_forbidden(gpu, work):
    row(on="cuda")
    torch.cuda.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match="called a synchronizing"):
        work()


def test_work_on_one_gpu_neither_mixes_nor_waits(gpu):
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)).cuda()
    inputs = torch.zeros(5, 3, device="cuda")
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    gpu.waits.clear()
    for _ in range(3):
        model(inputs).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert not gpu.waits
    states = [value for state in optimizer.state.values() for value in state.values()]
    assert {tensor.device for tensor in [*model.parameters(), *states]} == {HERE}
    assert {p.device for p in copy.deepcopy(model).parameters()} == {HERE}


@pytest.mark.usefixtures("gpu")
def test_a_gradient_comes_back_to_the_cpu():
    leaf = row().requires_grad_()
    leaf.cuda().square().sum().backward()
    assert leaf.grad.device == torch.device("cpu")
    assert leaf.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.usefixtures("gpu")
def test_devices_draw_from_generators_of_their_own():
    torch.manual_seed(1)
    first = [torch.rand(2), torch.rand(2, device="cuda").cpu()]
    torch.manual_seed(1)
    again = [torch.rand(2, device="cuda").cpu(), torch.rand(2)]
    assert first[0].equal(again[1])
    assert first[1].equal(again[0])


@pytest.mark.usefixtures("gpu")
def test_a_graph_computes_nothing_when_recorded_and_the_same_when_replayed():
    total, inputs = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total.add_(inputs + torch.rand(3, device="cuda"))
    assert total.tolist() == [0.0] * 3
    graph.replay()
    once = total.tolist()
    inputs.fill_(10.0)
    graph.replay()
    assert all(11 < now < 13 for now in total.tolist())
    assert all(1 < number < 2 for number in once)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("work", WAITS.values(), ids=WAITS)
def test_a_capture_forbids_to_wait(work):
    with (
        pytest.raises(RuntimeError, match="stream is capturing"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        work()


def test_nothing_is_left_of_it():
    with devices():
        tensor = torch.zeros(2, device="cuda")
    assert device_of(tensor) == HERE
    assert not torch.cuda.is_available()
    assert torch.zeros(2).device == torch.device("cpu")
    assert torch.Generator().device == torch.device("cpu")


def test_an_apple_gpu_has_no_float64():
    with devices(1, "mps"):
        assert row(on="mps").device == torch.device("mps", 0)
        with pytest.raises(TypeError, match="float64"):
            row(on="mps").double()
