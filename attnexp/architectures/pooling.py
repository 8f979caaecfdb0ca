"""Attention pooling over symbols: the smallest model of sequence data."""

from collections.abc import Mapping, Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.base import Memory
from attnexp.attention.dropout import Dropout
from attnexp.attention.multihead import AttentionFactory, MultiHead, between_vectors
from attnexp.core.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive


class Pooling(Seq2Seq[Memory]):
    """One attention over the symbols of the source, and nothing else.

    logits_t = W_2 relu(W_1 c_t + b_1) + b_2, with c_t the context that `MultiHead` gives the query
    E' y_{t-1} over the keys and values E x_1, ..., E x_n. Symbols enter as rows of the tables E and
    E', with entries from N(0, 1). There are no positions, no layer below the attention and no way
    around it: the source is a set to a normalizer that treats keys alike, and reaches the answer
    through the attention alone. The query depends on the last symbol of the target alone, and a
    state is the memory of the source.

    `dropout` is applied to the inner units, `attention_dropout` to the attention weights.

    Raises ValueError for sizes or heads below 1, heads that do not divide dim and dropouts outside
    [0, 1).
    """

    def __init__(
        self,
        spec: Seq2SeqSpec,
        score: ScoreFactory,
        normalizer: NormalizerFactory = Softmax,
        dim: int = 64,
        heads: int = 1,
        ff_dim: int = 128,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        estimator: EstimatorFactory = LocalConstant,
        attention: AttentionFactory = MultiHead,
        kv_heads: int | None = None,
    ) -> None:
        super().__init__(spec)
        require_positive("ff_dim", ff_dim)
        parts = {"score": score, "normalizer": normalizer, "estimator": estimator}
        make = between_vectors(
            attention, dim, heads, dropout=attention_dropout, kv_heads=kv_heads, **parts
        )
        self.embed_source = nn.Embedding(len(spec.source_vocab), dim)
        self.embed_target = nn.Embedding(len(spec.target_vocab), dim)
        self.attention = make()
        self.W_1 = nn.Linear(dim, ff_dim)
        self.W_2 = nn.Linear(ff_dim, len(spec.target_vocab))
        self.dropout = Dropout(dropout)

    @property
    def attentions(self) -> Mapping[str, Sequence[MultiHead]]:
        return {"cross": [self.attention]}

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        memory = self.encode(batch.keys, batch.mask)
        queries = self.embed_target(batch.queries)
        context, weights = self.attention.attend(queries, memory, need_weights)
        logits = self._logits(batch.due(context))
        if weights is None:
            return Prediction(logits, {})
        return Prediction(logits, {"cross": batch.due(weights.unsqueeze(1))})

    def encode(
        self, source: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch 1 source"]
    ) -> Memory:
        symbols = self.embed_source(source)
        return self.attention.remember(symbols, symbols, mask)

    def step(
        self, ids: Int[Tensor, " batch"], state: Memory
    ) -> tuple[Float[Tensor, "batch target_vocab"], Memory]:
        queries = self.embed_target(ids.unsqueeze(-1))
        context, _ = self.attention.attend(queries, state, need_weights=False)
        return self._logits(context.squeeze(1)), state

    def _logits(self, context: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch target_vocab"]:
        return self.W_2(self.dropout(self.W_1(context).relu()))
