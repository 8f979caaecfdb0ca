"""Attention pooling as regression, after Nadaraya and Watson."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.architectures.base import Architecture
from attnexp.attention.base import may_be_empty
from attnexp.attention.multihead import AttentionFactory, MultiHead, single_or_multihead
from attnexp.core.batch import Batch, Prediction, RegressionSpec, allowed_keys
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import Score, ScoreFactory

MASK_PAIRS = 2**24
"""Pairs of query and key up to which a mask is one matrix."""


class KernelRegression(Architecture):
    """f(x) = sum_i w_i y_i, w the weights of a(phi(x), phi(x_i)), by default their softmax.

    Nadaraya (1964) and Watson (1964), with any score a in place of the log kernel. phi is the
    identity if `features` is 0, and otherwise a learned map of x to that many features, the same
    for queries and keys. Without such a map, scores built on dot products cannot tell points on a
    line apart. With `heads` above 1 the pooling is multi-head, `head_dim` features per head.

    A compact kernel may have no point within reach of x, in any head, and a normalizer whose rows
    need not sum to 1 may give x no weight at all. With `empty` "mean" the answer is then the mean
    of the values that x may attend to, which is average pooling; with "nan" it is NaN. Neither
    depends on the origin of y. If weights sum to less or more than 1, the answer is their sum times
    the weighted mean.

    Raises ValueError for negative `features`, for fewer than one head, and for an attention that
    mixes neighbours, with which leaving a point out would not leave out its value.
    """

    def __init__(
        self,
        spec: RegressionSpec,
        score: ScoreFactory,
        normalizer: NormalizerFactory = Softmax,
        features: int = 0,
        heads: int = 1,
        head_dim: int = 16,
        empty: Literal["mean", "nan"] = "mean",
        estimator: EstimatorFactory = LocalConstant,
        attention: AttentionFactory | None = None,
    ) -> None:
        super().__init__()
        if features < 0:
            raise ValueError(f"features must be 0 (raw x) or more, got {features}")
        dim = features or spec.x_dim
        self.phi = FeatureMap(spec.x_dim, features) if features else nn.Identity()
        sizes = (dim, dim, spec.y_dim, heads, head_dim)
        self.pooling = single_or_multihead(
            score, *sizes, normalizer, estimator=estimator, attention=attention
        )
        if isinstance(self.pooling, MultiHead) and self.pooling.mixes_neighbours:
            raise ValueError(
                "a point that is left out would count at the next one, as this attention mixes "
                "neighbours: choose attention=plain"
            )
        self.compares_inputs = features == 0 and heads == 1
        self.compares_products = self.compares_inputs and any(
            isinstance(part, Score) and part.of_products for part in self.pooling.modules()
        )
        self.may_be_empty = may_be_empty(self.pooling)
        self.empty = empty

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        queries = self.phi(batch.queries)
        memory = self.pooling.remember(self.phi(batch.keys), batch.values, batch.mask)
        context, weights = self.pooling.attend(queries, memory, need_weights)
        if self.may_be_empty:
            reached = self.pooling.reached(queries, memory).unsqueeze(-1)
            context = context.where(reached, self._without_neighbours(batch))
        return Prediction(context, {} if weights is None else {"pooling": weights.unsqueeze(1)})

    def _without_neighbours(self, batch: Batch) -> Float[Tensor, "batch queries y_dim"]:
        """Return the answer to queries that have no point within reach."""
        if self.empty == "nan":
            return torch.full_like(batch.targets, torch.nan)
        allowed = (
            allowed_keys(part).to(batch.values.dtype) for part in batch.split_queries(MASK_PAIRS)
        )
        means = [each @ batch.values / each.sum(dim=-1, keepdim=True) for each in allowed]
        return torch.cat(means, dim=1)


class FeatureMap(nn.Module):
    """phi(x) = W_2 tanh(W_1 x + b_1) + b_2, both layers `features` wide."""

    def __init__(self, x_dim: int, features: int) -> None:
        super().__init__()
        self.W_1 = nn.Linear(x_dim, features)
        self.W_2 = nn.Linear(features, features)

    def forward(
        self, x: Float[Tensor, "batch points x_dim"]
    ) -> Float[Tensor, "batch points features"]:
        return self.W_2(self.W_1(x).tanh())
