"""`attnexp decode`: answers a source with a trained sequence model and shows its attention."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnexp.cli import arguments
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.files import PREDICTIONS

if TYPE_CHECKING:
    from attnexp.tasks.decoding import Answer

EPILOG = """examples:
  attnexp decode outputs/RUN "3 1 4 1 5"           the answer, and its attention
  attnexp decode outputs/RUN "3 1 4" --head 2      another head
  attnexp decode outputs/RUN "3 1" --trust mine    with your mine.py
"""


def main(
    run: arguments.Run,
    source: Sequence[str],
    *,
    attention: arguments.AttentionName = None,
    layer: arguments.Layer = None,
    head: arguments.Head = None,
    trust: arguments.Trusted = (),
    config_dir: arguments.RunConfig = None,
) -> None:
    """Answer a source with a run's trained model.

    Raises RequestError for a run that is not a finished run on sequence data, for one that names
    code that is not trusted, and for a source with symbols that are not in the vocabulary.

    Args:
        source (SOURCE): symbols of the data, as in '3 1 4' or 3,1,4
    """
    from attnexp.runs.folder import load_run

    stored = load_run(run)
    if not stored.finished:
        raise RequestError(f"{run} is {stored.status}: it has no trained model")

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

    restored = restore(stored.summary, run, read_trust(trust, config_dir))
    spec = restored.dataset.spec
    if not isinstance(restored.model, Seq2Seq) or not isinstance(spec, Seq2SeqSpec):
        raise RequestError(
            f"data={restored.chosen['data']} is not sequence data: there is nothing to decode"
        )
    if restored.dataset.test.asked is not None:
        raise RequestError(
            f"data={restored.chosen['data']} gives the decoder its input, so a source alone has no "
            f"answer: {run / PREDICTIONS} has the answers to the test set"
        )
    text = " ".join(source)
    try:
        with restored.precision.autocast():
            answer = ask(restored.model, spec, text)
    except ValueError as error:
        raise RequestError(str(error)) from error
    _show(text, answer)
    maps = StoredAttention(
        arrays(answer.weights), arrays(answer.batch.tensors()), spec.source_vocab, spec.target_vocab
    )
    terminal = Terminal.of(console.screen.out)
    for line in draw_attention(maps, View(attention, layer, head), terminal):
        print_encodable(terminal, line)


def _show(source: str, answer: "Answer") -> None:
    """Print an answer, and warn of unknown symbols and of an answer without an end symbol."""
    console.print_line(f"{source} -> {answer.text}")
    if answer.unknown:
        console.warn(
            f"not in the training data, and read as <unk>: {', '.join(map(repr, answer.unknown))}"
        )
    if not answer.ended:
        console.warn("the model did not write its end symbol: the answer is cut off")
