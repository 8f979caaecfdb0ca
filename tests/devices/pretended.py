"""GPUs that are not there: tensors that stay in this computer's memory, and say that they do not.

The storage of a tensor carries the name of its device; one made inside C++ carries none and fits
all. PyTorch's own Python code is told that name, and operations on tensors of two devices raise.
`CUDAGraph`, streams and generators are Python objects, so that the code of attnexp that captures,
compares and replays steps runs. `Devices.waits` counts, by line of attnexp, what would make the
program wait for a GPU.

It does not see kernels and their limits, streams and races, memory, the rules of CUDA's autocast,
and time.
"""

import contextlib
import re
import sys
from collections import Counter, defaultdict
from types import FrameType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from operations import INDEXED, Tape, repeat, waits
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
CPU = torch.device("cpu")
RealGenerator: Any = torch.Generator
real_autocast = torch.autocast
real_group = torch.utils._foreach_utils._group_tensors_by_device_and_dtype

JOINED = {aten.cat.default, aten.stack.default}
"""Operations that do not take single numbers of the CPU among tensors of a GPU."""

GROUPERS = ("torch.optim.optimizer", "torch.nn.utils.clip_grad", "torch.utils._foreach_utils")


class MixedDevicesError(RuntimeError):
    """Tensors of two devices meet in one operation."""


def storage_of(tensor):
    """The storage of a tensor, also of one that a transformation of functions wraps."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor.untyped_storage()


def device_of(tensor):
    """The device that a tensor carries, or None."""
    return getattr(storage_of(tensor), "device_carried", None)


def carry(tree, device):
    for tensor in tensors_of(tree):
        storage_of(tensor).device_carried = device
    return tree


def tensors_of(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def line_of_attnexp():
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        place = re.search(r"[/\\]attnexp[/\\](?!.*[/\\]attnexp[/\\])(.*)", frame.f_code.co_filename)
        if place and "site-packages" not in place[1]:
            return f"{place[1]}:{frame.f_lineno}"
        frame = frame.f_back
    return "elsewhere"


class Generators(type(RealGenerator)):  # type: ignore[misc]
    def __instancecheck__(cls, instance):
        return isinstance(instance, RealGenerator)


class Generator(RealGenerator, metaclass=Generators):
    """A generator of a device. The states of two kinds of devices do not fit each other."""

    def __new__(cls, device="cpu"):
        made = super().__new__(cls, CPU)
        made.carried = indexed(torch.device(device))
        return made

    @property
    def device(self):
        return self.carried

    def get_state(self):
        state = super().get_state()
        return state if self.carried == CPU else torch.cat([state, state.new_zeros(1)])

    def set_state(self, state):
        if self.carried != CPU:
            if len(state) == len(super().get_state()):
                raise RuntimeError("RNG state is wrong size")
            state = state[:-1].clone()
        return super().set_state(state)


def indexed(device):
    """The device with its number, 0 if it has none."""
    return torch.device(device.type, device.index or 0) if device.type != "cpu" else CPU


class ToDevice(torch.autograd.Function):
    """A copy on another device, whose gradient comes back."""

    @staticmethod
    def forward(ctx, tensor, device):
        ctx.device = device_of(tensor)
        return carry(tensor.clone(), device)

    @staticmethod
    def backward(ctx, gradient):
        return carry(gradient.clone(), ctx.device), None


class Devices:
    """The devices, and what was asked of them."""

    def __init__(self, count, kind="cuda"):
        self.count, self.kind = count, kind
        self.waits = Counter()
        self.graphs = []
        self.capturing = self.asked = None
        self.debug = 0
        self.generators = tuple(Generator(f"{kind}:{i}") for i in range(count))

    def wait(self, what):
        """Count a wait, unless a capture or the debug mode forbids it."""
        place = line_of_attnexp()
        if self.capturing is not None:
            raise RuntimeError(f"operation not permitted when stream is capturing: {what}, {place}")
        if self.debug == 2:
            raise RuntimeError(f"called a synchronizing CUDA operation: {what}, {place}")
        self.waits[place] += 1

    def require_generator(self, generator, device):
        """Raise RuntimeError for a generator of another device, or one that a capture lacks."""
        own = getattr(generator, "carried", CPU)
        if own != device:
            raise RuntimeError(f"Expected a '{device}' generator but found '{own}'")
        if own != CPU and self.capturing and generator not in self.capturing.registered:
            raise RuntimeError("a generator that is not registered with the graph")

    def placed(self, device):
        """The device of an argument. Raises RuntimeError for one that is not there."""
        if isinstance(device, int):
            device = torch.device(self.kind, device)
        found = indexed(torch.device(device))
        if found != CPU and (found.type != self.kind or found.index >= self.count):
            raise RuntimeError(f"invalid device ordinal: {found}")
        return found


class Asked(TorchFunctionMode):
    """Answers what Python asks about devices, and places tensors."""

    def __init__(self, devices):
        super().__init__()
        self.devices = devices

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = dict(options or {})
        name = getattr(function, "__name__", "")
        if name == "__get__":
            return self.attribute(function, arguments)
        own = getattr(self, f"call_{name}", None)
        if own is not None and function is getattr(Tensor, name, None):
            return own(function, *arguments, **options)
        device = options.get("device")
        given = tensors_of((arguments, options))
        if device is not None:
            device = self.devices.placed(device)
            options["device"] = CPU
        if options.get("generator") is not None:
            on = device or next(filter(None, map(device_of, given)), CPU)
            self.devices.require_generator(options["generator"], on)
        before = {storage_of(tensor)._cdata for tensor in given}
        self.devices.asked = device
        try:
            result = function(*arguments, **options)
        finally:
            self.devices.asked = None
        for tensor in tensors_of(result) if name != "__set__" else ():
            if device is not None and storage_of(tensor)._cdata not in before:
                carry(tensor, device)
            elif device_of(tensor) is None:
                carry(tensor, next(filter(None, map(device_of, given)), CPU))
        of_list = name in ("tensor", "as_tensor", "new_tensor") and not tensors_of(arguments[-1:])
        if of_list and any(device_of(tensor) != CPU for tensor in tensors_of(result)):
            self.devices.wait(f"a copy of a list by {name}")
        return result

    def attribute(self, function, arguments):
        asked = function.__self__.__name__
        if asked in ("device", "is_cuda", "is_cpu", "is_mps"):
            device = device_of(arguments[0]) or CPU
            return device if asked == "device" else device.type == asked.removeprefix("is_")
        return function(*arguments)

    def call_to(self, function, tensor, *arguments, **options):
        if arguments and isinstance(arguments[0], Tensor):
            other = arguments[0]
            return self.moved(tensor, device_of(other), other.dtype, False)
        copy = options.pop("copy", False)
        device, dtype, blocking, _ = torch._C._nn._parse_to(*arguments, **options)
        result = self.moved(tensor, device, dtype, blocking)
        return result.clone() if copy and result is tensor else result

    def call_cuda(self, function, tensor, device=None, non_blocking=False):
        return self.moved(
            tensor, self.devices.kind if device is None else device, None, non_blocking
        )

    def call_cpu(self, function, tensor, **options):
        return self.moved(tensor, CPU, None, False)

    def call_get_device(self, function, tensor):
        device = device_of(tensor) or CPU
        return -1 if device == CPU else device.index

    def call_tolist(self, function, tensor):
        if (device_of(tensor) or CPU) != CPU:
            self.devices.wait("tolist")
        return function(tensor)

    def call_numpy(self, function, tensor, **options):
        if (device_of(tensor) or CPU) != CPU:
            raise TypeError(f"can't convert {device_of(tensor)} device type tensor to numpy")
        return function(tensor, **options)

    call___array__ = call_numpy

    def call_pin_memory(self, function, tensor, *arguments):
        return tensor

    def moved(self, tensor, device, dtype, non_blocking):
        before = device_of(tensor) or CPU
        after = before if device is None else self.devices.placed(device)
        result = tensor if dtype is None else tensor.to(dtype)
        if result is not tensor:
            carry(result, before)
        if after == before:
            return result
        if not non_blocking:
            self.devices.wait(f"a copy from {before} to {after}")
        return ToDevice.apply(result, after)


class Computed(TorchDispatchMode):
    """Lets operations meet on one device only, and gives results that device."""

    def __init__(self, devices):
        super().__init__()
        self.devices = devices

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        result_on = self.device_of_result(function, arguments, options) or self.devices.asked
        if result_on not in (None, CPU) and waits(function, arguments):
            self.devices.wait(str(function))
        with self.random_of(function, arguments, options, result_on):
            result = function(*arguments, **options)
        given = {storage_of(tensor)._cdata for tensor in tensors_of((arguments, options))}
        for tensor in tensors_of(result):
            if result_on is not None and storage_of(tensor)._cdata not in given:
                carry(tensor, result_on)
            if result_on is not None and result_on.type == "mps" and tensor.dtype == torch.float64:
                raise TypeError("MPS framework doesn't support float64")
        return result

    def device_of_result(self, function, arguments, options):
        given = tensors_of((arguments, options))
        if function is aten.copy_.default:
            into, source = device_of(arguments[0]), device_of(arguments[1])
            if None not in (into, source) and into != source and not (arguments[2:] or (False,))[0]:
                self.devices.wait(f"a copy from {source} to {into}")
            return into
        if function in INDEXED:
            into = device_of(arguments[0])
            indices = [index for index in arguments[1] if index is not None]
            if any(device_of(index) == CPU for index in indices) and into not in (None, CPU):
                self.devices.wait("indices on the CPU")
            given = [tensor for tensor in given if not any(tensor is index for index in indices)]
        found = defaultdict(list)
        for tensor in given:
            found[device_of(tensor)].append(tensor)
        found.pop(None, None)
        on_cpu = found.get(CPU, [])
        if len(found) > 1 and function not in JOINED and all(one.dim() == 0 for one in on_cpu):
            found.pop(CPU, None)
        if len(found) > 1:
            names = " and ".join(map(str, found))
            raise MixedDevicesError(
                f"Expected all tensors to be on the same device, but found {names}: {function}, "
                f"{line_of_attnexp()}"
            )
        return next(iter(found), None)

    @contextlib.contextmanager
    def random_of(self, function, arguments, options, device):
        """Draw from the generator of the device, if an operation draws and names none."""
        if torch.Tag.nondeterministic_seeded not in function.tags or device in (None, CPU):
            yield
            return
        leaves = tree_leaves((arguments, options))
        if any(isinstance(leaf, RealGenerator) for leaf in leaves):
            yield
            return
        usual, own = torch.default_generator, self.devices.generators[device.index]
        before = usual.get_state()
        usual.set_state(RealGenerator.get_state(own))
        try:
            yield
        finally:
            RealGenerator.set_state(own, usual.get_state())
            usual.set_state(before)


class DeviceTape(Tape):
    """A tape that knows on which device each operation was asked to make tensors."""

    def __init__(self, devices):
        super().__init__()
        self.devices = devices
        self.asked = []

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = super().__torch_dispatch__(function, types, arguments, options)
        self.asked.append(self.devices.asked)
        return result

    @torch.no_grad()
    def replay(self):
        with torch._C.DisableTorchFunction():
            for call, asked in zip(self.calls, self.asked, strict=True):
                self.devices.asked = asked
                repeat(*call)
        self.devices.asked = None


def cuda_of(devices):
    """The parts of `torch.cuda` that are replaced, by name."""

    class CUDAGraph:
        def __init__(self):
            self.registered = list(devices.generators)
            self.tape = DeviceTape(devices)
            devices.graphs.append(self)

        def register_generator_state(self, generator):
            self.registered.append(generator)

        def replay(self):
            self.tape.replay()

    @contextlib.contextmanager
    def graph(made, **_):
        states = [generator.get_state() for generator in devices.generators]
        devices.capturing = made
        try:
            with made.tape:
                yield
        finally:
            devices.capturing = None
            made.tape.rewind()
            for generator, state in zip(devices.generators, states, strict=True):
                generator.set_state(state)

    class Stream:
        def __init__(self, device=None):
            self.device = devices.placed("cuda" if device is None else device)

        def wait_stream(self, stream):
            assert stream.device == self.device

    def set_sync_debug_mode(mode):
        devices.debug = {"default": 0, "warn": 1, "error": 2}.get(mode, mode)

    def manual_seed_all(seed):
        for generator in devices.generators:
            generator.manual_seed(seed)

    return {
        "CUDAGraph": CUDAGraph,
        "graph": graph,
        "Stream": Stream,
        "stream": contextlib.nullcontext,
        "current_stream": Stream,
        "set_sync_debug_mode": set_sync_debug_mode,
        "get_sync_debug_mode": lambda: devices.debug,
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_current_stream_capturing": lambda: devices.capturing is not None,
        "is_bf16_supported": lambda *_: True,
        "device_count": lambda: devices.count,
        "current_device": lambda: 0,
        "get_device_name": lambda device=0: f"pretended GPU {devices.placed(device).index}",
        "get_device_properties": lambda device=0: SimpleNamespace(total_memory=2**33),
        "mem_get_info": lambda device=0: (2**33, 2**33),
        "max_memory_allocated": lambda device=0: 2**20,
        "memory_allocated": lambda device=0: 2**20,
        "reset_peak_memory_stats": lambda device=0: None,
        "synchronize": lambda device=None: None,
        "manual_seed_all": manual_seed_all,
        "default_generators": devices.generators,
    }


def autocast(device_type, *arguments, **options):
    return real_autocast("cpu", *arguments, **options)


def grouped(lists, with_indices=False):
    """Tensors grouped by dtype and by the device that they carry."""
    found = {}
    for (_, dtype), group in real_group(lists, with_indices).items():
        carried = {device_of(one) or CPU for tensors in group[0] for one in tensors_of(tensors)}
        steps = {device for device in carried if device != CPU} or {CPU}
        if len(steps) > 1:
            raise MixedDevicesError(f"an update of parameters on {carried}")
        found[next(iter(steps)), dtype] = group
    return found


@contextlib.contextmanager
def devices(count=1, kind="cuda"):
    """Pretend that there are GPUs within a block. Yields the `Devices`."""
    made = Devices(count, kind)
    assert torch.Generator is RealGenerator, "GPUs are pretended already"
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(torch, "Generator", Generator))
        stack.enter_context(patch.object(torch, "autocast", autocast))
        for name in GROUPERS:
            module = sys.modules[name]
            attribute = "_group_tensors_by_device_and_dtype"
            if hasattr(module, attribute):
                stack.enter_context(patch.object(module, attribute, grouped))
        if kind == "cuda":
            for name, value in cuda_of(made).items():
                stack.enter_context(patch.object(torch.cuda, name, value))
            stack.enter_context(patch.object(torch.backends.cuda, "is_built", lambda: True))
        else:
            stack.enter_context(patch.object(torch.backends.mps, "is_available", lambda: True))
        stack.enter_context(Computed(made))
        stack.enter_context(Asked(made))
        yield made
