"""The book's encoders and decoders, against PyTorch's GRU and loops."""

import re

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


class Bag(d2l.Decoder):
    """A decoder that sees the mean of the source and the symbol before."""

    def __init__(self, size):
        super().__init__()
        self.embedding = nn.Embedding(size, 6)
        self.dense = nn.Linear(6, size)

    def init_state(self, enc_all_outputs, *args):
        return enc_all_outputs

    def forward(self, X, state):
        return self.dense(self.embedding(X) + state[:, None]), state


class Mean(d2l.Encoder):
    def __init__(self, size):
        super().__init__()
        self.embedding = nn.Embedding(size, 6)

    def forward(self, X, valid_lens):
        rows = [self.embedding(row[:end]).mean(dim=0) for row, end in zip(X, valid_lens)]  # noqa: B905
        return torch.stack(rows)


class OfEarlier(nn.Module):
    """An encoder-decoder that returns the state too, as that of d2l 0.17."""

    def __init__(self, net):
        super().__init__()
        self.encoder, self.decoder = net.encoder, net.decoder

    def forward(self, enc_X, dec_X, *args):
        state = self.decoder.init_state(self.encoder(enc_X, *args), *args)
        return self.decoder(dec_X, state)


def trained_by_hand(net, batches, lr, epochs, bos):
    """The loss of the last epoch, of a loop over sequences and steps."""
    for module in net.modules():
        d2l.init_seq2seq(module)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(epochs):
        total, symbols = 0.0, 0
        for src, src_lens, tgt, tgt_lens in batches:
            losses = []
            for row in range(len(src)):
                state = net.encoder(src[row : row + 1], src_lens[row : row + 1])
                before = bos
                for step in range(tgt_lens[row]):
                    outputs, _ = net.decoder(torch.tensor([[before]]), state)
                    before = tgt[row, step].item()
                    losses.append(-outputs[0, 0].log_softmax(dim=0)[before] / tgt.shape[1])
            optimizer.zero_grad()
            sum(losses).backward()
            norm = sum(p.grad.square().sum() for p in net.parameters()).sqrt()
            for parameter in net.parameters():
                parameter.grad *= min(1.0, 1 / norm)
            optimizer.step()
            total += sum(losses).item()
            symbols += tgt_lens.sum().item()
    return total / symbols


@pytest.mark.parametrize("wrapped", [False, True])
def test_training_of_0_17_is_a_loop_over_steps(wrapped, capsys):
    batches, src_vocab, tgt_vocab = d2l.load_data_nmt(8, 5, num_examples=16)
    kept = list(batches)
    torch.manual_seed(0)
    net = d2l.EncoderDecoder(Mean(len(src_vocab)), Bag(len(tgt_vocab)))
    other = d2l.EncoderDecoder(Mean(len(src_vocab)), Bag(len(tgt_vocab)))
    other.load_state_dict(net.state_dict())
    torch.manual_seed(1)
    expected = trained_by_hand(other, kept, 0.1, 10, tgt_vocab["<bos>"])
    torch.manual_seed(1)
    model = OfEarlier(net) if wrapped else net
    d2l.train_seq2seq(model, kept, 0.1, 10, tgt_vocab, d2l.cpu())
    for one, another in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, another, atol=1e-4, rtol=1e-4)
    (line,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"loss {expected:.3f}, \d+\.\d tokens/sec on cpu", line)
    (curve,) = d2l.plt.gca().lines
    assert curve.get_xydata().tolist() == [[10, pytest.approx(expected, rel=1e-3)]]
    d2l.plt.close("all")


def test_a_translation_of_0_17_ends_before_its_end():
    words = ["<pad>", "<bos>", "<eos>", "<unk>", "a", "b", "c"]
    vocab = d2l.Vocab([words])
    ids = {word: number for number, word in enumerate(vocab.idx_to_token)}
    net = d2l.EncoderDecoder(Sum(), Echo())
    net.decoder.train()
    for sentence in ("a b", "A", "b c c b a"):
        symbols = [*sentence.lower().split(), "<eos>"][:4]
        source = sum(ids[symbol] for symbol in [*symbols, *4 * ["<pad>"]][:4])
        last, expected = ids["<bos>"], []
        while len(expected) < 4:
            last = (last + source) % 7
            if last == ids["<eos>"]:
                break
            expected.append(vocab.to_tokens(last))
        found, weights = d2l.predict_seq2seq(net, sentence, vocab, vocab, 4, d2l.cpu(), True)
        assert found == " ".join(expected)
        assert weights == list(range(min(len(expected) + 1, 4)))
        assert d2l.predict_seq2seq(net, sentence, vocab, vocab, 4, d2l.cpu()) == (found, [])
    assert not net.training


def test_interfaces_have_nothing():
    for call in (
        lambda: d2l.Encoder()(1),
        lambda: d2l.Decoder()(1, 2),
        lambda: d2l.Decoder().init_state(1),
        lambda: d2l.AttentionDecoder().attention_weights,
    ):
        with pytest.raises(NotImplementedError):
            call()
