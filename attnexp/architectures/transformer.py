"""The transformer."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions import Order, PositionsFactory, require_order
from attnexp.architectures.positions.sinusoidal import Sinusoidal
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.base import Memory
from attnexp.attention.dropout import Dropout
from attnexp.attention.multihead import AttentionFactory, MultiHead, between_vectors
from attnexp.core.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.core.masks import Mask, causal_mask
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive

Join = Callable[[Tensor, Tensor], Tensor]
"""Joins the input and the output of a sublayer."""

Norm = Callable[[int], nn.Module]
"""Makes the norm of vectors of this many features."""


def added(x: Tensor, update: Tensor) -> Tensor:
    """Return x + update, a skip connection."""
    return x + update


def replaced(x: Tensor, update: Tensor) -> Tensor:
    """Return the update alone, without a skip connection."""
    return update


def norm_of(norm: bool | None) -> Norm:
    """Return LayerNorm, or the identity if `norm` is false."""
    return nn.Identity if norm is False else nn.LayerNorm


class TransformerState(NamedTuple):
    """Holds the memories of each decoder layer: of the source, and of the symbols so far."""

    source: tuple[Memory, ...]
    past: tuple[Memory, ...]


class Transformer(Seq2Seq[TransformerState]):
    """Encoder-decoder of attention and feed-forward layers, with any score.

    Vaswani et al. (2017), section 3, pre-norm (Xiong et al., 2020, figure 1b): each sublayer f adds
    f(LayerNorm(x)) to its input x, and the encoder and the decoder each end in one more LayerNorm.
    The sublayers are self-attention and a feed-forward layer in the encoder; causal self-attention,
    attention to the encoder (`cross`) and a feed-forward layer in the decoder. All attention is
    `MultiHead` around the chosen score, with dim / heads features per head. One head has the
    projections W_q, W_k, W_v and W_o too: they are part of the architecture here.

    A symbol enters as its embedding, with entries from N(0, 1) at the start (the paper's scaling by
    sqrt(dim) comes to the same), plus its position. Other positions turn the queries and keys of
    self-attention or bias its scores; attention to the encoder has neither, see `Positions`.
    Source, target and output have matrices of their own. `dropout` is applied to the sum of
    embedding and position, to the output of each sublayer, and inside the feed-forward layer;
    `attention_dropout` to the attention weights, as in Dive into Deep Learning, release 1.0. The
    weights that are returned are those before dropout.

    Without `residual` a sublayer returns f(LayerNorm(x)) alone, as in the stacks of Dong et al.
    (2021), in which the vectors of all symbols become the same. With `norm` false there is no
    LayerNorm: x takes its place everywhere.

    Raises ValueError for sizes, layers or heads below 1, heads that do not divide dim, an odd dim
    with sinusoidal positions, an odd dim / heads with rotary ones, dropouts outside [0, 1), and
    sequences longer than learned positions.
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
        self.dropout = Dropout(dropout)
        self.embed_source = nn.Embedding(len(spec.source_vocab), dim)
        self.embed_target = nn.Embedding(len(spec.target_vocab), dim)
        self.source_positions = positions(dim=dim, heads=heads, longest=spec.max_source)
        self.target_positions = positions(dim=dim, heads=heads, longest=spec.max_target)
        self.source_positions.require_reach(spec.test_max_source)
        self.target_positions.require_reach(spec.test_max_target)
        join, normed = added if residual else replaced, norm_of(norm)
        feed_forward = partial(FeedForward, dim, ff_dim, dropout, join, normed)
        layer = (by_layer, feed_forward, dim, dropout, join, normed)
        self.encoder = cast(
            "Sequence[SelfAttentionLayer]",
            nn.ModuleList(SelfAttentionLayer(*layer) for _ in range(layers)),
        )
        self.decoder = cast(
            "Sequence[DecoderLayer]", nn.ModuleList(DecoderLayer(*layer) for _ in range(layers))
        )
        self.window = window
        require_order(self.encoder[0].own, self.source_positions, window)
        self.encoder_norm = normed(dim)
        self.decoder_norm = normed(dim)
        self.W_o = nn.Linear(dim, len(spec.target_vocab))

    @property
    def attentions(self) -> Mapping[str, Sequence[MultiHead]]:
        return {
            "encoder": [layer.own for layer in self.encoder],
            "decoder": [layer.own for layer in self.decoder],
            "cross": [layer.cross for layer in self.decoder],
        }

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        encoded, encoder_maps = self._encode(batch.keys, batch.mask, need_weights)
        x, order = self._enter_target(batch.queries, start=0)
        causal = causal_mask(x.shape[1], x.device)
        decoder_maps, cross_maps = [], []
        for layer in self.decoder:
            source = layer.cross.remember(encoded, encoded, batch.mask)
            x, _, own_weights, cross_weights = layer(x, source, causal, order, need_weights)
            decoder_maps.append(own_weights)
            cross_maps.append(None if cross_weights is None else batch.due(cross_weights))
        logits = self.W_o(self.decoder_norm(batch.due(x)))
        maps = {"encoder": encoder_maps, "decoder": decoder_maps, "cross": cross_maps}
        return Prediction(
            logits,
            {name: torch.stack(m, dim=1) for name, m in maps.items()} if need_weights else {},
        )

    def encode(
        self, source: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch 1 source"]
    ) -> TransformerState:
        encoded, _ = self._encode(source, mask, need_weights=False)
        nothing = encoded[:, :0]
        return TransformerState(
            tuple(layer.cross.remember(encoded, encoded, mask) for layer in self.decoder),
            tuple(layer.own.remember(nothing, nothing) for layer in self.decoder),
        )

    def step(
        self, ids: Int[Tensor, " batch"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch target_vocab"], TransformerState]:
        x, order = self._enter_target(ids.unsqueeze(-1), start=state.past[0].keys.shape[-2])
        grown = []
        for layer, source, past in zip(self.decoder, state.source, state.past, strict=True):
            x, longer, *_ = layer(x, source, None, order, past=past)
            grown.append(longer)
        logits = self.W_o(self.decoder_norm(x)).squeeze(1)
        return logits, TransformerState(state.source, tuple(grown))

    def _encode(
        self,
        source: Int[Tensor, "batch source"],
        mask: Bool[Tensor, "batch 1 source"],
        need_weights: bool,
    ) -> tuple[
        Float[Tensor, "batch source dim"], list[Float[Tensor, "batch heads source source"] | None]
    ]:
        positions, length = self.source_positions, source.shape[1]
        positions.require_reach(length)
        places = torch.arange(length, device=source.device)
        order = positions.order(places, places, self.window)
        x = self.dropout(positions.add(self.embed_source(source), places))
        maps = []
        for layer in self.encoder:
            x, _, weights = layer(x, mask, order, need_weights)
            maps.append(weights)
        return self.encoder_norm(x), maps

    def _enter_target(
        self, ids: Int[Tensor, "batch target"], start: int
    ) -> tuple[Float[Tensor, "batch target dim"], Order]:
        """Return symbols, the first of them at the place `start`, and their order."""
        positions, stop = self.target_positions, start + ids.shape[1]
        positions.require_reach(stop)
        places = torch.arange(stop, device=ids.device)
        own = places[start:]
        x = self.dropout(positions.add(self.embed_target(ids), own))
        return x, positions.order(own, places, self.window)


class SelfAttentionLayer(nn.Module):
    """x + attention(norm(x)), then the feed-forward layer: a layer of an encoder or a causal stack.

    `attention` and `feed_forward` build its two parts. `join` takes x and the output of a part, and
    returns their sum, or without skip connections the latter alone. `norm` makes the norms.
    """

    def __init__(
        self,
        attention: Callable[[], MultiHead],
        feed_forward: Callable[[], nn.Module],
        dim: int,
        dropout: float,
        join: Join = added,
        norm: Norm = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.join = join
        self.own = attention()
        self.own_norm = norm(dim)
        self.feed_forward = feed_forward()
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch length dim"],
        mask: Mask | None,
        order: Order,
        need_weights: bool = False,
        past: Memory | None = None,
    ) -> tuple[
        Float[Tensor, "batch length dim"], Memory, Float[Tensor, "batch heads length keys"] | None
    ]:
        """Return the layer's output, its memory, and its weights.

        Without `past` the keys are x, as far as the mask allows; with it they are those of the past
        and, behind them, x.
        """
        normed = self.own_norm(x)
        memory = self.own.remember(normed, normed, mask, order.turn)
        if past is not None:
            memory = past.followed_by(memory)
        context, weights = self.own.attend(normed, memory, need_weights, *order)
        return self.feed_forward(self.join(x, self.dropout(context))), memory, weights


class DecoderLayer(nn.Module):
    """Adds causal self-attention, attention to the source and feed-forward, each to its input.

    `attention` and `feed_forward` build its parts. For `join` and `norm` see
    `SelfAttentionLayer`.
    """

    def __init__(
        self,
        attention: Callable[[], MultiHead],
        feed_forward: Callable[[], nn.Module],
        dim: int,
        dropout: float,
        join: Join = added,
        norm: Norm = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.join = join
        self.own = attention()
        self.own_norm = norm(dim)
        self.cross = attention()
        self.cross_norm = norm(dim)
        self.feed_forward = feed_forward()
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch length dim"],
        source: Memory,
        mask: Mask | None,
        order: Order,
        need_weights: bool = False,
        past: Memory | None = None,
    ) -> tuple[
        Float[Tensor, "batch length dim"],
        Memory,
        Float[Tensor, "batch heads length keys"] | None,
        Float[Tensor, "batch heads length source"] | None,
    ]:
        """Return the output, the memory of self-attention, its weights, and those on the source.

        For `mask` and `past` see `SelfAttentionLayer`.
        """
        normed = self.own_norm(x)
        memory = self.own.remember(normed, normed, mask, order.turn)
        if past is not None:
            memory = past.followed_by(memory)
        context, own_weights = self.own.attend(normed, memory, need_weights, *order)
        x = self.join(x, self.dropout(context))
        context, cross_weights = self.cross.attend(self.cross_norm(x), source, need_weights)
        x = self.join(x, self.dropout(context))
        return self.feed_forward(x), memory, own_weights, cross_weights


class FeedForward(nn.Module):
    """x + W_2 relu(W_1 norm(x) + b_1) + b_2, with `ff_dim` units in between.

    For `join`, by default the sum, and `norm` see `SelfAttentionLayer`.
    """

    def __init__(
        self,
        dim: int,
        ff_dim: int,
        dropout: float,
        join: Join = added,
        norm: Norm = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.join = join
        self.norm = norm(dim)
        self.W_1 = nn.Linear(dim, ff_dim)
        self.W_2 = nn.Linear(ff_dim, dim)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch length dim"]) -> Float[Tensor, "batch length dim"]:
        inner = self.dropout(self.W_1(self.norm(x)).relu())
        return self.join(x, self.dropout(self.W_2(inner)))
