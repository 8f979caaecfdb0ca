"""The layers of Dive into Deep Learning's chapters on attention, over attnexp's parts."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions.sinusoidal import Sinusoidal
from attnexp.d2l.earlier import was
from attnexp.d2l.seq2seq import Encoder
from attnexp.normalizers.softmax import masked_softmax
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot

ValidLens = Int[Tensor, "batch"] | Int[Tensor, "batch queries"]

SIZES = "key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input"
"""The sizes that a block had as arguments in d2l 0.17."""


class DotProductAttention(nn.Module):
    """softmax(Q K' / sqrt(d)) V, with a share `dropout` of the weights dropped in training.

    `attention_weights` (batch, queries, keys) are those of the last call, before dropout.
    """

    attention_weights: Tensor

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        queries: Float[Tensor, "batch queries d"],
        keys: Float[Tensor, "batch keys d"],
        values: Float[Tensor, "batch keys value_dim"],
        valid_lens: ValidLens | None = None,
    ) -> Float[Tensor, "batch queries value_dim"]:
        """Return the contexts; keys from a valid length on have no weight."""
        score = ScaledDot(queries.shape[-1], keys.shape[-1])
        self.attention_weights = masked_softmax(score(queries, keys), valid_lens)
        context: Tensor = self.dropout(self.attention_weights) @ values
        return context


class AdditiveAttention(nn.Module):
    """w_v' tanh(W_q q + W_k k) as the score, with `num_hiddens` units.

    It is the formula of `attnexp.scores.additive.Additive`, whose sizes must be known before.
    Here the sizes of queries and keys are those of the first call, or given before `num_hiddens` as
    in d2l 0.17: `AdditiveAttention(key_size, query_size, num_hiddens, dropout)`.
    """

    attention_weights: Tensor

    @was(
        "key_size, query_size, num_hiddens, dropout",
        W_k="key_size",
        W_q="query_size",
        w_v="num_hiddens",
    )
    def __init__(self, num_hiddens: int, dropout: float) -> None:
        super().__init__()
        self.W_k = nn.LazyLinear(num_hiddens, bias=False)
        self.W_q = nn.LazyLinear(num_hiddens, bias=False)
        self.w_v = nn.LazyLinear(1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        valid_lens: ValidLens | None,
    ) -> Float[Tensor, "batch queries value_dim"]:
        """Return the contexts; keys from a valid length on have no weight."""
        inner = self.W_q(queries).unsqueeze(2) + self.W_k(keys).unsqueeze(1)
        scores = self.w_v(inner.tanh()).squeeze(-1)
        self.attention_weights = masked_softmax(scores, valid_lens)
        context: Tensor = self.dropout(self.attention_weights) @ values
        return context


class MultiHeadAttention(nn.Module):
    """W_o [head_1; ...; head_h] with head_i = attention(W_q^i q, W_k^i k, W_v^i v).

    Weights of the last call are in `attention.attention_weights`, (batch * num_heads, queries,
    keys). The sizes of queries, keys and values are those of the first call, or given first as in
    d2l 0.17: `MultiHeadAttention(key_size, query_size, value_size, num_hiddens, ...)`.
    """

    @was(
        "key_size, query_size, value_size, num_hiddens, num_heads, dropout, bias",
        W_q="query_size",
        W_k="key_size",
        W_v="value_size",
        W_o="num_hiddens",
    )
    def __init__(
        self, num_hiddens: int, num_heads: int, dropout: float, bias: bool = False
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_k = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_v = nn.LazyLinear(num_hiddens, bias=bias)
        self.W_o = nn.LazyLinear(num_hiddens, bias=bias)

    def forward(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        valid_lens: ValidLens | None,
    ) -> Float[Tensor, "batch queries num_hiddens"]:
        """Return the contexts; keys from a valid length on have no weight, in any head."""
        heads = self.attention(
            self.transpose_qkv(self.W_q(queries)),
            self.transpose_qkv(self.W_k(keys)),
            self.transpose_qkv(self.W_v(values)),
            None if valid_lens is None else valid_lens.repeat_interleave(self.num_heads, dim=0),
        )
        context: Tensor = self.W_o(self.transpose_output(heads))
        return context

    def transpose_qkv(
        self, X: Float[Tensor, "batch length num_hiddens"]
    ) -> Float[Tensor, "batch_heads length head_dim"]:
        """Return the features of each head, the heads of an example behind one another."""
        return X.unflatten(-1, (self.num_heads, -1)).transpose(1, 2).flatten(0, 1)

    def transpose_output(
        self, X: Float[Tensor, "batch_heads length head_dim"]
    ) -> Float[Tensor, "batch length num_hiddens"]:
        """Return the heads of each example next to each other."""
        return X.unflatten(0, (-1, self.num_heads)).transpose(1, 2).flatten(-2)


class PositionalEncoding(nn.Module):
    """X + P, P sines and cosines of the positions, up to `max_len` of them. See `Sinusoidal`."""

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        nothing = torch.zeros(1, max_len, num_hiddens)
        self.P = Sinusoidal(num_hiddens, 1, max_len).add(nothing, torch.arange(max_len))

    def forward(
        self, X: Float[Tensor, "batch length num_hiddens"]
    ) -> Float[Tensor, "batch length num_hiddens"]:
        """Return the vectors with their positions, a share of the sums dropped in training."""
        sums: Tensor = self.dropout(X + self.P[:, : X.shape[1]].to(X.device))
        return sums


class PositionWiseFFN(nn.Module):
    """W_2 relu(W_1 x + b_1) + b_2 at each position.

    The size of x is that of the first call, or given first as in d2l 0.17, `ffn_num_input`.
    """

    @was(
        "ffn_num_input, ffn_num_hiddens, ffn_num_outputs",
        dense1="ffn_num_input",
        dense2="ffn_num_hiddens",
    )
    def __init__(self, ffn_num_hiddens: int, ffn_num_outputs: int) -> None:
        super().__init__()
        self.dense1 = nn.LazyLinear(ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.LazyLinear(ffn_num_outputs)

    def forward(self, X: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch outputs"]:
        """Return the outputs."""
        outputs: Tensor = self.dense2(self.relu(self.dense1(X)))
        return outputs


class AddNorm(nn.Module):
    """LayerNorm(X + dropout(Y)): a skip connection, then the norm, as in Vaswani et al. (2017)."""

    @was("normalized_shape, dropout")
    def __init__(self, norm_shape: int | list[int], dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(norm_shape)

    def forward(
        self, X: Float[Tensor, "*batch dim"], Y: Float[Tensor, "*batch dim"]
    ) -> Float[Tensor, "*batch dim"]:
        """Return the normalized sum."""
        outputs: Tensor = self.ln(X + self.dropout(Y))
        return outputs


class TransformerEncoderBlock(nn.Module):
    """Self-attention and a feed-forward network, each with an `AddNorm` behind it."""

    @was(f"{SIZES}, ffn_num_hiddens, num_heads, dropout, use_bias")
    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads, dropout, use_bias)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(ffn_num_hiddens, num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout)

    def forward(
        self, X: Float[Tensor, "batch length num_hiddens"], valid_lens: ValidLens | None
    ) -> Float[Tensor, "batch length num_hiddens"]:
        """Return the outputs of the block."""
        Y = self.addnorm1(X, self.attention(X, X, X, valid_lens))
        outputs: Tensor = self.addnorm2(Y, self.ffn(Y))
        return outputs


class TransformerEncoder(Encoder):
    """Embedding times sqrt(num_hiddens), positions, then `num_blks` blocks.

    `attention_weights` are those of each block in the last call.
    """

    attention_weights: list[Tensor]

    @was(f"vocab_size, {SIZES}, ffn_num_hiddens, num_heads, num_layers, dropout, use_bias")
    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_blks: int,
        dropout: float,
        use_bias: bool = False,
    ) -> None:
        super().__init__()
        self.num_hiddens = num_hiddens
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = PositionalEncoding(num_hiddens, dropout)
        self.blks = nn.Sequential()
        sizes = (num_hiddens, ffn_num_hiddens, num_heads, dropout, use_bias)
        for number in range(num_blks):
            self.blks.add_module(f"block{number}", TransformerEncoderBlock(*sizes))

    def forward(
        self, X: Int[Tensor, "batch length"], valid_lens: ValidLens | None
    ) -> Float[Tensor, "batch length num_hiddens"]:
        """Return the outputs of the last block."""
        x: Tensor = self.pos_encoding(self.embedding(X) * math.sqrt(self.num_hiddens))
        self.attention_weights = []
        for block in self.blks:
            assert isinstance(block, TransformerEncoderBlock)
            x = block(x, valid_lens)
            self.attention_weights.append(block.attention.attention.attention_weights)
        return x


class NWKernelRegression(nn.Module):
    """f(x) = sum_i softmax(-(w (x - x_i))^2 / 2) y_i, each query with keys and values of its own.

    Of the book's first edition (0.17). w is one learned number from U(0, 1). See `Gaussian`.
    """

    attention_weights: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.rand((1,)))

    def forward(
        self,
        queries: Float[Tensor, " queries"],
        keys: Float[Tensor, "queries keys"],
        values: Float[Tensor, "queries keys"],
    ) -> Float[Tensor, " queries"]:
        """Return f at each query."""
        score = Gaussian(1, 1, width=1.0)
        scores = score(self.w * queries[:, None, None], self.w * keys.unsqueeze(-1))
        self.attention_weights = scores.softmax(dim=-1).squeeze(1)
        return (self.attention_weights * values).sum(dim=-1)
