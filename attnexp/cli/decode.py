"""`attnexp decode`: ask a trained sequence model, and see where it looked."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from attnexp import console
from attnexp.cli.arguments import Arguments, place
from attnexp.errors import RequestError
from attnexp.runs.run import load_run

EPILOG = """examples:
  attnexp decode outputs/RUN "3 1 4 1 5"           the answer, and its attention
  attnexp decode outputs/RUN "3 1 4" --head 2      another head
"""


def main(argv: Sequence[str]) -> None:
    """Answer the source that the arguments hold.

    Raises RequestError for a run that is no finished sequence model, and for a source with symbols
    that the model does not know.
    """
    arguments = parse(argv)
    stored = load_run(arguments.run)
    if not stored.finished:
        raise RequestError(f"{arguments.run} is {stored.state}: it has no trained model")

    from attnexp.architectures.seq2seq import Seq2Seq
    from attnexp.batch import Seq2SeqSpec
    from attnexp.cli.show import attention_lines, means_of
    from attnexp.config.build import restore
    from attnexp.runs.attention_maps import Attention, View
    from attnexp.tasks.decoding import ask
    from attnexp.training.tensors import arrays

    run = restore(stored.summary, arguments.run)
    spec = run.dataset.spec
    if not isinstance(run.model, Seq2Seq) or not isinstance(spec, Seq2SeqSpec):
        raise RequestError(
            f"data={run.chosen['data']} is no sequence data: there is nothing to decode"
        )
    try:
        answer = ask(run.model, spec, arguments.source)
    except ValueError as error:
        raise RequestError(str(error)) from error
    console.say(f"{arguments.source} -> {answer.text}")
    if not answer.ended:
        console.warn("the model did not write its end symbol: the answer is cut off")
    attention = Attention(
        arrays(answer.weights), arrays(answer.batch.tensors()), spec.source_vocab, spec.target_vocab
    )
    view = View(arguments.attention, arguments.layer, arguments.head)
    for line in attention_lines(attention, view, means_of(console.out)):
        console.out.print(line, soft_wrap=True)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments."""
    parser = Arguments("decode", "Answer a source with a run's trained model.", EPILOG)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("source", metavar="SOURCE", help="symbols of the data, as in '3 1 4'")
    parser.add_argument("--attention", metavar="NAME", help="cross, encoder or decoder")
    parser.add_argument("--layer", type=place, metavar="N", help="default: the last")
    parser.add_argument("--head", type=place, metavar="N", help="default: the mean of all")
    return parser.parse_intermixed_args(argv)
