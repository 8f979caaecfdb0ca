"""`attnexp attend`: computes attention once, and shows every step from scores to contexts."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from attnexp.attend.request import GROUPS, TENSORS, read_request
from attnexp.cli.arguments import Arguments, add_language
from attnexp.cli.candidates import chosen, files
from attnexp.config.groups import choices
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text
from attnexp.core.language import LANGUAGES, speaking
from attnexp.runs.files import PICTURES, finite, require_output

PAGE = ".html"

EPILOG = """examples:
  attnexp attend example=additive                  a case of the textbook; {names}
  attnexp attend example=additive --valid-lens 3,10 model.hidden_dim=64 seed=1
  attnexp attend --queries normal:2x1x4 --keys normal:2x5x4 model=scaled_dot
  attnexp attend --scores "1,2,3;0,0,0" --values 10,20,30 normalizer=sparsemax
  attnexp attend --queries q.npy --keys k.csv --values v.csv --output map.png
  attnexp attend example=kernel --output page.html  a page on which the tensors are edited
tensors:
  normal:2x1x20   a kind and a shape: arange, eye, normal, ones, uniform or zeros
  1,2;3,4         numbers, the rows between semicolons
  keys.npy        a file, .npy or .csv without a header
  Without a batch, a tensor is the same in every sequence. One axis of queries, keys or values is
  points of one number.
"""


def main(argv: Sequence[str]) -> None:
    """Compute the attention that the arguments describe, and show its steps.

    Raises RequestError for arguments that make no sense, and for tensors that do not fit.
    """
    arguments = parse(argv)
    typed = {name: text for name in TENSORS if (text := getattr(arguments, name)) is not None}
    request = read_request(arguments.words, typed, arguments.file)
    job = request.compose(arguments.config_dir)
    if arguments.lang is not None and arguments.output is None:
        raise RequestError("--lang is for the map or the page: name its file with --output")
    if arguments.output is not None and arguments.output.suffix == PAGE:
        require_output("--output", arguments.output)
    with console.status("loading PyTorch"):
        from attnexp.attend.outcome import attend, draw, show, write_page
    try:
        outcome = attend(job, request)
    except ValueError as error:
        raise RequestError(" ".join(str(error).split())) from error
    if arguments.format == "json":
        sys.stdout.write(json.dumps(finite(outcome.record()), allow_nan=False) + "\n")
    else:
        show(outcome, request.tensors, arguments.config_dir)
    if arguments.output is not None:
        language = arguments.lang or LANGUAGES[0]
        if arguments.output.suffix == PAGE:
            write_page(outcome, arguments.output, language)
        else:
            with speaking(language):
                draw(outcome, arguments.output)
        if arguments.format != "json":
            console.print_line(
                f"the {'page' if arguments.output.suffix == PAGE else 'map'} is in "
                f"{console.relative(arguments.output)}"
            )


def picture(text: str) -> Path:
    """Return the path of a picture in one of the formats, or of a page."""
    if not text.endswith((*PICTURES, PAGE)):
        choices = choices_text((*PICTURES, PAGE))
        raise argparse.ArgumentTypeError(f"{text} must end with {choices}")
    return Path(text)


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    names = choices_text(choice.name for choice in choices("attend"))
    parser = Arguments(
        "attend",
        "Compute attention once, and show scores, mask, weights and context.",
        EPILOG.format(names=names),
    )
    parser.add_argument(
        "words",
        nargs="*",
        completes=chosen({"example": "attend", **{group: group for group in GROUPS}}),
        metavar="NAME=VALUE",
        help="example=NAME, or settings: model=NAME, model.width=2, normalizer=NAME, seed=1, ...",
    )
    for name, line in TENSORS.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, completes=files, metavar="TENSOR", help=line)
    parser.add_argument(
        "--from", dest="file", type=Path, metavar="FILE", help="read all this from a YAML file"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--output",
        type=picture,
        completes=files,
        metavar="FILE",
        help="the map: .png, .svg or .pdf; or a page on which tensors are edited: .html",
    )
    add_language(parser, default=None)
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a configuration of your own"
    )
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments."""
    # A space in front, so that a tensor such as -1,0 is a value for argparse and not an option.
    spaced = [f" {word}" if re.match(r"-[\d.]+[,;]", word) else word for word in argv]
    return make_parser().parse_intermixed_args(spaced)
