"""`attnexp attend`: computes attention once, and shows every step from scores to contexts."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated

from attnexp.attend.request import GROUPS, TENSORS, read_request
from attnexp.cli import arguments
from attnexp.cli.candidates import chosen, files
from attnexp.cli.parser import Argument
from attnexp.config.groups import choices
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text
from attnexp.core.language import LANGUAGES, speaking, usual_language
from attnexp.runs.files import PICTURES, finite, require_output

PAGE = ".html"

CHOSEN = {"example": "attend", **{group: group for group in GROUPS}}
"""The words that are completed, each with the group of its choices."""

EXAMPLES = fill(
    f"Examples are {choices_text(choice.name for choice in choices('attend'))}.",
    width=80,
    initial_indent="  ",
    subsequent_indent="  ",
)

EPILOG = f"""examples:
  attnexp attend example=additive             a case of the textbook
  attnexp attend example=additive --valid-lens 3,10 model.hidden_dim=64 seed=1
  attnexp attend --queries normal:2x1x4 --keys normal:2x5x4 model=scaled_dot
  attnexp attend --scores "1,2,3;0,0,0" --values 10,20,30 normalizer=sparsemax
  attnexp attend --queries q.npy --keys k.csv --values v.csv --output map.png
  attnexp attend example=kernel --output page.html  a page to edit the tensors
{EXAMPLES}
tensors:
  normal:2x1x20   a kind and a shape; also arange, eye, ones, uniform and zeros
  1,2;3,4         numbers, the rows between semicolons
  keys.npy        a file, .npy or .csv without a header
  Without a batch, a tensor is the same in every sequence. One axis of queries,
  keys or values is points of one number.
"""


def picture(text: str) -> Path:
    """Return the path of a picture or a page. Raises ArgumentTypeError for another ending."""
    if not text.endswith((*PICTURES, PAGE)):
        choices = choices_text((*PICTURES, PAGE))
        raise argparse.ArgumentTypeError(f"{text} must end with {choices}")
    return Path(text)


def tensor(name: str) -> Argument:
    """Return the argument that describes a tensor."""
    return Argument(TENSORS[name], completes=files, metavar="TENSOR")


@dataclass(frozen=True, kw_only=True)
class TensorOptions:
    """The options that describe tensors."""

    queries: Annotated[str | None, tensor("queries")] = None
    keys: Annotated[str | None, tensor("keys")] = None
    values: Annotated[str | None, tensor("values")] = None
    scores: Annotated[str | None, tensor("scores")] = None
    valid_lens: Annotated[str | None, tensor("valid_lens")] = None
    mask: Annotated[str | None, tensor("mask")] = None


def main(
    words: Annotated[
        Sequence[str],
        Argument(completes=chosen({"example": "attend", **{group: group for group in GROUPS}})),
    ] = (),
    *,
    tensors: TensorOptions,
    file: Annotated[Path | None, Argument(option="--from")] = None,
    format: arguments.DataFormat = "table",
    output: Annotated[Path | None, Argument(completes=files, type=picture)] = None,
    lang: arguments.Language | None = None,
    config_dir: arguments.OwnConfig = None,
) -> None:
    """Compute attention once, and show scores, mask, weights and context.

    Raises RequestError for tensors that do not fit.

    Args:
        words (NAME=VALUE): example=NAME, or settings: model=NAME, model.width=2,
            normalizer=NAME, seed=1, ...
        file: read all this from a YAML file
        output: the map: .png, .svg or .pdf; or a page on which tensors are edited: .html
    """
    typed = {name: text for name, text in vars(tensors).items() if text is not None}
    request = read_request(words, typed, file)
    job = request.compose(config_dir)
    if lang is not None and output is None:
        raise RequestError("--lang is for the map or the page: name its file with --output")
    if output is not None and output.suffix == PAGE:
        require_output("--output", output)
    with console.status("loading PyTorch"):
        from attnexp.attend.outcome import attend, draw, show, write_page
    try:
        outcome = attend(job, request)
    except ValueError as error:
        raise RequestError(" ".join(str(error).split())) from error
    if format == "json":
        sys.stdout.write(json.dumps(finite(outcome.record()), allow_nan=False) + "\n")
    else:
        show(outcome, request.tensors, config_dir)
    if output is not None:
        if output.suffix == PAGE:
            write_page(outcome, output, lang or usual_language(os.environ))
        else:
            with speaking(lang or LANGUAGES[0]):
                draw(outcome, output)
        if format != "json":
            console.print_line(
                f"the {'page' if output.suffix == PAGE else 'map'} is in {console.relative(output)}"
            )
