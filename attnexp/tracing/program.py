"""A traced graph as plain values, which the interpreter of a page reads."""

import base64
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx, nn

from attnexp.core.errors import RequestError
from attnexp.report.page import Leaf, PageProgram, SiteNode
from attnexp.tracing.trace import Traced

SITES = ("attnexp.weights", "attnexp.scores")
"""The operations that mark scores and weights that a page can replace."""

KINDS = {torch.bool: "bool", torch.int64: "int", torch.int32: "int"}
"""The kinds of numbers by their dtype. All other numbers are `float`."""


def program_of(traced: Traced) -> PageProgram:
    """Return a traced graph as plain values.

    Raises RequestError for a graph with a value that a page cannot hold.
    """
    places: dict[fx.Node, int] = {}
    leaves: list[Leaf] = []
    holders = iter([*traced.parameters.items(), *traced.inputs.items()])
    nodes: list[list[Any]] = []
    operations: dict[str, int] = {}
    sites: list[SiteNode] = []
    graph = traced.graph.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    constants = [node for node in graph.nodes if node.op == "get_attr"]
    for node in placeholders:
        name, tensor = next(holders)
        places[node] = len(leaves)
        leaves.append(_leaf(name, tensor, None if name in traced.inputs else _bytes(tensor)))
    for node in constants:
        places[node] = len(leaves)
        tensor = getattr(traced.graph, str(node.target))
        leaves.append(_leaf(str(node.target), tensor, _bytes(tensor)))
    outputs: dict[str, int] = {}
    for node in graph.nodes:
        if node.op == "output":
            outputs = dict(zip(traced.outputs, (places[one] for one in node.args[0]), strict=True))
        elif node.op == "call_function":
            places[node] = len(leaves) + len(nodes)
            name = _name(node)
            if name in SITES:
                part, layer = node.args[-2:]
                sites.append(SiteNode(name.removeprefix("attnexp."), part, layer, places[node]))
            number = operations.setdefault(name, len(operations))
            arguments = [_argument(each, places) for each in node.args]
            named = {key: _argument(each, places) for key, each in node.kwargs.items()}
            nodes.append(
                [number, arguments, *_kind(node.meta.get("val")), *([named] if named else [])]
            )
    return PageProgram(leaves, list(operations), nodes, outputs, sites, list(traced.numbers))


def require_finite(module: nn.Module, traced: Traced) -> None:
    """Raise RequestError for parameters and numbers that are not finite in a page's 16 bits."""
    numbers = [traced.parameters[name] for name in traced.numbers]
    if not all(bool(each.half().isfinite().all()) for each in (*module.parameters(), *numbers)):
        most = torch.finfo(torch.half).max
        raise RequestError(f"some of its parameters are NaN, infinite or above {most:,.0f}")


def _name(node: fx.Node) -> str:
    """Return the name of an operation without its namespace `aten` and its overload `default`."""
    name = str(node.target)
    if name.startswith("<built-in function"):
        return name.removeprefix("<built-in function ").removesuffix(">")
    return name.removeprefix("aten.").removesuffix(".default")


def _argument(value: Any, places: Mapping[fx.Node, int]) -> Any:
    if isinstance(value, fx.Node):
        return {"r": places[value]}
    if isinstance(value, list | tuple):
        return [_argument(each, places) for each in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"f": repr(value)}  # JSON has no infinities
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.dtype):
        return KINDS.get(value, "float")
    if isinstance(value, torch.device | torch.layout | torch.memory_format):
        return None
    raise RequestError(f"its graph holds {value!r:.60}, which a page cannot")


def _kind(value: Any) -> tuple[Any, Any]:
    """Return the shape and the kind of a value. For several values, return a list of each."""
    if isinstance(value, Tensor):
        return list(value.shape), KINDS.get(value.dtype, "float")
    if isinstance(value, list | tuple):
        shapes, kinds = zip(*map(_kind, value), strict=True)
        return list(shapes), list(kinds)
    return None, None


def _leaf(name: str, tensor: Tensor, data: str | None) -> Leaf:
    return Leaf(name, list(tensor.shape), KINDS.get(tensor.dtype, "float"), data)


def _bytes(tensor: Tensor) -> str:
    whole = not tensor.is_floating_point()
    numbers = tensor.cpu().to(torch.int32 if whole else torch.float16).numpy()
    return base64.b64encode(numbers.tobytes()).decode()
