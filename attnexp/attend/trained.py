"""An attention of a trained run, for `attnexp attend --run`."""

from dataclasses import dataclass
from pathlib import Path

from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.config.restore import restore
from attnexp.config.trust import Trust
from attnexp.errors import RequestError, none_of
from attnexp.normalizers.base import Normalizer
from attnexp.runs.folder import load_run
from attnexp.scores.base import Score


@dataclass(frozen=True)
class TrainedAttention:
    """A score and a normalizer with the parameters that a run has learned.

    `model` and `normalizer_name` are the choices of the run, `name` says where they are in it.
    """

    model: str
    normalizer_name: str
    name: str
    score: Score
    normalizer: Normalizer

    def score_for(self, query_dim: int, key_dim: int) -> Score:
        """Return the score. Raises RequestError where it compares vectors of other sizes."""
        sizes = (self.score.query_dim, self.score.key_dim)
        if (query_dim, key_dim) != sizes:
            raise RequestError(
                f"the score of {self.name} compares queries of {sizes[0]} features with keys of "
                f"{sizes[1]}, got queries of {query_dim} and keys of {key_dim}"
            )
        return self.score

    def one_normalizer(self) -> Normalizer:
        """Return the normalizer. Raises RequestError where it has parameters for each head."""
        if self.normalizer.heads > 1 and any(True for _ in self.normalizer.parameters()):
            raise RequestError(
                f"normalizer={self.normalizer_name} of {self.name} has learned a number for each "
                f"of {self.normalizer.heads} heads: choose another with normalizer=NAME"
            )
        return self.normalizer


def load_attention(folder: Path, name: str | None, trust: Trust) -> TrainedAttention:
    """Return an attention of a finished run by its name in the model, by default the last.

    Raises RequestError for a run that did not finish or cannot be built, and for an unknown name.
    """
    stored = load_run(folder)
    if not stored.finished:
        raise RequestError(f"{folder} is {stored.status}: it has no trained model")
    modules = restore(stored.summary, folder, trust).model.named_modules()
    found = {path: one for path, one in modules if isinstance(one, AttentionPooling | MultiHead)}
    if not found:
        raise RequestError(f"the model of {folder} has no attention of attnexp's own kinds")
    chosen = name or next(reversed(found))
    if chosen not in found:
        raise RequestError(f"--attention: {none_of(chosen, found)}")
    attention = found[chosen].float()
    return TrainedAttention(
        stored.model,
        stored.choices.get("normalizer", "softmax"),
        f"{chosen} in {folder}",
        attention.score,
        attention.normalizer,
    )
