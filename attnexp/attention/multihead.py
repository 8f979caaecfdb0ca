"""Multi-head attention around any score and normalizer."""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.attention.base import Attention, Memory
from attnexp.attention.dropout import weight_dropout
from attnexp.attention.pooling import AttentionPooling, pool, reached
from attnexp.core.masks import Mask, ValidLens, over_heads
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive

Turn = Callable[
    [Float[Tensor, "batch heads length head_dim"]], Float[Tensor, "batch heads length head_dim"]
]
"""Changes the queries or the keys of each head by their positions."""

BiasOfQueries = Callable[
    [Float[Tensor, "batch heads queries head_dim"]], Float[Tensor, "batch heads queries keys"]
]
"""Returns a bias of the scores that depends on the queries W_q^i q of each head."""

Bias = Float[Tensor, "*batch #heads queries keys"] | BiasOfQueries


class MultiHead(Attention):
    """head_i = attention(W_q^i q, W_k^i k, W_v^i v); the context is W_o [head_1; ...; head_h].

    Vaswani et al. (2017), section 3.2.2, without biases. All heads share one score, computed along
    an axis for the heads, and differ in their projections. Every head has `head_dim` features. The
    default normalizer is the softmax. In training a share `dropout` of the weights is dropped; see
    `Dropout`.

    By default keys are as large as queries, values as keys and contexts as queries, and `head_dim`
    is `context_dim` / `heads`.

    Positions may enter in two ways. A `turn` is applied to W_q^i q and W_k^i k, before the score
    projects them further, so that a memory holds keys that are turned already. A `bias` is added to
    the scores before they are normalized. It may be a function of W_q^i q, after the turn.

    Raises ValueError for fewer than one head, a head_dim below 1, a dropout outside [0, 1), and
    heads that do not divide `context_dim` if `head_dim` is None.

    Example:
        >>> attention = MultiHead(ScaledDot, 100, heads=5)
        >>> queries, keys = torch.ones(2, 4, 100), torch.ones(2, 6, 100)
        >>> context, weights = attention(queries, keys, keys, torch.tensor([3, 2]))
        >>> context.shape, weights.shape
        (torch.Size([2, 4, 100]), torch.Size([2, 5, 4, 6]))
    """

    def __init__(
        self,
        score: ScoreFactory,
        query_dim: int,
        key_dim: int | None = None,
        value_dim: int | None = None,
        context_dim: int | None = None,
        heads: int = 1,
        head_dim: int | None = None,
        normalizer: NormalizerFactory = Softmax,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require_positive("heads", heads)
        key_dim = query_dim if key_dim is None else key_dim
        value_dim = key_dim if value_dim is None else value_dim
        context_dim = query_dim if context_dim is None else context_dim
        if head_dim is None:
            head_dim = features_a_head("context_dim", context_dim, heads)
        require_positive("head_dim", head_dim)
        self.context_dim = context_dim
        self.heads = heads
        self.W_q = nn.Linear(query_dim, heads * head_dim, bias=False)
        self.W_k = nn.Linear(key_dim, heads * head_dim, bias=False)
        self.W_v = nn.Linear(value_dim, heads * head_dim, bias=False)
        self.W_o = nn.Linear(heads * head_dim, context_dim, bias=False)
        self.score = score(query_dim=head_dim, key_dim=head_dim)
        self.normalizer = normalizer(heads=heads)
        self.dropout = weight_dropout(dropout)

    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
        turn: Turn | None = None,
    ) -> Memory:
        seen = Memory.of(keys, values, mask)
        return Memory(
            self.score.project_keys(self._split(self.W_k(seen.keys), turn)),
            self._split(self.W_v(seen.values)),
            over_heads(seen.mask),
        )

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        memory: Memory,
        need_weights: bool = True,
        turn: Turn | None = None,
        bias: Bias | None = None,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch heads queries keys"] | None,
    ]:
        split = self._split(self.W_q(queries), turn)
        added = bias(split) if callable(bias) else bias
        projected = self.score.project_queries(split)
        heads, weights = pool(
            self.score, self.normalizer, self.dropout, projected, memory, need_weights, added
        )
        return self.W_o(heads.transpose(-3, -2).flatten(-2)), weights

    def reached(
        self, queries: Float[Tensor, "batch queries query_dim"], memory: Memory
    ) -> Bool[Tensor, "batch queries"]:
        projected = self.score.project_queries(self._split(self.W_q(queries)))
        return reached(self.score, self.normalizer, projected, memory).any(dim=-2)

    def _split(
        self, joint: Float[Tensor, "batch length joint_dim"], turn: Turn | None = None
    ) -> Float[Tensor, "batch heads length head_dim"]:
        split = joint.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        return split if turn is None else turn(split)


def single_or_multihead(
    score: ScoreFactory,
    query_dim: int,
    key_dim: int,
    value_dim: int,
    heads: int,
    head_dim: int,
    normalizer: NormalizerFactory = Softmax,
    dropout: float = 0.0,
) -> Attention:
    """Return `AttentionPooling` around the bare score for one head, and `MultiHead` for several.

    A context has the size of a value either way. Raises ValueError for fewer than one head.
    """
    require_positive("heads", heads)
    if heads == 1:
        bare = score(query_dim=query_dim, key_dim=key_dim)
        return AttentionPooling(bare, value_dim, normalizer, dropout)
    return MultiHead(
        score, query_dim, key_dim, value_dim, value_dim, heads, head_dim, normalizer, dropout
    )


def features_a_head(name: str, dim: int, heads: int) -> int:
    """Return `dim` / `heads`. Messages call `dim` by `name`.

    Raises ValueError for a number below 1, and for heads that do not divide `dim`.
    """
    require_positive("heads", heads)
    require_positive(name, dim)
    if dim % heads:
        raise ValueError(f"{name} must be a multiple of heads, got {name} {dim} and heads {heads}")
    return dim // heads
