"""The decoder-only model."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.causal_stack import CausalStack
from attnexp.architectures.positions import PositionsFactory
from attnexp.architectures.positions.sinusoidal import Sinusoidal
from attnexp.architectures.transformer import (
    FeedForward,
    added,
    norm_of,
    replaced,
)
from attnexp.attention.base import Memory
from attnexp.attention.dropout import Dropout
from attnexp.attention.multihead import AttentionFactory, MultiHead, between_vectors
from attnexp.core.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive


class DecoderOnlyState(NamedTuple):
    """Holds the memory of each layer, source first, and the place of each of its symbols."""

    past: tuple[Memory, ...]
    places: Int[Tensor, "batch past"]


class DecoderOnly(CausalStack[DecoderOnlyState]):
    """One causal stack over the source and, behind it, the target, with any score.

    Radford et al. (2019), section 2.3: the decoder of the transformer without attention to an
    encoder, pre-norm, with one more LayerNorm at the end. The joint sequence is the source, with
    its end symbol, then the queries, which begin with `bos`: it separates the two. The logits are
    those of the queries, so the loss is on the target alone. A layer is self-attention, `MultiHead`
    around the chosen score, and a feed-forward layer; with `feed_forward` false there is attention
    alone. Without `residual` there are no skip connections, and with `norm` false no LayerNorm, as
    in `Transformer`.

    The place of a query is the length of its own source plus its own number, so that padding
    between them takes no place and has no influence. Learned positions reach `max_source` +
    `max_target`.

    Source and target share one table of symbols E (symbols, dim); symbols of the same name in both
    vocabularies are one. Its entries are from N(0, 1/dim) at the start, a symbol enters as
    sqrt(dim) E_i plus its position, and the logits are E LayerNorm(x), as in Vaswani et al. (2017),
    section 3.4. Dropout is applied to the sum of embedding and position, to the output of each
    sublayer, and inside the feed-forward layer; `attention_dropout` to the attention weights.

    The weights have two entries: `self`, over the joint sequence, and `cross`, its part from the
    queries to the source. A row of `cross` lacks the weights on `bos` and on the target so far, so
    it sums to less than 1.

    Raises ValueError for sizes, layers or heads below 1, heads that do not divide dim, an odd dim
    with sinusoidal positions, an odd dim / heads with rotary positions, dropouts outside [0, 1),
    unknown positions, and sequences longer than learned positions.
    """

    def __init__(
        self,
        spec: Seq2SeqSpec,
        score: ScoreFactory,
        normalizer: NormalizerFactory = Softmax,
        layers: int = 2,
        heads: int = 4,
        dim: int = 64,
        ff_dim: int = 256,
        feed_forward: bool = True,
        dropout: float = 0.0,
        positions: PositionsFactory = Sinusoidal,
        attention_dropout: float = 0.0,
        residual: bool = True,
        estimator: EstimatorFactory = LocalConstant,
        attention: AttentionFactory = MultiHead,
        kv_heads: int | None = None,
        window: int | None = None,
        norm: bool | None = None,
    ) -> None:
        super().__init__(spec)
        require_positive("layers", layers)
        require_positive("ff_dim", ff_dim)
        parts = {"score": score, "normalizer": normalizer, "estimator": estimator}
        by_layer = between_vectors(
            attention, dim, heads, dropout=attention_dropout, kv_heads=kv_heads, **parts
        )
        longest = spec.max_source + spec.max_target
        self.positions = positions(dim=dim, heads=heads, longest=longest)
        self.positions.require_reach(spec.test_max_source + spec.test_max_target)
        self.dropout = Dropout(dropout)
        symbols = list(dict.fromkeys((*spec.source_vocab, *spec.target_vocab)))
        rows = {symbol: row for row, symbol in enumerate(symbols)}
        self.register_buffer("source_rows", _rows(rows, spec.source_vocab), persistent=False)
        self.register_buffer("target_rows", _rows(rows, spec.target_vocab), persistent=False)
        self.embed = nn.Embedding(len(symbols), dim)
        nn.init.normal_(self.embed.weight, std=dim**-0.5)
        join, normed = added if residual else replaced, norm_of(norm)
        whole = partial(FeedForward, dim, ff_dim, dropout, join, normed)
        second = whole if feed_forward else nn.Identity
        self._stack(layers, window, by_layer, second, dim, dropout, join, normed)
        self.norm = normed(dim)

    source_rows: Tensor
    target_rows: Tensor

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        source, targets = batch.keys.shape[1], batch.queries.shape[1]
        self.positions.require_reach(source + targets)
        before = _source_places(batch.mask)
        behind = before[:, -1:] + torch.arange(1, targets + 1, device=before.device)
        places = torch.cat([before, behind], dim=1)
        rows = torch.cat([self.source_rows[batch.keys], self.target_rows[batch.queries]], dim=1)
        allowed = torch.cat([batch.mask, batch.mask.new_ones(len(batch), 1, targets)], dim=-1)
        x, _, maps = self._read(self._enter(rows, places), places, allowed, need_weights)
        logits = self._logits(batch.due(x[:, source:]))
        if not need_weights:
            return Prediction(logits, {})
        whole = torch.stack(maps, dim=1)
        cross = batch.due(whole[..., source:, :source])
        return Prediction(logits, {"cross": cross, "self": whole})

    def encode(
        self, source: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch 1 source"]
    ) -> DecoderOnlyState:
        self.positions.require_reach(source.shape[1])
        places = _source_places(mask)
        x = self._enter(self.source_rows[source], places)
        _, past, _ = self._read(x, places, mask, need_weights=False)
        return DecoderOnlyState(past, places)

    def step(
        self, ids: Int[Tensor, " batch"], state: DecoderOnlyState
    ) -> tuple[Float[Tensor, "batch target_vocab"], DecoderOnlyState]:
        self.positions.require_reach(state.places.shape[1] + 1)
        place = state.places[:, -1:] + 1
        places = torch.cat([state.places, place], dim=1)
        order = self.positions.order(place, places, self.window)
        x = self._enter(self.target_rows[ids.unsqueeze(-1)], place)
        grown = []
        for layer, past in zip(self.layers, state.past, strict=True):
            x, longer, _ = layer(x, None, order, past=past)
            grown.append(longer)
        return self._logits(x).squeeze(1), DecoderOnlyState(tuple(grown), places)

    def _enter(
        self, rows: Int[Tensor, "batch length"], places: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length dim"]:
        """Return the vectors of symbols, given as rows of the table, with their positions."""
        x = self.embed(rows) * self.embed.embedding_dim**0.5
        return self.dropout(self.positions.add(x, places))

    def _logits(
        self, x: Float[Tensor, "batch length dim"]
    ) -> Float[Tensor, "batch length target_vocab"]:
        return F.linear(self.norm(x), self.embed(self.target_rows))


def _source_places(mask: Bool[Tensor, "batch 1 source"]) -> Int[Tensor, "batch source"]:
    """Return 0, 1, ... for each source, and its last place for the padding behind it."""
    return mask.squeeze(1).cumsum(dim=-1) - 1


def _rows(rows: dict[str, int], vocab: Sequence[str]) -> Int[Tensor, " symbols"]:
    return torch.tensor([rows[symbol] for symbol in vocab])
