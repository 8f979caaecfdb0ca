"""The page on which the tensors of one attention can be edited."""

from pathlib import Path

import torch

from attnexp.attend.outcome import Outcome
from attnexp.core.errors import RequestError
from attnexp.report.content import tensors_content
from attnexp.report.render import page
from attnexp.runs.files import write_output
from attnexp.tracing.program import program_of, require_finite
from attnexp.tracing.trace import graph_of

GIVEN = ("queries", "keys", "scores", "values", "mask")
"""The tensors that can be edited, in this order."""

MOST = 2_000
"""The most numbers of a page."""


def write_page(outcome: Outcome, path: Path) -> None:
    """Write a page that computes every step again when a number is edited.

    Raises RequestError for more than `MOST` numbers, for a score or a normalizer that cannot be
    traced or have parameters that are not finite in 16 bits, and for a file that cannot be written.
    """
    count = sum(array.size for array in outcome.tensors.values())
    if count > MOST:
        raise RequestError(f"a page shows at most {MOST:,} numbers, and there are {count:,}")
    computed = () if outcome.score is None else ("scores",)
    inputs = {
        name: torch.tensor(outcome.tensors[name])
        for name in GIVEN
        if name in outcome.tensors and name not in computed
    }
    graph = graph_of(outcome.stepwise.eval(), inputs)
    require_finite(outcome.stepwise, graph)
    program = program_of(graph)
    given = {name: tensor.flatten().tolist() for name, tensor in inputs.items()}
    names = {"score": outcome.score, "normalizer": outcome.normalizer}
    content = tensors_content(outcome.title, program, given, names)
    write_output("--output", path, page(content).encode("utf-8", "replace"))
