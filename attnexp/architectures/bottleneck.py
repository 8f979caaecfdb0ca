"""A causal stack whose last vector alone must hold the source."""

from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.causal_stack import CausalStack
from attnexp.architectures.positions import PositionsFactory
from attnexp.architectures.positions.sinusoidal import Sinusoidal
from attnexp.architectures.transformer import FeedForward, added, norm_of
from attnexp.attention.dropout import Dropout
from attnexp.attention.multihead import AttentionFactory, MultiHead, between_vectors
from attnexp.core.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive


class BottleneckState(NamedTuple):
    """Holds the vector of each source, and the number of symbols that were answered."""

    vector: Float[Tensor, "batch dim"]
    answered: Int[Tensor, " batch"]


class Bottleneck(CausalStack[BottleneckState]):
    """Rebuilds the target from one vector: that of the last symbol of the source.

    logits_t = W_3 relu(W_2 relu(W_1 (z + p_t) + b_1) + b_2) + b_3, t = 0, 1, ..., with p_t the
    sinusoidal position of query t and z the LayerNorm of the last symbol's vector (dim) behind a
    causal stack over the source: the layers of `DecoderOnly`, pre-norm. The model of the
    compression task of Poli et al. (2024, arXiv 2403.17844), after the code (athms/mad-lab,
    mad/model/auto_encoder.py), in which GELU takes the place of relu, a hidden layer has dim units,
    and a norm precedes each layer of the MLP. With `norm` false there is no LayerNorm, as in
    `Transformer`.

    The symbols of the queries are not read: an answer depends on the source and on its own place,
    so a target cannot be continued, and answers do not depend on those before. A symbol enters as
    its embedding, with entries from N(0, 1) at the start, plus its position. Learned positions
    reach `max_source`. `ff_dim` is the number of units of a feed-forward layer and of both hidden
    layers of the MLP. Dropout is applied to the sum of embedding and position, to the output of
    each sublayer, inside the feed-forward layer and to the hidden layers; `attention_dropout` to
    the attention weights.

    The weights have two entries: `self`, over the source, and `cross`, its row of the last symbol,
    which is the same for all answers.

    Raises ValueError for sizes, layers or heads below 1, heads that do not divide dim, an odd dim,
    an odd dim / heads with rotary positions, dropouts outside [0, 1), unknown positions, and
    sources longer than learned positions.
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
        self.positions = positions(dim=dim, heads=heads, longest=spec.max_source)
        self.positions.require_reach(spec.test_max_source)
        self.places = Sinusoidal(dim, heads, spec.max_target)
        self.dropout = Dropout(dropout)
        self.embed = nn.Embedding(len(spec.source_vocab), dim)
        normed = norm_of(norm)
        feed_forward = partial(FeedForward, dim, ff_dim, dropout, norm=normed)
        self._stack(layers, window, by_layer, feed_forward, dim, dropout, added, normed)
        self.norm = normed(dim)
        self.W_1 = nn.Linear(dim, ff_dim)
        self.W_2 = nn.Linear(ff_dim, ff_dim)
        self.W_3 = nn.Linear(ff_dim, len(spec.target_vocab))

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        vector, maps = self._compress(batch.keys, batch.mask, need_weights)
        places = torch.arange(batch.queries.shape[1], device=vector.device)
        logits = batch.due(self._rebuild(vector, places))
        if not need_weights:
            return Prediction(logits, {})
        whole = torch.stack(maps, dim=1)
        last = _last(batch.mask)[:, None, None, None, None]
        cross = whole.take_along_dim(last, dim=-2).expand(*[-1] * 3, logits.shape[1], -1)
        return Prediction(logits, {"cross": cross, "self": whole})

    def encode(
        self, source: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch 1 source"]
    ) -> BottleneckState:
        vector, _ = self._compress(source, mask, need_weights=False)
        return BottleneckState(vector, source.new_zeros(len(source)))

    def step(
        self, ids: Int[Tensor, " batch"], state: BottleneckState
    ) -> tuple[Float[Tensor, "batch target_vocab"], BottleneckState]:
        logits = self._rebuild(state.vector, state.answered.unsqueeze(-1))
        return logits.squeeze(1), BottleneckState(state.vector, state.answered + 1)

    def _compress(
        self,
        source: Int[Tensor, "batch source"],
        mask: Bool[Tensor, "batch 1 source"],
        need_weights: bool,
    ) -> tuple[Float[Tensor, "batch dim"], list[Float[Tensor, "batch heads source source"]]]:
        """Return the vector of each source, and the weights of each layer."""
        length = source.shape[1]
        self.positions.require_reach(length)
        places = torch.arange(length, device=source.device)
        x = self.dropout(self.positions.add(self.embed(source), places))
        x, _, maps = self._read(x, places, mask, need_weights)
        last = x.take_along_dim(_last(mask)[:, None, None], dim=1).squeeze(1)
        return self.norm(last), maps

    def _rebuild(
        self, vector: Float[Tensor, "batch dim"], places: Int[Tensor, "*examples queries"]
    ) -> Float[Tensor, "batch queries target_vocab"]:
        x = self.places.add(vector.unsqueeze(1).expand(-1, places.shape[-1], -1), places)
        inner = self.dropout(self.W_1(x).relu())
        return self.W_3(self.dropout(self.W_2(inner).relu()))


def _last(mask: Bool[Tensor, "batch 1 source"]) -> Int[Tensor, " batch"]:
    """Return the place of the last symbol of each source."""
    return mask.squeeze(1).sum(dim=-1) - 1
