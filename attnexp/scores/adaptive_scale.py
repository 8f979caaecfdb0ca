"""Any score times a factor of the query that grows or falls with the number of keys."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.core.masks import Mask, mask_matrix
from attnexp.scores.base import ScoreFactory, require_positive
from attnexp.scores.inner import Inner


class AdaptiveScale(Inner):
    """a(q, k) = (delta + beta(q) (log n)^gamma(q)) a'(q, k), n the number of keys left to a query.

    The scale of adaptive-scalable entmax, Vasylenko et al. (2025, arXiv 2506.16640), around another
    score a', by default the scaled dot product; with `normalizer=entmax` it is ASEntmax. beta(q) =
    softplus(w_b . q) and gamma(q) = s tanh(w_g . q) with learned w_b and w_g, and s the
    `largest_power`, so that each query sets whether its scores grow or fall with log n; delta is
    fixed. In multi-head attention q is the query of a head, and all heads share w_b and w_g; in the
    paper each head has its own, of the input. Rotary positions turn q, so that the factor depends
    on the place of a query. n is 2 for a query with one key left.

    Raises ValueError for an `inner` that is unknown or compact, see `Inner`, a negative delta, and
    a largest_power of 0 or below.

    Example:
        >>> score = AdaptiveScale(query_dim=2, key_dim=2, inner="dot", delta=1.0)
        >>> score(torch.zeros(1, 2), torch.ones(3, 2)).tolist()
        [[0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        inner: str | ScoreFactory = "scaled_dot",
        delta: float = 1.0,
        largest_power: float = 1.0,
    ) -> None:
        super().__init__("adaptive_scale", query_dim, key_dim, inner)
        if not delta >= 0:
            raise ValueError(f"delta of model=adaptive_scale must be 0 or more, got {delta}")
        require_positive("largest_power of model=adaptive_scale", largest_power)
        self.delta = delta
        self.largest_power = largest_power
        self.w_b = nn.Linear(query_dim, 1, bias=False)
        self.w_g = nn.Linear(query_dim, 1, bias=False)

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        """Return the projected query of a', then w_b . q and w_g . q."""
        own = self.w_b(queries), self.w_g(queries)
        return torch.cat([self.inner.project_queries(queries), *own], dim=-1)

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        """Return the projected key of a', then two zeros: it is as long as a projected query."""
        return F.pad(self.inner.project_keys(keys), (0, 2))

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return self.inner.compare(queries[..., :-2], keys[..., :-2])

    def adapt(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        queries: Float[Tensor, "*batch queries projected"],
        mask: Mask | None,
    ) -> Float[Tensor, "*batch queries keys"]:
        left = mask_matrix(mask)
        shown = scores.new_ones(scores.shape[-1]) if left is None else left
        # a single key has weight 1 by any factor, and a power of log 1 = 0 has no gradient
        length = shown.sum(dim=-1, keepdim=True).clamp(min=2).to(scores.dtype).log()
        b, g = queries[..., -2:].split(1, dim=-1)
        return (self.delta + F.softplus(b) * length.pow(self.largest_power * g.tanh())) * scores
