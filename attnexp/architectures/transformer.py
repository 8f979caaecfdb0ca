"""The transformer."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions import positions_named
from attnexp.architectures.seq2seq import Seq2Seq, features_a_head
from attnexp.attention.base import Memory
from attnexp.attention.dropout import Dropout
from attnexp.attention.multihead import MultiHead
from attnexp.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive


class TransformerState(NamedTuple):
    """Holds what each decoder layer attends to: the source, and the symbols written so far."""

    source: tuple[Memory, ...]
    past: tuple[Memory, ...]


class Transformer(Seq2Seq[TransformerState]):
    """Encoder-decoder of attention and feed-forward layers, with any score.

    Vaswani et al. (2017), section 3, pre-norm (Xiong et al., 2020, figure 1b): each sublayer f adds
    f(LayerNorm(x)) to its input x, and the encoder and the decoder each end in one more LayerNorm.
    The sublayers are self-attention and a feed-forward layer in the encoder; causal
    self-attention, attention to the encoder (`cross`) and a feed-forward layer in the decoder. All
    attention is `MultiHead` around the chosen score, with dim / heads features a head, also where
    there is one head: the projections W_q, W_k, W_v and W_o are part of the architecture here.

    A symbol enters as its embedding, with entries from N(0, 1) at the start (the paper's scaling by
    sqrt(dim) comes to the same), plus its position. Source, target and output have matrices of
    their own. `dropout` is applied to the sum of embedding and position, to the output of each
    sublayer, and inside the feed-forward layer; `attention_dropout` to the attention weights, as
    the textbook d2l 1.0 has it. The weights that are returned are those before dropout.

    Raises ValueError for sizes, layers or heads below 1, heads that do not divide dim, an odd dim
    with sinusoidal positions, dropouts outside [0, 1), unknown positions, and sequences longer
    than learned positions.
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
        positions: Literal["sinusoidal", "learned"] = "sinusoidal",
        attention_dropout: float = 0.0,
    ) -> None:
        super().__init__(spec)
        require_positive("layers", layers)
        require_positive("ff_dim", ff_dim)
        head_dim = features_a_head("dim", dim, heads)
        sizes = (dim, dim, dim, dim, heads, head_dim)
        attention = partial(MultiHead, score, *sizes, normalizer, attention_dropout)
        kind = positions_named(positions)
        self.dropout = Dropout(dropout)
        self.embed_source = nn.Embedding(len(spec.source_vocab), dim)
        self.embed_target = nn.Embedding(len(spec.target_vocab), dim)
        self.source_positions = kind(dim, spec.max_source)
        self.target_positions = kind(dim, spec.max_target)
        self.encoder = cast(
            "Sequence[EncoderLayer]",
            nn.ModuleList(EncoderLayer(attention, dim, ff_dim, dropout) for _ in range(layers)),
        )
        self.decoder = cast(
            "Sequence[DecoderLayer]",
            nn.ModuleList(DecoderLayer(attention, dim, ff_dim, dropout) for _ in range(layers)),
        )
        self.encoder_norm = nn.LayerNorm(dim)
        self.decoder_norm = nn.LayerNorm(dim)
        self.W_o = nn.Linear(dim, len(spec.target_vocab))

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        encoded, encoder_maps = self._encode(batch.keys, batch.mask, need_weights)
        x = self._embed_target(batch.queries, start=0)
        decoder_maps, cross_maps = [], []
        for layer in self.decoder:
            source = layer.cross.remember(encoded, encoded, batch.mask)
            x, own_weights, cross_weights = layer(x, source, need_weights)
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
        x = self._embed_target(ids.unsqueeze(-1), start=state.past[0].keys.shape[-2])
        grown = []
        for layer, source, past in zip(self.decoder, state.source, state.past, strict=True):
            x, longer = layer.step(x, source, past)
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
        """Return the encoder's outputs, and the weights of its layers."""
        positions = self.source_positions(0, source.shape[1])
        x = self.dropout(self.embed_source(source) + positions)
        maps = []
        for layer in self.encoder:
            x, weights = layer(x, mask, need_weights)
            maps.append(weights)
        return self.encoder_norm(x), maps

    def _embed_target(
        self, ids: Int[Tensor, "batch target"], start: int
    ) -> Float[Tensor, "batch target dim"]:
        """Return symbols plus their positions, of which the first is `start`."""
        positions = self.target_positions(start, start + ids.shape[1])
        return self.dropout(self.embed_target(ids) + positions)


class EncoderLayer(nn.Module):
    """x + attention(norm(x)), then x + W_2 relu(W_1 norm(x) + b_1) + b_2."""

    def __init__(
        self, attention: Callable[[], MultiHead], dim: int, ff_dim: int, dropout: float
    ) -> None:
        super().__init__()
        self.own = attention()
        self.own_norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim, ff_dim, dropout)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch length dim"],
        mask: Bool[Tensor, "batch 1 length"],
        need_weights: bool,
    ) -> tuple[
        Float[Tensor, "batch length dim"], Float[Tensor, "batch heads length length"] | None
    ]:
        """Return the layer's output and its weights."""
        normed = self.own_norm(x)
        context, weights = self.own(normed, normed, normed, mask, need_weights)
        return self.feed_forward(x + self.dropout(context)), weights


class DecoderLayer(nn.Module):
    """Adds causal self-attention, attention to the source and feed-forward, each to its input."""

    def __init__(
        self, attention: Callable[[], MultiHead], dim: int, ff_dim: int, dropout: float
    ) -> None:
        super().__init__()
        self.own = attention()
        self.own_norm = nn.LayerNorm(dim)
        self.cross = attention()
        self.cross_norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim, ff_dim, dropout)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch length dim"], source: Memory, need_weights: bool
    ) -> tuple[
        Float[Tensor, "batch length dim"],
        Float[Tensor, "batch heads length length"] | None,
        Float[Tensor, "batch heads length source"] | None,
    ]:
        """Return the output of all steps, the causal weights and the weights on the source."""
        normed = self.own_norm(x)
        causal = torch.ones(1, x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        return self._answer(
            x, normed, self.own.remember(normed, normed, causal), source, need_weights
        )

    def step(
        self, x: Float[Tensor, "batch 1 dim"], source: Memory, past: Memory
    ) -> tuple[Float[Tensor, "batch 1 dim"], Memory]:
        """Return the output of one step, and the past with this step appended."""
        normed = self.own_norm(x)
        new = self.own.remember(normed, normed)
        past = Memory(
            torch.cat([past.keys, new.keys], dim=-2),
            torch.cat([past.values, new.values], dim=-2),
            mask=None,
        )
        return self._answer(x, normed, past, source, need_weights=False)[0], past

    def _answer(
        self,
        x: Float[Tensor, "batch length dim"],
        normed: Float[Tensor, "batch length dim"],
        past: Memory,
        source: Memory,
        need_weights: bool,
    ) -> tuple[
        Float[Tensor, "batch length dim"],
        Float[Tensor, "batch heads length past"] | None,
        Float[Tensor, "batch heads length source"] | None,
    ]:
        context, own_weights = self.own.attend(normed, past, need_weights)
        x = x + self.dropout(context)
        context, cross_weights = self.cross.attend(self.cross_norm(x), source, need_weights)
        return self.feed_forward(x + self.dropout(context)), own_weights, cross_weights


class FeedForward(nn.Module):
    """x + W_2 relu(W_1 norm(x) + b_1) + b_2, with `ff_dim` units in between."""

    def __init__(self, dim: int, ff_dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.W_1 = nn.Linear(dim, ff_dim)
        self.W_2 = nn.Linear(ff_dim, dim)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch length dim"]) -> Float[Tensor, "batch length dim"]:
        inner = self.dropout(self.W_1(self.norm(x)).relu())
        return x + self.dropout(self.W_2(inner))
