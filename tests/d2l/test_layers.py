"""The book's names over attnexp's parts: formulas, and the book's own package as the oracle."""

import ast
import inspect
import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from imported import python
from torch import nn

from attnexp import d2l

LENGTHS = {
    "none": None,
    "a length a sequence": torch.tensor([2, 6]),
    "a length a query": torch.tensor([[1, 2, 3], [6, 5, 4]]),
}


def inputs(width=8, queries=3, keys=6):
    generator = torch.Generator().manual_seed(0)
    sizes = [(2, queries, width), (2, keys, width), (2, keys, 4)]
    return [torch.randn(*size, generator=generator) for size in sizes]


@pytest.fixture(params=LENGTHS)
def lengths(request):
    return LENGTHS[request.param]


def allowed(lengths, queries=3, keys=6):
    if lengths is None:
        return torch.ones(2, queries, keys, dtype=torch.bool)
    limits = lengths[:, None] if lengths.dim() == 1 else lengths
    return torch.arange(keys) < limits.expand(2, queries)[..., None]


def test_dot_product_attention_is_pytorchs(lengths):
    queries, keys, values = inputs()
    attention = d2l.DotProductAttention(dropout=0.5).eval()
    expected = F.scaled_dot_product_attention(queries, keys, values, allowed(lengths))
    torch.testing.assert_close(attention(queries, keys, values, lengths), expected)
    assert attention.attention_weights.shape == (2, 3, 6)
    torch.testing.assert_close(attention.attention_weights @ values, expected)


def test_additive_attention_is_the_formula(lengths):
    queries, keys, values = inputs()
    attention = d2l.AdditiveAttention(num_hiddens=5, dropout=0.1).eval()
    found = attention(queries[..., :7], keys, values, lengths)
    inner = attention.W_q(queries[..., :7])[:, :, None] + attention.W_k(keys)[:, None]
    scores = attention.w_v(inner.tanh()).squeeze(-1)
    weights = scores.masked_fill(~allowed(lengths), -math.inf).softmax(dim=-1)
    torch.testing.assert_close(found, weights @ values)
    torch.testing.assert_close(attention.attention_weights, weights)
    assert set(attention.state_dict()) == {"W_k.weight", "W_q.weight", "w_v.weight"}
    assert attention.W_q.weight.shape == (5, 7)
    found.sum().backward()
    assert all(parameter.grad is not None for parameter in attention.parameters())
    before = torch.get_rng_state()
    attention(queries[..., :7], keys, values, lengths)
    assert torch.equal(torch.get_rng_state(), before)


def test_multi_head_attention_is_pytorchs(lengths):
    queries, keys, _ = inputs()
    attention = d2l.MultiHeadAttention(8, 2, 0.1, bias=True).eval()
    found = attention(queries, keys, keys, lengths)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    with torch.no_grad():
        parts = (attention.W_q, attention.W_k, attention.W_v)
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.load_state_dict(attention.W_o.state_dict())
    mask = ~allowed(lengths).repeat_interleave(2, dim=0)
    expected, weights = theirs(queries, keys, keys, attn_mask=mask, average_attn_weights=False)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(attention.attention.attention_weights, weights.flatten(0, 1))


def test_positions_are_sines_and_cosines():
    encoding = d2l.PositionalEncoding(4, dropout=0.9, max_len=20).eval()
    assert encoding.P.shape == (1, 20, 4)
    assert encoding.P[0, 3].tolist() == pytest.approx(
        [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)], rel=1e-5
    )
    X = torch.ones(2, 5, 4)
    torch.testing.assert_close(encoding(X), X + encoding.P[:, :5])


def test_an_encoder_is_made_of_its_blocks():
    torch.manual_seed(0)
    encoder = d2l.TransformerEncoder(11, 8, 16, 2, 2, dropout=0.3).eval()
    X, lengths = torch.tensor([[3, 4, 5], [6, 7, 1]]), torch.tensor([3, 2])
    found = encoder(X, lengths)
    x = encoder.pos_encoding(encoder.embedding(X) * math.sqrt(8))
    for block in encoder.blks:
        y = block.addnorm1.ln(x + block.attention(x, x, x, lengths))
        x = block.addnorm2.ln(y + block.ffn.dense2(block.ffn.dense1(y).relu()))
    torch.testing.assert_close(found, x)
    assert [weights.shape for weights in encoder.attention_weights] == 2 * [(4, 3, 3)]
    assert not encoder.attention_weights[0][2:, :, 2].any()


def test_kernel_regression_is_the_formula():
    generator = torch.Generator().manual_seed(1)
    queries = torch.rand(5, generator=generator)
    keys, values = torch.rand(2, 5, 7, generator=generator)
    net = d2l.NWKernelRegression()
    found = net(queries, keys, values)
    weights = (-(((queries[:, None] - keys) * net.w) ** 2) / 2).softmax(dim=1)
    torch.testing.assert_close(found, (weights * values).sum(dim=1))
    torch.testing.assert_close(net.attention_weights, weights)
    found.sum().backward()
    assert net.w.grad.abs() > 0
    assert 0 <= net.w.item() < 1


BOOK = ("masked_softmax", "DotProductAttention", "AdditiveAttention", "MultiHeadAttention")
BLOCKS = ("PositionalEncoding", "PositionWiseFFN", "AddNorm", "TransformerEncoderBlock")


@pytest.fixture(scope="module")
def book(book_source):
    """The classes of d2l 1.0.3, without the rest of its module, which needs old packages."""
    wanted = {*BOOK, *BLOCKS, "TransformerEncoder"}
    nodes = [
        node
        for node in ast.parse(book_source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in wanted
    ]
    assert {node.name for node in nodes} == wanted
    own = SimpleNamespace(Module=nn.Module, Encoder=nn.Module, zeros=torch.zeros)
    own.arange = torch.arange
    names = {"d2l": own, "nn": nn, "torch": torch, "math": math}
    for node in nodes:
        exec(compile(ast.Module([node], []), "d2l", "exec"), names)
        setattr(own, node.name, names[node.name])
    return own


@pytest.mark.slow
@pytest.mark.parametrize("trained", [False, True])
def test_outputs_are_those_of_the_book(book, lengths, trained):
    queries, keys, values = inputs()
    X = torch.randint(11, (2, 6))
    first = None if lengths is None or lengths.dim() == 2 else lengths
    cases = [
        (lambda own: own.DotProductAttention(0.0), (queries, keys, values, lengths)),
        (lambda own: own.AdditiveAttention(5, 0.0), (queries, keys, values, lengths)),
        (lambda own: own.MultiHeadAttention(8, 2, 0.0), (queries, keys, values, lengths)),
        (lambda own: own.PositionalEncoding(8, 0.0), (queries,)),
        (lambda own: own.TransformerEncoderBlock(8, 16, 2, 0.0), (keys, first)),
        (lambda own: own.TransformerEncoder(11, 8, 16, 2, 2, 0.0, True), (X, first)),
    ]
    for make, given in cases:
        ours, theirs = make(d2l), make(book)
        ours(*given), theirs(*given)
        theirs.load_state_dict(ours.state_dict())
        results = []
        for model in (ours, theirs):
            outputs = model(*given)
            if trained and outputs.requires_grad:
                outputs.square().sum().backward()
            gradients = [p.grad for p in model.parameters() if p.grad is not None]
            weights = [vars(module).get("attention_weights") for module in model.modules()]
            maps = [found for found in weights if isinstance(found, torch.Tensor)]
            results.append([outputs, *gradients, *maps])
        for one, other in zip(*results, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    scores = torch.randn(2, 3, 6)
    torch.testing.assert_close(
        d2l.masked_softmax(scores, lengths), book.masked_softmax(scores.clone(), lengths)
    )


def parameters_of(function):
    """The names and defaults of what a function takes, without **kwargs."""
    taken = inspect.signature(function).parameters.values()
    return [(each.name, each.default) for each in taken if each.kind != each.VAR_KEYWORD]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BOOK[1:], *BLOCKS, "TransformerEncoder"])
def test_signatures_are_those_of_the_book(book, name):
    ours, theirs = getattr(d2l, name), getattr(book, name)
    for method in ("__init__", "forward"):
        taken = [parameters_of(getattr(one, method)) for one in (ours, theirs)]
        assert taken[0] == taken[1]


def test_masked_softmax_leaves_its_scores_and_an_empty_row_has_no_weight():
    scores = torch.randn(2, 3, 6)
    before = scores.clone()
    weights = d2l.masked_softmax(scores=scores, valid_lens=torch.tensor([0, 2]))
    assert scores.equal(before)
    assert not weights[0].any()
    assert weights[1].count_nonzero(dim=-1).tolist() == [2, 2, 2]


@pytest.mark.first(1)
@pytest.mark.check
@pytest.mark.parametrize("lengths", ["[2, 9]", "[2.0, 3.0]"])
def test_lengths_that_the_book_lets_pass_are_refused(lengths):
    """In a process of its own: here shapes and types are checked before the function is called."""
    code = (
        "import torch; from attnexp import d2l\n"
        f"d2l.masked_softmax(torch.randn(2, 3, 6), torch.tensor({lengths}))"
    )
    assert "ValueError: valid_lens must" in python("-c", code).stderr
