"""A traced graph as plain values, which the interpreter of a page reads."""

import base64
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx, nn

from attnexp.core.errors import RequestError
from attnexp.tracing.trace import Traced

SITES = ("attnexp.weights", "attnexp.scores")
"""The operations that name the places at which numbers can be replaced."""

KINDS = {torch.bool: "bool", torch.int64: "int", torch.int32: "int"}
"""Kinds of numbers; all others are `float`."""


def program_of(traced: Traced) -> dict[str, Any]:
    """Return a program: its numbers, and its operations in an order in which they can be computed.

    - `parameters` and `constants` have a shape, a kind and the bytes of float16, or int32, in
      base64.
    - `inputs` have a shape and a kind.
    - `operations` are the names that occur, and a node has the index of its operation, its
      arguments, its shape and its kind. The argument `{"r": i}` is the value of node i; the first
      nodes are parameters, constants and inputs.
    - `outputs` are nodes by name, `sites` those whose scores or weights can be replaced, and
      `numbers` the parameters that a slider can set.

    Raises RequestError for a value that no page can hold.
    """
    places: dict[fx.Node, int] = {}
    leaves: list[dict[str, Any]] = []
    holders = iter([*traced.parameters.items(), *traced.inputs.items()])
    nodes: list[list[Any]] = []
    operations: dict[str, int] = {}
    sites: list[dict[str, Any]] = []
    graph = traced.graph.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    constants = [node for node in graph.nodes if node.op == "get_attr"]
    for node in placeholders:
        name, tensor = next(holders)
        places[node] = len(leaves)
        given = name in traced.inputs
        leaves.append({"name": name, **(_empty(tensor) if given else _stored(tensor))})
    for node in constants:
        places[node] = len(leaves)
        tensor = getattr(traced.graph, str(node.target))
        leaves.append({"name": str(node.target), **_stored(tensor)})
    outputs: dict[str, int] = {}
    for node in graph.nodes:
        if node.op == "output":
            outputs = dict(zip(traced.outputs, (places[one] for one in node.args[0]), strict=True))
        elif node.op == "call_function":
            places[node] = len(leaves) + len(nodes)
            name = _name(node)
            if name in SITES:
                part, layer = node.args[-2:]
                place = {"part": part, "layer": layer, "node": places[node]}
                sites.append({"of": name.removeprefix("attnexp."), **place})
            number = operations.setdefault(name, len(operations))
            arguments = [_argument(each, places) for each in node.args]
            named = {key: _argument(each, places) for key, each in node.kwargs.items()}
            nodes.append(
                [number, arguments, *_kind(node.meta.get("val")), *([named] if named else [])]
            )
    return {
        "leaves": leaves,
        "operations": list(operations),
        "nodes": nodes,
        "outputs": outputs,
        "sites": sites,
        "numbers": list(traced.numbers),
    }


def require_finite(module: nn.Module, traced: Traced) -> None:
    """Raise RequestError for parameters and numbers that are not finite in a page's 16 bits."""
    numbers = [traced.parameters[name] for name in traced.numbers]
    if not all(bool(each.half().isfinite().all()) for each in (*module.parameters(), *numbers)):
        most = torch.finfo(torch.half).max
        raise RequestError(f"some of its parameters are NaN, infinite or above {most:,.0f}")


def _name(node: fx.Node) -> str:
    """Return the name of an operation without the namespace of ATen and without `default`."""
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
    """Return the shape and the kind of a value, or lists of both for several."""
    if isinstance(value, Tensor):
        return list(value.shape), KINDS.get(value.dtype, "float")
    if isinstance(value, list | tuple):
        shapes, kinds = zip(*map(_kind, value), strict=True)
        return list(shapes), list(kinds)
    return None, None


def _empty(tensor: Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "kind": KINDS.get(tensor.dtype, "float")}


def _stored(tensor: Tensor) -> dict[str, Any]:
    whole = not tensor.is_floating_point()
    numbers = tensor.cpu().to(torch.int32 if whole else torch.float16).numpy()
    return {**_empty(tensor), "data": base64.b64encode(numbers.tobytes()).decode()}
