"""Multi-head attention around any score and normalizer."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, cast

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.attention.base import Attention, Memory
from attnexp.attention.dropout import weight_dropout
from attnexp.attention.pooling import AttentionPooling, Mechanism, pool, reached, require_fit
from attnexp.core.errors import choices_text
from attnexp.core.masks import Mask, ValidLens, both, over_heads
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
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

    With `kv_heads` fewer heads of keys and values, each is shared by as many neighbouring heads of
    queries: multi-query attention if there is one (Shazeer, 2019, arXiv 1911.02150), else
    grouped-query attention (Ainslie et al., 2023, arXiv 2305.13245). Another `estimator` than the
    local constant makes other weights of the normalized scores, see `Estimator`.

    By default keys are as large as queries, values as keys and contexts as queries, and `head_dim`
    is `context_dim` / `heads`.

    Positions may enter in three ways. A `turn` is applied to W_q^i q and W_k^i k, before the score
    projects them further, so that a memory holds keys that are turned already. A `bias` is added to
    the scores before they are normalized. It may be a function of W_q^i q, after the turn. Keys
    that are not `near` a query are hidden from it.

    Raises ValueError for fewer than one head, a head_dim below 1, a dropout outside [0, 1),
    heads that do not divide `context_dim` if `head_dim` is None, and `kv_heads` that do not divide
    the heads.

    Example:
        >>> attention = MultiHead(ScaledDot, 100, heads=5)
        >>> queries, keys = torch.ones(2, 4, 100), torch.ones(2, 6, 100)
        >>> context, weights = attention(queries, keys, keys, torch.tensor([3, 2]))
        >>> context.shape, weights.shape
        (torch.Size([2, 4, 100]), torch.Size([2, 5, 4, 6]))
    """

    maps_a_head: ClassVar[int] = 1

    mixes_neighbours: ClassVar[bool] = False
    """Whether a value also counts at the next key: a key that is hidden may then have a weight."""

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
        estimator: EstimatorFactory = LocalConstant,
        kv_heads: int | None = None,
    ) -> None:
        super().__init__()
        require_positive("heads", heads)
        shared = heads if kv_heads is None else kv_heads
        require_positive("kv_heads", shared)
        if heads % shared:
            fitting = choices_text(str(n) for n in range(1, heads + 1) if heads % n == 0)
            raise ValueError(
                f"kv_heads must divide heads, {heads}, got {kv_heads}: choose {fitting}"
            )
        key_dim = query_dim if key_dim is None else key_dim
        value_dim = key_dim if value_dim is None else value_dim
        context_dim = query_dim if context_dim is None else context_dim
        if head_dim is None:
            head_dim = features_a_head("context_dim", context_dim, heads)
        require_positive("head_dim", head_dim)
        self.context_dim = context_dim
        self.heads, self.head_dim = heads, head_dim
        self.W_q = nn.Linear(query_dim, heads * head_dim, bias=False)
        self.W_k = nn.Linear(key_dim, shared * head_dim, bias=False)
        self.W_v = nn.Linear(value_dim, shared * head_dim, bias=False)
        self.W_o = nn.Linear(heads * head_dim, context_dim, bias=False)
        features = head_dim // self.maps_a_head
        self.score = score(query_dim=features, key_dim=features)
        self.normalizer = normalizer(heads=heads * self.maps_a_head)
        self.dropout = weight_dropout(dropout)
        self.estimator = estimator(
            heads=heads, query_dim=features, key_dim=features, input_dim=key_dim
        )
        require_fit(self.estimator, self.score, self.normalizer)

    @property
    def mechanism(self) -> Mechanism:
        """The score, normalizer, estimator and dropout."""
        return Mechanism(self.score, self.normalizer, self.estimator, self.dropout)

    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
        turn: Turn | None = None,
    ) -> Memory:
        seen = Memory.of(keys, values, mask)
        split = self.maps(self.split(self.W_k(seen.keys), turn))
        return Memory(
            self.estimator.prepare(self.score.project_keys(split)),
            self.split(self.W_v(seen.values)),
            over_heads(seen.mask),
            self.estimator.remember(seen.keys, split),
        )

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        memory: Memory,
        need_weights: bool = True,
        turn: Turn | None = None,
        bias: Bias | None = None,
        near: Bool[Tensor, "*batch queries keys"] | None = None,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch heads queries keys"] | None,
    ]:
        split = self.split(self.W_q(queries), turn)
        added = bias(split) if callable(bias) else bias
        if added is not None and added.shape[-3] > 1 and self.maps_a_head > 1:
            added = added.repeat_interleave(self.maps_a_head, dim=-3)
        if near is not None:
            # an axis for the examples and one for the heads
            near = near.reshape(-1, 1, *near.shape[-2:])
            memory = memory._replace(mask=both(memory.mask, near))
        heads, weights = pool(self.mechanism, self.maps(split), memory, need_weights, added)
        return self.joined(heads, queries), weights

    def reached(
        self, queries: Float[Tensor, "batch queries query_dim"], memory: Memory
    ) -> Bool[Tensor, "batch queries"]:
        split = self.maps(self.split(self.W_q(queries)))
        return reached(self.mechanism, split, memory).any(dim=-2)

    def split(
        self, joint: Float[Tensor, "batch length joint_dim"], turn: Turn | None = None
    ) -> Float[Tensor, "batch heads length head_dim"]:
        """Return the queries, keys or values of each head, turned; heads may share theirs."""
        split = joint.unflatten(-1, (-1, self.head_dim)).transpose(-3, -2)
        turned = split if turn is None else turn(split)
        times = self.heads // turned.shape[-3]
        return turned if times == 1 else turned.repeat_interleave(times, dim=-3)

    def maps(
        self, split: Float[Tensor, "batch heads length head_dim"]
    ) -> Float[Tensor, "batch maps length features"]:
        """Return the queries or keys of each map, by default of each head.

        A head may have several maps, `maps_a_head`, of which the estimator makes one.
        """
        return split

    def joined(
        self,
        heads: Float[Tensor, "batch heads queries head_dim"],
        queries: Float[Tensor, "batch queries query_dim"],
    ) -> Float[Tensor, "batch queries context_dim"]:
        """Return the context of queries from the answers of their heads."""
        return cast(Tensor, self.W_o(heads.transpose(-3, -2).flatten(-2)))


def single_or_multihead(
    score: ScoreFactory,
    query_dim: int,
    key_dim: int,
    value_dim: int,
    heads: int,
    head_dim: int,
    normalizer: NormalizerFactory = Softmax,
    dropout: float = 0.0,
    estimator: EstimatorFactory = LocalConstant,
    attention: "AttentionFactory | None" = None,
) -> Attention:
    """Return `AttentionPooling` around the bare score for one head, and `attention` for several.

    A context has the size of a value either way. By default several heads are `MultiHead`. Raises
    ValueError for fewer than one head, and for one head if an `attention` is named.
    """
    require_positive("heads", heads)
    if heads > 1:
        return (attention or MultiHead)(
            score=score,
            query_dim=query_dim,
            key_dim=key_dim,
            value_dim=value_dim,
            context_dim=value_dim,
            heads=heads,
            head_dim=head_dim,
            normalizer=normalizer,
            dropout=dropout,
            estimator=estimator,
        )
    if attention is not None:
        raise ValueError(
            "one head is the bare score here, without projections around which another attention "
            "could be: choose arch.heads=2 or more, or attention=plain"
        )
    bare = score(query_dim=query_dim, key_dim=key_dim)
    return AttentionPooling(bare, value_dim, normalizer, dropout, estimator)


AttentionFactory = Callable[..., MultiHead]
"""Builds a multi-head attention when called with the arguments of `MultiHead`, by name."""


def between_vectors(
    attention: AttentionFactory, dim: int, heads: int, **parts: Any
) -> Callable[[], MultiHead]:
    """Return a maker of attention that keeps the size of vectors, `dim`, with these parts.

    Raises ValueError for sizes below 1, and for heads that do not divide `dim`.
    """
    features_a_head("dim", dim, heads)
    return partial(attention, query_dim=dim, heads=heads, **parts)


def features_a_head(name: str, dim: int, heads: int) -> int:
    """Return `dim` / `heads`. Messages call `dim` by `name`.

    Raises ValueError for a number below 1, and for heads that do not divide `dim`.
    """
    require_positive("heads", heads)
    require_positive(name, dim)
    if dim % heads:
        raise ValueError(f"{name} must be a multiple of heads, got {name} {dim} and heads {heads}")
    return dim // heads
