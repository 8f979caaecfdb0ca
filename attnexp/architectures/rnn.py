"""The recurrent encoder-decoder with attention."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.architectures.encoder import EmbeddedRows, Encoder
from attnexp.architectures.recurrence.cells import Cell, cell_named
from attnexp.architectures.recurrence.derivative import WrittenOut, derivative_of
from attnexp.architectures.recurrence.native.library import Recurrent
from attnexp.architectures.recurrence.unrolled import Unrolled
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.base import Attention, Memory
from attnexp.attention.dropout import Dropout
from attnexp.attention.multihead import AttentionFactory, features_a_head, single_or_multihead
from attnexp.attention.pooling import AttentionPooling
from attnexp.core.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import ScoreFactory, require_positive


class RnnState(NamedTuple):
    """Holds the memory of the source, and the decoder's own state for each layer."""

    memory: Memory
    hidden: tuple[Float[Tensor, "batch state_dim"], ...]


class Rnn(Recurrent, Seq2Seq[RnnState]):
    """Bahdanau's encoder-decoder, with any score in place of the additive one.

    Bahdanau, Cho and Bengio (2015), section 3 and appendix A. The encoder's top layer gives one
    state h_j for each source symbol: these are keys and values. At step t the decoder, whose state
    is s, writes

        c_t = sum_j alpha(s_{t-1}, h_j) h_j           s_{t-1} of its top layer
        s_t = cell([c_t; E y_{t-1}], s_{t-1})         layers above the first read the one below
        logits_t = W_o [s_t; c_t] + b_o

    and starts from the final state of the encoder, layer by layer. It differs from the paper: the
    output layer is linear in the new state and the context (the paper has a maxout layer over the
    last state, the last symbol and the context), so that the context reaches the output in one
    step; and the two directions of the encoder are merged (see `BothWays`), so that keys have
    `hidden_dim` features like queries and every score fits. An encoder that reads in one direction,
    `bidirectional` false, learns as well, but its map may point one place behind the right symbol,
    because the state there still holds that symbol.

    With `heads` above 1 the attention is multi-head, hidden_dim / heads features per head; one head
    is the bare score. `dropout` is applied to embeddings, between layers and before the output,
    `attention_dropout` to the attention weights.

    Raises ValueError for sizes, layers or heads below 1, heads that do not divide hidden_dim,
    dropouts outside [0, 1) and an unknown cell.
    """

    def __init__(
        self,
        spec: Seq2SeqSpec,
        score: ScoreFactory,
        normalizer: NormalizerFactory = Softmax,
        cell: Literal["gru", "lstm"] = "gru",
        embed_dim: int = 64,
        hidden_dim: int = 64,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        heads: int = 1,
        attention_dropout: float = 0.0,
        estimator: EstimatorFactory = LocalConstant,
        attention: AttentionFactory | None = None,
    ) -> None:
        super().__init__(spec)
        require_positive("embed_dim", embed_dim)
        head_dim = features_a_head("hidden_dim", hidden_dim, heads)
        self.dropout = Dropout(dropout)
        self.embed_source = nn.Embedding(len(spec.source_vocab), embed_dim)
        self.embed_target = nn.Embedding(len(spec.target_vocab), embed_dim)
        self.encoder = Encoder(cell, embed_dim, hidden_dim, layers, bidirectional, dropout)
        sizes = (hidden_dim, hidden_dim, hidden_dim, heads, head_dim)
        self.attention = single_or_multihead(
            score, *sizes, normalizer, attention_dropout, estimator, attention
        )
        kind = cell_named(cell)
        self.bottom = kind(embed_dim, hidden_dim)
        self.above = cast(
            "Sequence[Cell]",
            nn.ModuleList(kind(hidden_dim, hidden_dim) for _ in range(layers - 1)),
        )
        self.W_c = nn.Parameter(torch.empty(hidden_dim, self.bottom.W_x.out_features))
        nn.init.uniform_(self.W_c, -(hidden_dim**-0.5), hidden_dim**-0.5)
        self.W_o = nn.Linear(2 * hidden_dim, len(spec.target_vocab))

    @property
    def attentions(self) -> Mapping[str, Sequence[Attention]]:
        return {"cross": [self.attention]}

    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        memory, hidden = self.encode(batch.keys, batch.mask)
        x = self._project(batch.queries)
        written = None if need_weights else self._written_out()
        maps: list[Tensor] = []
        if written is None:
            outputs, contexts, maps = self._step_by_step(x, memory, hidden, need_weights)
        else:
            outputs, contexts = self._unrolled(written, x, memory, *hidden)
        logits = self._logits(batch.due(outputs), batch.due(contexts))
        cross = {"cross": batch.due(torch.cat(maps, dim=-2)).unsqueeze(1)} if maps else {}
        return Prediction(logits, cross)

    def encode(
        self, source: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch 1 source"]
    ) -> RnnState:
        symbols = EmbeddedRows.of_symbols(self.embed_source, source, self.dropout)
        outputs, finals = self.encoder(symbols, mask.squeeze(1).sum(dim=-1))
        return RnnState(self.attention.remember(outputs, outputs, mask), finals)

    def step(
        self, ids: Int[Tensor, " batch"], state: RnnState
    ) -> tuple[Float[Tensor, "batch target_vocab"], RnnState]:
        memory, hidden = state
        hidden, context, _ = self._advance(self._project(ids), memory, hidden, need_weights=False)
        output = self.bottom.output(hidden[-1])
        return self._logits(output, context), RnnState(memory, hidden)

    def _project(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch gates"]:
        """Return the contribution of the last symbols to the gates of the first layer."""
        symbols = EmbeddedRows.of_symbols(self.embed_target, ids, self.dropout)
        return symbols.through(self.bottom.W_x).vectors()

    def _step_by_step(
        self,
        x: Float[Tensor, "batch target gates"],
        memory: Memory,
        hidden: tuple[Float[Tensor, "batch state_dim"], ...],
        need_weights: bool,
    ) -> tuple[
        Float[Tensor, "batch target hidden_dim"],
        Float[Tensor, "batch target hidden_dim"],
        list[Tensor],
    ]:
        """Return the outputs, contexts and weights of all steps, for any attention and layers."""
        outputs, contexts, maps = [], [], []
        for projected in x.unbind(dim=1):
            hidden, context, weights = self._advance(projected, memory, hidden, need_weights)
            outputs.append(self.bottom.output(hidden[-1]))
            contexts.append(context)
            if weights is not None:
                maps.append(weights)
        return torch.stack(outputs, dim=1), torch.stack(contexts, dim=1), maps

    def _written_out(self) -> WrittenOut | None:
        """Return the derivative of the score, or None to go step by step."""
        attention = self.attention
        if (
            torch.is_grad_enabled()
            and not self.above
            and isinstance(attention, AttentionPooling)
            and attention.dropout is None
            and type(attention.normalizer) is Softmax
            and type(attention.estimator) is LocalConstant
        ):
            return derivative_of(attention.score)
        return None

    def _unrolled(
        self,
        written: WrittenOut,
        x: Float[Tensor, "batch target gates"],
        memory: Memory,
        start: Float[Tensor, "batch state_dim"],
    ) -> tuple[Float[Tensor, "batch target hidden_dim"], Float[Tensor, "batch target hidden_dim"]]:
        """Return the outputs and contexts of all steps, for a recurrence with a derivative."""
        W_h = self.bottom.W_h
        weights = (self.W_c, W_h.weight, W_h.bias, *written.parameters)
        states, contexts, *_ = Unrolled.apply(
            type(self.bottom),
            written.derivative,
            self.library,
            memory.mask,
            x,
            *(tensor.type_as(x) for tensor in (start, memory.keys, memory.values, *weights)),
        )
        return self.bottom.output(states[1:]).movedim(0, 1), contexts.movedim(0, 1)

    def _advance(
        self,
        projected: Float[Tensor, "batch gates"],
        memory: Memory,
        hidden: tuple[Float[Tensor, "batch state_dim"], ...],
        need_weights: bool,
    ) -> tuple[
        tuple[Float[Tensor, "batch state_dim"], ...],
        Float[Tensor, "batch hidden_dim"],
        Float[Tensor, "batch heads 1 source"] | None,
    ]:
        """Return the new state of every layer after a step, the context and its weights."""
        bottom = self.bottom
        query = bottom.output(hidden[-1]).unsqueeze(1)
        contexts, weights = self.attention.attend(query, memory, need_weights)
        context = contexts.squeeze(1)
        states: tuple[Tensor, ...] = (
            bottom.step(torch.addmm(projected, context, self.W_c), hidden[0]),
        )
        for cell, state in zip(self.above, hidden[1:], strict=True):
            below = self.dropout(cell.output(states[-1]))
            states += (cell.step(cell.W_x(below), state),)
        return states, context, weights

    def _logits(
        self,
        outputs: Float[Tensor, "*batch hidden_dim"],
        contexts: Float[Tensor, "*batch hidden_dim"],
    ) -> Float[Tensor, "*batch target_vocab"]:
        return self.W_o(self.dropout(torch.cat([outputs, contexts], dim=-1)))
