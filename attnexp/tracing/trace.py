"""Traces the forward pass of a model into a graph of ATen operations without side effects."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, fx, nn
from torch._decomp import core_aten_decompositions
from torch.func import functional_call, functionalize
from torch.fx.experimental.proxy_tensor import make_fx

from attnexp.architectures.base import Architecture
from attnexp.core.batch import Batch
from attnexp.core.errors import RequestError, with_type
from attnexp.tracing.sites import marked, numbers_of, with_numbers

FIELDS = ("queries", "keys", "values", "mask")
"""The fields of a batch that are inputs of a graph."""


@dataclass(frozen=True)
class Traced:
    """A graph whose inputs are the parameters of a model, followed by the fields of a batch.

    `outputs` names the outputs of the graph: `outputs` itself, and each attention. `numbers` are
    the parameters of scores and normalizers that are one number.
    """

    graph: fx.GraphModule
    parameters: Mapping[str, Tensor]
    inputs: Mapping[str, Tensor]
    outputs: Sequence[str]
    numbers: Sequence[str]


class Passing(nn.Module):
    """A model as a module that takes the fields of a batch by name, and returns outputs by name."""

    def __init__(self, model: Architecture, batch: Batch) -> None:
        super().__init__()
        self.model = model
        self.batch = batch

    def forward(self, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        answer = self.model(replace(self.batch, **fields), need_weights=True)
        return {"outputs": answer.outputs, **answer.weights}


def traced(model: Architecture, batch: Batch) -> Traced:
    """Trace the forward pass of a model in evaluation mode, on batches of one shape.

    Raises RequestError as `graph_of`, and for an attention without an estimator.
    """
    tensors = batch.tensors()
    inputs = {name: tensors[name] for name in FIELDS if name in tensors}
    return graph_of(Passing(marked(model), batch), inputs)


def graph_of(module: nn.Module, inputs: Mapping[str, Tensor]) -> Traced:
    """Trace a module that maps inputs by name to outputs by name.

    The numbers of its scores and normalizers become parameters too, if the module can be traced so.

    Raises RequestError for a module whose numbers decide which operations it computes, and for any
    other module that cannot be traced.
    """
    try:
        return _graph_of(with_numbers(copy.deepcopy(module)), inputs)
    except RequestError:
        return _graph_of(module, inputs)


def _graph_of(module: nn.Module, inputs: Mapping[str, Tensor]) -> Traced:
    parameters = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    parameters = {name: tensor.detach() for name, tensor in parameters.items()}
    names: list[str] = []

    def forward(parameters: dict[str, Tensor], inputs: dict[str, Tensor]) -> list[Tensor]:
        outputs = functional_call(module, parameters, (inputs,))
        names[:] = outputs
        return list(outputs.values())

    try:
        with torch.no_grad(), _without_autograd():
            graph = make_fx(
                functionalize(forward, remove="mutations_and_views"),
                decomposition_table=_decompositions(),
                tracing_mode="fake",
                _allow_non_fake_inputs=True,
            )(parameters, dict(inputs))
    except (Exception, SystemExit) as error:  # the model may be anybody's
        if "DataDependent" in type(error).__name__:
            raise RequestError("it looks at its numbers to decide what to compute") from error
        why = with_type(error).strip().partition("\n")[0]
        raise RequestError(f"its forward pass cannot be traced ({why:.160})") from error
    graph.graph.eliminate_dead_code()
    return Traced(graph, parameters, inputs, names, numbers_of(module))


@cache
def _decompositions() -> dict[Any, Any]:
    return dict(core_aten_decompositions().items())


@contextmanager
def _without_autograd() -> Iterator[None]:
    """Let functions with their own derivative run, in the block, as their forward pass alone."""

    def apply(cls: Any, *arguments: Any) -> Any:
        return cls.forward(*arguments)

    exporting = patch.object(torch.compiler, "_is_exporting_flag", True)
    with exporting, patch.object(torch.autograd.Function, "apply", classmethod(apply)):
        yield
