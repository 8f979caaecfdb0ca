"""An attention of a trained run, for `attnexp attend --run`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.config.build import restore
from attnexp.config.trust import Trust
from attnexp.errors import RequestError, choices_text, nearest_text
from attnexp.normalizers.base import Normalizer
from attnexp.runs.run import load_run
from attnexp.scores.base import Score


@dataclass(frozen=True)
class TrainedAttention:
    """A score and a normalizer with the parameters that a run has learned.

    `model` and `normalizer_name` are the choices of the run, `place` says where they are in it.
    """

    model: str
    normalizer_name: str
    place: str
    score: Score
    normalizer: Normalizer

    def require_sizes(self, queries: Sequence[int], keys: Sequence[int]) -> None:
        """Raise RequestError for shapes of queries and keys that the score does not compare."""
        sizes = (self.score.query_dim, self.score.key_dim)
        if (queries[-1], keys[-1]) != sizes:
            raise RequestError(
                f"the score of {self.place} compares queries of {sizes[0]} features with keys of "
                f"{sizes[1]}, got queries of {queries[-1]} and keys of {keys[-1]}"
            )

    def require_one_normalizer(self) -> None:
        """Raise RequestError where the normalizer has learned something else for each head."""
        if self.normalizer.heads > 1 and any(True for _ in self.normalizer.parameters()):
            raise RequestError(
                f"normalizer={self.normalizer_name} of {self.place} has learned a number for each "
                f"of {self.normalizer.heads} heads: choose another with --normalizer NAME"
            )


def load_attention(folder: Path, name: str | None, trust: Trust) -> TrainedAttention:
    """Return an attention of a finished run by its name in the model, the last one where none is.

    Raises RequestError for a run that did not finish or cannot be built, and for a name that none
    of its attentions has.
    """
    stored = load_run(folder)
    if not stored.finished:
        raise RequestError(f"{folder} is {stored.state}: it has no trained model")
    model = restore(stored.summary, folder, trust).model
    found = {
        own: module
        for own, module in model.named_modules()
        if isinstance(module, AttentionPooling | MultiHead)
    }
    if not found:
        raise RequestError(f"the model of {folder} has no attention of attnexp's own kinds")
    chosen = next(reversed(found)) if name is None else name
    if chosen not in found:
        raise RequestError(
            f"--attention: '{chosen}' is none of {choices_text(found)}."
            f"{nearest_text(chosen, found)}"
        )
    attention = found[chosen].float().requires_grad_(False)
    return TrainedAttention(
        stored.model,
        stored.choices.get("normalizer", "softmax"),
        f"{chosen} in {folder}",
        attention.score,
        attention.normalizer,
    )
