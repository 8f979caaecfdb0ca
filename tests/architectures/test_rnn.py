"""Bahdanau's encoder-decoder against its equations, written as loops."""

import pytest
import torch

from attnexp.architectures.rnn import Rnn


def gru(cell, x, h):
    """One step of a gated recurrent unit, for one example."""
    return gru_from_gates(cell, cell.W_x.weight @ x + cell.W_x.bias, h)


def gru_from_gates(cell, x_gates, h):
    size = len(h)
    h_gates = cell.W_h.weight @ h + cell.W_h.bias
    new = []
    for i in range(size):
        r = torch.sigmoid(x_gates[i] + h_gates[i])
        z = torch.sigmoid(x_gates[size + i] + h_gates[size + i])
        n = torch.tanh(x_gates[2 * size + i] + r * h_gates[2 * size + i])
        new.append((1 - z) * n + z * h[i])
    return torch.stack(new)


def run(cell, rows):
    """The states after each row, starting from zeros."""
    states = [torch.zeros(cell.hidden_dim, dtype=torch.float64)]
    for row in rows:
        states.append(gru(cell, row, states[-1]))
    return states[1:]


def encode(layer, rows):
    """The outputs and the final state of an encoder layer."""
    if not hasattr(layer, "left_to_right"):
        states = run(layer.cell, rows)
        return states, states[-1]
    right = run(layer.left_to_right.cell, rows)
    left = run(layer.right_to_left.cell, rows[::-1])[::-1]
    outputs = [
        layer.merge_outputs.weight @ torch.cat(pair) + layer.merge_outputs.bias
        for pair in zip(right, left, strict=True)
    ]
    ends = torch.cat([right[-1], left[0]])
    return outputs, torch.tanh(layer.merge_finals.weight @ ends + layer.merge_finals.bias)


def oracle(model, source, queries):
    """Logits and weights of one example without padding."""
    rows = [model.embed_source.weight[i] for i in source]
    states = []
    for layer in model.encoder.layers:
        rows, final = encode(layer, rows)
        states.append(final)
    score = model.attention.score
    logits, maps = [], []
    for symbol in queries:
        a = [
            score.w_v.weight[0] @ torch.tanh(score.W_q.weight @ states[-1] + score.W_k.weight @ h)
            for h in rows
        ]
        weights = torch.stack(a).exp() / torch.stack(a).exp().sum()
        context = sum(w * h for w, h in zip(weights, rows, strict=True))
        bottom = model.bottom
        below = (
            bottom.W_x.weight @ model.embed_target.weight[symbol]
            + bottom.W_x.bias
            + model.W_c.T @ context
        )
        states[0] = gru_from_gates(bottom, below, states[0])
        for depth, cell in enumerate(model.above, start=1):
            states[depth] = gru(cell, states[depth - 1], states[depth])
        logits.append(model.W_o.weight @ torch.cat([states[-1], context]) + model.W_o.bias)
        maps.append(weights)
    return torch.stack(logits), torch.stack(maps)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_model_is_its_equations(layers, bidirectional, spec, scored, batch):
    torch.manual_seed(2)
    model = Rnn(
        spec,
        scored("additive"),
        embed_dim=5,
        hidden_dim=3,
        layers=layers,
        bidirectional=bidirectional,
    ).double()
    with torch.no_grad():
        prediction = model(batch, need_weights=True)
        for row, (ids, mask) in enumerate(zip(batch.keys, batch.mask, strict=True)):
            source = ids[mask[0]].tolist()
            logits, weights = oracle(model, source, batch.queries[row].tolist())
            torch.testing.assert_close(prediction.outputs[row], logits)
            found = prediction.weights["cross"][row, 0, 0, :, : len(source)]
            torch.testing.assert_close(found, weights)
