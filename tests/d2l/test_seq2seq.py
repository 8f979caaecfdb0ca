"""The book's encoders and decoders, against PyTorch's GRU and loops."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnexp import d2l


class Echo(d2l.AttentionDecoder):
    """A decoder whose next symbol is the sum of the source and the symbol before."""

    def init_state(self, enc_all_outputs, *args):
        return enc_all_outputs, 0

    def forward(self, X, state):
        total, step = state
        self.step = step
        return F.one_hot((X + total[:, None]) % 7, 7).float(), (total, step + 1)

    @property
    def attention_weights(self):
        return self.step


class Sum(d2l.Encoder):
    def forward(self, X, *args):
        return X.sum(dim=1)


def test_an_encoder_is_pytorchs_gru():
    encoder = d2l.Seq2SeqEncoder(11, 4, 5, 2, dropout=0.3).eval()
    X = torch.tensor([[1, 2, 3], [4, 5, 6]])
    outputs, state = encoder(X, None)
    theirs = nn.GRU(4, 5, 2, batch_first=True)
    theirs.load_state_dict(encoder.rnn.rnn.state_dict())
    expected, last = theirs(encoder.embedding(X))
    torch.testing.assert_close(outputs, expected.transpose(0, 1))
    torch.testing.assert_close(state, last)
    assert {name.rpartition(".")[0] for name in encoder.state_dict()} == {"embedding", "rnn.rnn"}


def test_weights_are_within_the_bound_of_glorot():
    layer, lazy = nn.Linear(300, 200), nn.LazyLinear(3)
    gru = nn.GRU(30, 20, 1)
    biases = gru.bias_ih_l0.clone()
    for module in (layer, lazy, gru):
        d2l.init_seq2seq(module)
    assert layer.weight.abs().max().item() == pytest.approx((6 / 500) ** 0.5, rel=0.01)
    assert gru.weight_ih_l0.abs().max().item() == pytest.approx((6 / 90) ** 0.5, rel=0.05)
    assert gru.bias_ih_l0.equal(biases)


def test_predictions_follow_on_from_each_other():
    model = d2l.Seq2Seq(Sum(), Echo(), tgt_pad=0, lr=0.1)
    lengths = torch.tensor([2, 2])
    batch = [torch.tensor([[1, 1], [2, 1]]), torch.tensor([[3, 0], [4, 0]]), lengths, lengths]
    found, weights = model.predict_step(batch, d2l.try_gpu(), 4, save_attention_weights=True)
    assert found.tolist() == [[5, 0, 2, 4], [0, 3, 6, 2]]
    assert weights == [0, 1, 2, 3]
    assert model.predict_step(batch, d2l.cpu(), 1)[1] == []
    assert model(batch[0], batch[1], batch[2]).argmax(dim=2).tolist() == [[5, 2], [0, 3]]


def test_an_encoder_decoder_is_trained():
    torch.manual_seed(0)
    data = d2l.MTFraEng(batch_size=8, num_steps=5, num_train=16, num_val=4)

    class LastState(d2l.Decoder):
        def __init__(self, vocab_size):
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, 16)
            self.rnn = d2l.GRU(16, 32, 1)
            self.dense = nn.LazyLinear(vocab_size)

        def init_state(self, enc_all_outputs, *args):
            return enc_all_outputs[1]

        def forward(self, X, state):
            outputs, state = self.rnn(self.embedding(X).transpose(0, 1), state)
            return self.dense(outputs).transpose(0, 1), state

    encoder = d2l.Seq2SeqEncoder(len(data.src_vocab), 16, 32, 1)
    decoder = LastState(len(data.tgt_vocab))
    model = d2l.Seq2Seq(encoder, decoder, tgt_pad=data.tgt_vocab["<pad>"], lr=0.02)
    d2l.Trainer(max_epochs=60, gradient_clip_val=1, num_gpus=1).fit(model, data)
    losses = [point.y for point in model.board.data["train_loss"]]
    assert losses[-1] < 0.3 * losses[0]
    assert "val_loss" in model.board.data
    assert "val_acc" not in model.board.data
    preds, _ = model.predict_step(data.build(["i won ."], ["j'ai gagné ."]), d2l.try_gpu(), 5)
    assert data.tgt_vocab.to_tokens(preds[0])[:2] == ["j'ai", "gagné"]


def test_interfaces_have_nothing():
    for call in (
        lambda: d2l.Encoder()(1),
        lambda: d2l.Decoder()(1, 2),
        lambda: d2l.Decoder().init_state(1),
        lambda: d2l.AttentionDecoder().attention_weights,
    ):
        with pytest.raises(NotImplementedError):
            call()
