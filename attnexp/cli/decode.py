"""`attnexp decode`: answers a source with a trained sequence model and shows its attention."""

from collections.abc import Sequence

from attnexp.cli.arguments import Arguments, add_run, add_trust, add_view
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.files import PREDICTIONS

EPILOG = """examples:
  attnexp decode outputs/RUN "3 1 4 1 5"           the answer, and its attention
  attnexp decode outputs/RUN "3 1 4" --head 2      another head
  attnexp decode outputs/RUN "3 1" --trust mine    a score or data set in your mine.py
"""


def main(argv: Sequence[str]) -> None:
    """Answer the source that the arguments hold.

    Raises RequestError for a run that is not a finished run on sequence data, for one that names
    code that is not trusted, and for a source with symbols that are not in the vocabulary.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.runs.folder import load_run

    stored = load_run(arguments.run)
    if not stored.finished:
        raise RequestError(f"{arguments.run} is {stored.status}: it has no trained model")

    with console.status("loading PyTorch"):
        import torch  # noqa: F401  everything below needs it

    from attnexp.architectures.seq2seq import Seq2Seq
    from attnexp.config.restore import restore
    from attnexp.config.trust import read_trust
    from attnexp.core.batch import Seq2SeqSpec
    from attnexp.plots.terminal import Terminal, draw_attention, print_encodable
    from attnexp.runs.attention import StoredAttention, View
    from attnexp.tasks.decoding import ask
    from attnexp.training.record.stored_tensors import arrays

    trust = read_trust(arguments.trust, arguments.config_dir)
    run = restore(stored.summary, arguments.run, trust)
    spec = run.dataset.spec
    if not isinstance(run.model, Seq2Seq) or not isinstance(spec, Seq2SeqSpec):
        raise RequestError(
            f"data={run.chosen['data']} is not sequence data: there is nothing to decode"
        )
    if run.dataset.test.asked is not None:
        raise RequestError(
            f"data={run.chosen['data']} gives the decoder its input, so a source alone has no "
            f"answer: {arguments.run / PREDICTIONS} has the answers to the test set"
        )
    source = " ".join(arguments.source)
    try:
        with run.precision.autocast():
            answer = ask(run.model, spec, source)
    except ValueError as error:
        raise RequestError(str(error)) from error
    console.print_line(f"{source} -> {answer.text}")
    if answer.unknown:
        console.warn(
            f"not in the training data, and read as <unk>: {', '.join(map(repr, answer.unknown))}"
        )
    if not answer.ended:
        console.warn("the model did not write its end symbol: the answer is cut off")
    attention = StoredAttention(
        arrays(answer.weights), arrays(answer.batch.tensors()), spec.source_vocab, spec.target_vocab
    )
    view = View(arguments.attention, arguments.layer, arguments.head)
    terminal = Terminal.of(console.screen.out)
    for line in draw_attention(attention, view, terminal):
        print_encodable(terminal, line)


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("decode", "Answer a source with a run's trained model.", EPILOG)
    add_run(parser)
    parser.add_argument(
        "source", nargs="+", metavar="SOURCE", help="symbols of the data, as in '3 1 4' or 3,1,4"
    )
    add_view(parser)
    add_trust(parser)
    return parser
