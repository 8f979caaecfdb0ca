"""Computes an attention, and shows it as text, as a picture of its maps, or as a page to edit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from attnexp.attend.request import GROUPS, AttendRequest
from attnexp.attend.tensors import Description, shape_text
from attnexp.config.groups import choices
from attnexp.core import console
from attnexp.core.errors import RequestError, writable
from attnexp.core.language import Phrase, joined, numbered, said, translate
from attnexp.plots.terminal import Terminal, draw_map, print_encodable
from attnexp.runs.attention import Map, MapAxis
from attnexp.runs.files import write_output

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from attnexp.attention.steps import Stepwise
    from attnexp.config.job import Job

MOST_SYMBOLS = 20
"""Queries or keys up to which a map names each of them."""

MOST_MAPS = 6
"""Sequences whose maps are shown."""

GIVEN = ("queries", "keys", "scores", "values", "mask")
"""The tensors that can be edited on a page, in this order."""

MOST_NUMBERS = 2_000
"""The most numbers of a page."""


@dataclass(frozen=True)
class Outcome:
    """The result of a request: the choices, and all tensors in order.

    `chosen` has the names of choices that matter: no model if scores were given, no normalizer if
    the estimator takes products, and no estimator if the weights are the answer's. `parameters`
    holds the shapes of the parameters, which are untrained and come from the seed. `stepwise`
    computes the steps again.
    """

    title: str
    chosen: Mapping[str, str]
    seed: int
    parameters: Mapping[str, Sequence[int]]
    tensors: Mapping[str, NDArray[Any]]
    stepwise: "Stepwise"

    def record(self) -> dict[str, Any]:
        """Return the result for programs. Scores of minus infinity become null."""
        return {
            "score": self.chosen.get("model"),
            "normalizer": self.chosen.get("normalizer"),
            "estimator": self.chosen.get("estimator", "local_constant"),
            "seed": self.seed,
            "parameters": self.parameters,
            "shapes": {name: array.shape for name, array in self.tensors.items()},
            **{name: array.tolist() for name, array in self.tensors.items()},
        }


def attend(job: "Job", request: AttendRequest) -> Outcome:
    """Compute attention step by step.

    Raises RequestError or ValueError for tensors that cannot be made or do not fit.
    """
    import torch

    from attnexp.attend.tensors import fitted
    from attnexp.attention.steps import Stepwise
    from attnexp.config.build import make_estimator, make_normalizer, make_score
    from attnexp.core.seeds import generator

    seed = job.settings["seed"]
    made = {}
    for name, described in request.tensors.items():
        kinds = {"valid_lens": described.lengths, "mask": described.truths}
        made[name] = kinds.get(name, described.tensor)(generator(seed, f"attend {name}"))
    given = fitted(made)
    chosen = {group: job.chosen[group] for group in GROUPS}
    normalizer = make_normalizer(job)
    if "scores" in given:
        score, shape, sizes = None, given["scores"].shape, (1, 1)
        del chosen["model"]
    else:
        pair = given["queries"], given["keys"]
        shape = torch.Size((len(pair[0]), pair[0].shape[1], pair[1].shape[1]))
        sizes = pair[0].shape[-1], pair[1].shape[-1]
        score = make_score(job, *sizes)
    estimator = make_estimator(job, *sizes)
    mask = _mask(given, shape)
    # nobody may edit the mask of a causal estimator
    stepwise = Stepwise(score, normalizer, estimator, mask if estimator.causal else None)
    triangle = torch.ones_like(mask).tril()
    if estimator.causal and not (shape[1] == shape[2] and mask.equal(triangle)):
        raise RequestError(
            f"estimator={chosen['estimator']} needs as many queries as keys, of which each sees "
            "those up to its own: give valid lengths such as --valid-lens '1,2,3;'"
        )
    if estimator.needs_products:
        del chosen["normalizer"]
    with torch.no_grad():
        found = stepwise({**given, "mask": mask})
    _check_finite(found, chosen)
    if "effective" not in found:
        del chosen["estimator"]
    tensors = {**given, "scores": found.pop("scores"), "mask": mask, **found}
    parts = (part for part in (score, normalizer, estimator) if part is not None)
    parameters = {name: one for part in parts for name, one in part.named_parameters()}
    return Outcome(
        request.title,
        chosen,
        seed,
        {name.removesuffix(".weight"): tuple(one.shape) for name, one in parameters.items()},
        {name: tensor.numpy() for name, tensor in tensors.items()},
        stepwise,
    )


def _mask(given: "Mapping[str, Tensor]", shape: "torch.Size") -> "Tensor":
    """Return which keys each query sees: all, but for those that valid lengths or a mask hide."""
    import torch

    from attnexp.core.masks import fitting_mask

    mask = torch.ones(shape, dtype=torch.bool)
    if "valid_lens" in given:
        mask = fitting_mask(given["valid_lens"], torch.empty(shape)).expand(shape)
    return mask & given["mask"] if "mask" in given else mask


def _check_finite(found: "Mapping[str, Tensor]", chosen: Mapping[str, str]) -> None:
    """Raise RequestError for weights or effective weights that are not finite."""
    for name in ("weights", "effective"):
        if name in found and not found[name].isfinite().all():
            words = ", ".join(f"{group}={choice}" for group, choice in chosen.items())
            raise RequestError(f"the {name} of {words} hold NaN or infinity: nothing is shown")


def show(outcome: Outcome, described: Mapping[str, Description], config_dir: Path | None) -> None:
    """Print the choices, all shapes, the steps, and a map of the weights of each sequence."""
    terminal = Terminal.of(console.screen.out)
    print_line = partial(print_encodable, terminal)
    print_line(Text(outcome.title, style="bold"))
    for group, name in outcome.chosen.items():
        lines = {choice.name: choice.line for choice in choices(group, config_dir)}
        print_line(Text(f"{group}={name}: {lines.get(name, '')}"))
    if outcome.parameters:
        shapes = (f"{name} {shape_text(s) or 'a number'}" for name, s in outcome.parameters.items())
        print_line(Text(f"untrained parameters, from seed {outcome.seed}: {', '.join(shapes)}"))
    table = console.plain_table(["", "shape", "from"])
    chosen = {group: f"{group}={name}" for group, name in outcome.chosen.items()}
    origins = {
        **dict.fromkeys(outcome.tensors, chosen.get("estimator", "")),
        "scores": chosen.get("model", ""),
        "mask": "valid_lens" if "valid_lens" in described else "all keys are valid",
        "weights": chosen.get("normalizer", "scores, 0 where the mask is false"),
        "context": f"{'effective ' * ('effective' in outcome.tensors)}weights times values",
        **{name: str(description) for name, description in described.items()},
    }
    for name, array in outcome.tensors.items():
        table.add_row(name, shape_text(array.shape), Text(origins[name]))
    console.screen.out.print()
    console.screen.out.print(table)
    for name, array in outcome.tensors.items():
        if name not in ("queries", "keys", "values", "valid_lens"):
            print_line(Text(f"\n{name}", style="bold"))
            for line in array_text(array, terminal.width).splitlines():
                print_line(Text(line))
    shown = "effective weights" if "effective" in outcome.tensors else "weights"
    for title, one in maps(outcome):
        downwards = "downwards" if one.rows.symbols else "upwards"
        print_line(Text(f"\n{shown} of {title}, queries {downwards}, keys across", style="bold"))
        for text in draw_map(one, terminal):
            print_line(text)
    sequences = len(outcome.tensors["weights"])
    if sequences > MOST_MAPS:
        print_line(Text(f"and {sequences - MOST_MAPS:,} more sequences; --format json has all"))


def array_text(array: NDArray[Any], width: int) -> str:
    """Return an array as NumPy prints it, with four decimals; of a large one, its ends alone."""
    numbers = array.astype(np.float64)
    return np.array2string(
        numbers, width, precision=4, suppress_small=True, threshold=200, edgeitems=3
    )


def maps(outcome: Outcome) -> Iterator[tuple[str, Map]]:
    """Yield the map of each of the first sequences, with its name."""
    effective = outcome.tensors.get("effective", outcome.tensors["weights"])
    for i, weights in enumerate(effective[:MOST_MAPS]):
        queries, keys = _axis(said("query"), weights.shape[0]), _axis(said("key"), weights.shape[1])
        hidden = ~np.broadcast_to(outcome.tensors["mask"][i], weights.shape)
        name = translate(numbered(said("sequence"), i + 1))
        yield name, Map(weights.astype(np.float64), queries, keys, hidden=hidden)


def _axis(name: Phrase, size: int) -> MapAxis:
    """Return a side of a map: places from 1, each with its number if they are few."""
    order = np.arange(size)
    if size <= MOST_SYMBOLS:
        return MapAxis(name, order, symbols=tuple(str(place + 1) for place in order))
    return MapAxis(name, order, numbers=(order + 1).astype(np.float64))


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the maps of the first sequences side by side.

    Raises RequestError if the file cannot be written.
    """
    from attnexp.plots.heatmap_grid import draw_grid
    from attnexp.plots.style import save, style_context

    names, cells = zip(*maps(outcome), strict=True)
    words = [f"{group}={name}" for group, name in outcome.chosen.items()]
    subtitle = translate(joined(said(", "), [*words, numbered(said("seed"), outcome.seed)]))
    with writable("--output", path), style_context():
        save(draw_grid([cells], [names], [""], outcome.title, subtitle), [path])


def write_page(outcome: Outcome, path: Path, language: str) -> None:
    """Write a page that computes every step again when a number is edited.

    It begins in `language`, and has a switch to the other.

    Raises RequestError for more than `MOST_NUMBERS` numbers, for a score or a normalizer that
    cannot be traced or have parameters that are not finite in 16 bits, and for a file that cannot
    be written.
    """
    import torch

    from attnexp.report.content import AROUND_ZERO, COLOURS
    from attnexp.report.page import DataSection, Page, Result, StepsProgram, TensorModel
    from attnexp.report.render import page
    from attnexp.tracing.program import program_of, require_finite
    from attnexp.tracing.trace import graph_of

    count = sum(array.size for array in outcome.tensors.values())
    if count > MOST_NUMBERS:
        raise RequestError(
            f"a page shows at most {MOST_NUMBERS:,} numbers, and there are {count:,}"
        )
    computed = ["scores"] if "model" in outcome.chosen else []
    computed += ["mask"] if outcome.stepwise.mask is not None else []
    inputs = {
        name: torch.tensor(outcome.tensors[name])
        for name in GIVEN
        if name in outcome.tensors and name not in computed
    }
    graph = graph_of(outcome.stepwise.eval(), inputs)
    require_finite(outcome.stepwise, graph)
    given = {name: tensor.flatten().tolist() for name, tensor in inputs.items()}
    words = [f"{group} {choice}" for group, choice in outcome.chosen.items()]
    name = ", ".join(words).replace("model ", "score ")
    model = TensorModel(name, StepsProgram(program_of(graph)), given)
    result, data = Result(name, "", None, None), DataSection(name, 0, computed=[model])
    content = Page(
        outcome.title, COLOURS, AROUND_ZERO, results=[result], data=[data], language=language
    )
    write_output("--output", path, page(content).encode("utf-8", "replace"))
