"""`attnexp attend`: computes attention once, and shows every step from scores to contexts."""

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnexp import console
from attnexp.cli.arguments import Arguments, add_trust
from attnexp.cli.attention_display import Outcome, draw, record_of, show
from attnexp.config.groups import choices, first_line
from attnexp.errors import RequestError, choices_text, nearest_text, none_of
from attnexp.runs.documents import read_yaml
from attnexp.runs.files import UnreadableRunError, finite

if TYPE_CHECKING:
    from attnexp.cli.tensors import Description
    from attnexp.cli.trained_attention import TrainedAttention
    from attnexp.config.job import Job

TENSORS = ("queries", "keys", "values", "scores", "valid_lens")
"""What is described on the command line or in a file, in the order in which it is shown."""

SETTING = re.compile(r"(model|normalizer)(\.[A-Za-z]\w*)*|seed")
"""The names of settings that decide attention. A file may be somebody else's: no `_target_`."""

MOST_FEATURES = 2**28
"""Numbers that comparing may take, one for each feature of each pair: 1 GB."""

EPILOG = """examples:
  attnexp attend example=additive                  a case of the textbook; {names}
  attnexp attend example=additive --valid-lens 3,10 model.hidden_dim=64 --seed 1
  attnexp attend --queries normal:2x1x4 --keys normal:2x5x4 --score scaled_dot
  attnexp attend --scores "1,2,3;0,0,0" --values 10,20,30 --normalizer sparsemax
  attnexp attend --queries q.npy --keys k.csv --values v.csv --output map.png
  attnexp attend example=kernel --run outputs/RUN  with what a run has learned
tensors:
  normal:2x1x20   a kind and a shape: arange, eye, normal, ones, uniform or zeros
  1,2;3,4         numbers, the rows between semicolons
  keys.npy        a file, .npy or .csv without a header
  Without a batch, a tensor is the same in every sequence. One axis of queries or keys is points of
  one number; one axis of values is laid out key by key.
"""


@dataclass(frozen=True)
class Request:
    """What is asked for: settings by name, tensors as they are described, and a title."""

    title: str
    settings: Mapping[str, str]
    tensors: "Mapping[str, Description]"


def main(argv: Sequence[str]) -> None:
    """Compute the attention that the arguments describe, and show its steps.

    Raises RequestError for arguments that make no sense, and for tensors that do not fit.
    """
    arguments = parse(argv)
    picture = arguments.output
    if picture is not None:
        check_ending(picture)
    request = read_request(arguments)
    check_complete(request.tensors)
    words = [f"{name}={value}" for name, value in request.settings.items()]
    job = compose(words, arguments.config_dir)
    with console.status("loading PyTorch"):
        import torch  # noqa: F401  everything below needs it
    try:
        outcome = attend(job, request, load_trained(arguments))
    except ValueError as error:
        raise RequestError(" ".join(str(error).split())) from error
    if arguments.format == "json":
        sys.stdout.write(json.dumps(finite(record_of(outcome)), allow_nan=False) + "\n")
    else:
        show(outcome, request.tensors, arguments.config_dir)
    if picture is not None:
        draw(outcome, picture)
        if arguments.format != "json":
            console.say(f"the map is in {console.near(picture)}")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments."""
    names = choices_text(choice.name for choice in choices("attend"))
    parser = Arguments(
        "attend",
        "Compute attention once, and show scores, mask, weights and context.",
        EPILOG.format(names=names),
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="NAME=VALUE",
        help="example=NAME, or settings: model=NAME, model.width=2, normalizer=NAME, seed=1",
    )
    for name, what in {
        "queries": "what asks: batch x queries x features",
        "keys": "what is compared with the queries: batch x keys x features",
        "values": "what is averaged: batch x keys x features",
        "scores": "scores themselves, in place of queries and keys: batch x queries x keys",
        "valid-lens": "keys that are no padding: 2,6 a sequence, 1,3;2,4 a query",
    }.items():
        parser.add_argument(f"--{name}", metavar="TENSOR", help=what)
    parser.add_argument("--score", metavar="NAME", help="the same as model=NAME")
    parser.add_argument("--normalizer", metavar="NAME", help="the same as normalizer=NAME")
    parser.add_argument("--seed", metavar="N", help="the same as seed=N; decides all draws")
    parser.add_argument(
        "--from", dest="file", type=Path, metavar="FILE", help="read all this from a YAML file"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the map: .png, .svg or .pdf")
    parser.add_argument(
        "--run", type=Path, metavar="RUN", help="a run whose trained score compares"
    )
    parser.add_argument(
        "--attention", metavar="NAME", help="which attention of the run; default: its last"
    )
    add_trust(parser)
    arguments = parser.parse_intermixed_args(_joined(argv))
    if arguments.run is None and (arguments.attention is not None or arguments.trust):
        parser.error("--attention and --trust are about a run: add --run RUN")
    return arguments


def _joined(argv: Sequence[str]) -> list[str]:
    """Return the arguments with tensors that begin with a minus sign joined to their names."""
    flags = {f"--{name.replace('_', '-')}" for name in TENSORS}
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1] in flags and re.match(r"-[\d.]", word):
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
    return joined


def check_ending(path: Path) -> None:
    """Raise RequestError for a picture in a format that there is not."""
    from attnexp.plots.style import FORMATS

    if path.suffix.removeprefix(".") not in FORMATS:
        raise RequestError(f"--output: {path} must end with .png, .svg or .pdf")


def read_request(arguments: argparse.Namespace) -> Request:
    """Return what an example or a file asks for, and what the command line adds or replaces.

    Raises RequestError for files that cannot be read, and for names that decide nothing here.
    """
    from attnexp.cli.tensors import Description

    typed = dict(_split(word) for word in arguments.words)
    example = typed.pop("example", None)
    file = arguments.file
    if example is not None and file is not None:
        raise RequestError(f"example={example} and --from {file} cannot both be given: choose one")
    if example is not None:
        file = _example(example)
    content = {} if file is None else _read(file)
    tensors = {}
    for name in TENSORS:
        flag = f"--{name.replace('_', '-')}"
        given = getattr(arguments, name)
        if given is not None:
            tensors[name] = Description(flag, given, Path())
        elif name in content and file is not None:
            tensors[name] = Description(f"{file.name}: {name}", content[name], file.parent)
    settings = {name: _word(value) for name, value in content.items() if name not in TENSORS}
    flags = {
        "model": arguments.score,
        "normalizer": arguments.normalizer,
        "seed": arguments.seed,
    }
    settings |= {name: value for name, value in flags.items() if value is not None} | typed
    for name, value in settings.items():
        _check_setting(name, value)
    title = first_line(file) if file is not None else ""
    if arguments.run is not None:
        settings = _without_score(settings, {**flags, **typed}, tensors)
    return Request(title or "Attention", settings, tensors)


def _without_score(
    settings: Mapping[str, str], typed: Mapping[str, str | None], tensors: Mapping[str, object]
) -> dict[str, str]:
    """Return the settings without those of the score, which a run has.

    Raises RequestError where the command line chooses a score too, or gives scores.
    """
    own = [name for name in settings if name.partition(".")[0] == "model"]
    doubled = [name for name in own if typed.get(name) is not None]
    if "scores" in tensors:
        doubled.append("scores")
    if doubled:
        raise RequestError(
            f"--run has a score, so that {doubled[0]} cannot be given too: leave one of them"
        )
    return {name: value for name, value in settings.items() if name not in own}


def _split(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise RequestError(
            f"'{word}' is not a setting: write name=value, as in example=additive or model.width=2"
        )
    return name, value


def _example(name: str) -> Path:
    """Return the file of an example. Raises RequestError for one that is not shipped."""
    files = {choice.name: choice.path for choice in choices("attend")}
    if name not in files:
        raise RequestError(f"example: {none_of(name, files)}")
    return files[name]


def _read(file: Path) -> dict[str, Any]:
    try:
        content = read_yaml(file)
    except (FileNotFoundError, UnreadableRunError) as error:
        raise RequestError(f"--from: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise RequestError(
            f"--from: {file} must hold lines of `name: value`, such as `keys: ones:2x10x2`"
        )
    return content


def _word(value: Any) -> str:
    """Return a value of YAML as it is typed on the command line."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _check_setting(name: str, value: str) -> None:
    """Raise RequestError for a setting that attention does not have, or several values of one."""
    if not SETTING.fullmatch(name):
        raise RequestError(
            f"'{name}' decides nothing here: choose model, model.NAME, normalizer, "
            f"normalizer.NAME, seed or {choices_text(TENSORS)}.{nearest_text(name, TENSORS)}"
        )
    if "${" in value or ("," in value and not value.startswith("[")):
        raise RequestError(f"{name} takes one value here, got '{value:.60}'")


def check_complete(tensors: Mapping[str, object]) -> None:
    """Raise RequestError unless there are queries and keys, or scores in place of both."""
    pair = [name for name in ("queries", "keys") if name in tensors]
    if "scores" in tensors and pair:
        raise RequestError(f"scores are given, so that {pair[0]} have no part: leave one of them")
    if "scores" not in tensors and len(pair) < 2:
        missing = " and ".join(f"--{name}" for name in ("queries", "keys") if name not in pair)
        raise RequestError(
            f"{missing} must be given, as in --queries normal:2x1x4 --keys ones:2x10x4; or "
            "--scores in place of both, or example=NAME"
        )


def compose(words: Sequence[str], config_dir: Path | None) -> "Job":
    """Return the configuration that settings make. Raises RequestError for those that do not."""
    from attnexp.config.compose import CommandLine
    from attnexp.config.messages import ComposeErrors

    extra = [] if config_dir is None else ["--config-dir", str(config_dir)]
    line = CommandLine.read([*extra, *words])
    try:
        job = line.compose()
    except ComposeErrors as error:
        raise line.request_error(error) from error
    if job is None:
        raise RequestError(f"attend takes one value of each setting, got {' '.join(words):.120}")
    return job


def load_trained(arguments: argparse.Namespace) -> "TrainedAttention | None":
    """Return the attention of the run that is asked for, None where there is none."""
    if arguments.run is None:
        return None
    from attnexp.cli.trained_attention import load_attention
    from attnexp.config.trust import read_trust

    trust = read_trust(arguments.trust, arguments.config_dir)
    return load_attention(arguments.run, arguments.attention, trust)


def attend(job: "Job", request: Request, trained: "TrainedAttention | None") -> Outcome:
    """Compute attention step by step, with what a run has learned where there is one.

    Raises RequestError or ValueError for tensors that cannot be made or do not fit.
    """
    from attnexp.attention.steps import take_steps
    from attnexp.cli.tensors import fitted
    from attnexp.config.build import generator, make_normalizer, make_score
    from attnexp.training.tensors import arrays

    seed = job.settings["seed"]
    made = {}
    for name, described in request.tensors.items():
        make = described.whole if name == "valid_lens" else described.tensor
        made[name] = make(generator(seed, f"attend {name}"))
    given = fitted(made)
    model, normalizer_name = job.chosen["model"], job.chosen["normalizer"]
    origin = f"untrained parameters, from seed {seed}"
    normalizer = make_normalizer(job.config)
    if trained is not None:
        model, origin = trained.model, f"trained parameters of {trained.place}"
        if "normalizer" not in request.settings:
            trained.require_one_normalizer()
            normalizer, normalizer_name = trained.normalizer, trained.normalizer_name
    parameters = dict(normalizer.named_parameters())
    if "scores" in given:
        scores = given["scores"]
    else:
        queries, keys = given["queries"], given["keys"]
        if trained is None:
            score = make_score(job.config, queries.shape[-1], keys.shape[-1])
        else:
            trained.require_sizes(queries.shape, keys.shape)
            score = trained.score
        score.requires_grad_(False)
        features = score.project_keys(keys[:1, :1]).shape[-1]
        pairs = queries.shape[0] * queries.shape[1] * keys.shape[1]
        if pairs * features > MOST_FEATURES:
            raise RequestError(
                f"model={model} compares {pairs:,} pairs by {features:,} numbers "
                f"each, and at most {MOST_FEATURES:,} are computed: choose smaller sizes"
            )
        scores = score(queries, keys)
        parameters = {**dict(score.named_parameters()), **parameters}
    steps = take_steps(scores, normalizer, given.get("values"), given.get("valid_lens"))
    computed = {name: tensor for name, tensor in steps._asdict().items() if tensor is not None}
    return Outcome(
        title=request.title,
        score=None if "scores" in given else model,
        normalizer=normalizer_name,
        seed=seed,
        origin=origin,
        parameters={
            name.removesuffix(".weight"): tuple(tensor.shape) for name, tensor in parameters.items()
        },
        tensors=arrays({**given, **computed}),
    )
