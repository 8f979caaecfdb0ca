"""The steps of attention, to be shown: scores, weights, those of the estimator, context."""

from torch import Tensor, nn

from attnexp.attention.base import Memory
from attnexp.attention.pooling import Mechanism, comparison, require_fit, weighed
from attnexp.estimators.base import Estimator
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import Normalizer
from attnexp.scores.base import Score, batched_product


class Stepwise(nn.Module):
    """Computes the steps from tensors by name: queries and keys, or scores; mask, and values.

    They are those of `AttentionPooling`. `effective` weights are left out if they are the weights.
    A `mask` given here takes the place of one among the tensors.

    Raises ValueError for a score or a normalizer that does not fit the estimator, and for scores
    alone if it is not the local constant.
    """

    mask: Tensor | None

    def __init__(
        self,
        score: Score | None,
        normalizer: Normalizer,
        estimator: Estimator,
        mask: Tensor | None = None,
    ) -> None:
        super().__init__()
        if score is not None:
            require_fit(estimator, score, normalizer)
        elif type(estimator) is not LocalConstant:
            name = type(estimator).__name__
            raise ValueError(f"{name} needs queries and keys: give them in place of scores")
        self.score = score
        self.normalizer = normalizer
        self.estimator = estimator
        self.register_buffer("mask", mask)

    def forward(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return scores, weights, the steps of the estimator and, with values, the context."""
        mask, estimator = given["mask"] if self.mask is None else self.mask, self.estimator
        if self.score is None:
            scores = given["scores"]
            weights = effective = self.normalizer(scores, mask)
            between = {}
        else:
            queries, mechanism = (
                given["queries"],
                Mechanism(self.score, self.normalizer, estimator, None),
            )
            keys = estimator.prepare(self.score.project_keys(given["keys"]))
            kept = estimator.remember(given["keys"], given["keys"])
            compared = comparison(mechanism, queries, Memory(keys, keys, mask, kept))
            scores, weights = weighed(mechanism, queries, keys, mask)
            between = estimator.between(weights, compared)
            effective = estimator.effective(weights, compared)
        found = {"scores": scores, "weights": weights, **between}
        if effective is not weights:
            found["effective"] = effective
        if "values" in given:
            found["context"] = batched_product(effective, given["values"])
        return found
