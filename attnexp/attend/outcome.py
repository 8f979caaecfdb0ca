"""Computes the attention of a request, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attnexp.attend.request import Request

if TYPE_CHECKING:
    from attnexp.attention.steps import Stepwise
    from attnexp.config.job import Job


@dataclass(frozen=True)
class Outcome:
    """The result of a request: the choices, and all tensors in order.

    `parameters` holds the shapes of the parameters, which are untrained and come from the seed.
    `score` is the name of the choice, or None if scores were given. `stepwise` computes the steps
    again.
    """

    title: str
    score: str | None
    normalizer: str
    seed: int
    parameters: Mapping[str, Sequence[int]]
    tensors: Mapping[str, NDArray[Any]]
    stepwise: "Stepwise"

    def record(self) -> dict[str, Any]:
        """Return the result for programs. Scores of minus infinity become null."""
        return {
            "score": self.score,
            "normalizer": self.normalizer,
            "seed": self.seed,
            "parameters": self.parameters,
            "shapes": {name: array.shape for name, array in self.tensors.items()},
            **{name: array.tolist() for name, array in self.tensors.items()},
        }


def attend(job: "Job", request: Request) -> Outcome:
    """Compute attention step by step.

    Raises RequestError or ValueError for tensors that cannot be made or do not fit.
    """
    import torch

    from attnexp.attend.tensors import fitted
    from attnexp.attention.steps import Stepwise, take_steps
    from attnexp.config.build import make_normalizer, make_score
    from attnexp.core.seeds import generator

    seed = job.settings["seed"]
    made = {}
    for name, described in request.tensors.items():
        make = described.lengths if name == "valid_lens" else described.tensor
        made[name] = make(generator(seed, f"attend {name}"))
    given = fitted(made)
    normalizer = make_normalizer(job)
    parameters = dict(normalizer.named_parameters())
    if "scores" in given:
        score, scores = None, given["scores"]
    else:
        sizes = given["queries"].shape[-1], given["keys"].shape[-1]
        score = make_score(job, *sizes)
        with torch.no_grad():
            scores = score(given["queries"], given["keys"], given.get("valid_lens"))
        parameters = {**dict(score.named_parameters()), **parameters}
    steps = take_steps(scores, normalizer, given.get("values"), given.get("valid_lens"))
    tensors = {**given, **steps._asdict()}
    return Outcome(
        request.title,
        None if "scores" in given else job.chosen["model"],
        job.chosen["normalizer"],
        seed,
        {name.removesuffix(".weight"): tuple(one.shape) for name, one in parameters.items()},
        {name: tensor.numpy() for name, tensor in tensors.items() if tensor is not None},
        Stepwise(score, normalizer),
    )
