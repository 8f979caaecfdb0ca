"""The encoders and decoders of Dive into Deep Learning."""

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.d2l.figures import Animator
from attnexp.d2l.functions import sequence_mask
from attnexp.d2l.training import Classifier, Module


class Encoder(nn.Module):
    """The interface of an encoder."""

    def forward(self, X: Any, *args: Any) -> Any:
        """Return the outputs of all positions, and a state if there is one."""
        raise NotImplementedError


class Decoder(nn.Module):
    """The interface of a decoder."""

    def init_state(self, enc_all_outputs: Any, *args: Any) -> Any:
        """Return the first state from the outputs of the encoder."""
        raise NotImplementedError

    def forward(self, X: Any, state: Any) -> Any:
        """Return outputs and the next state."""
        raise NotImplementedError


class AttentionDecoder(Decoder):
    """The interface of a decoder with attention."""

    @property
    def attention_weights(self) -> Any:
        """The weights of the last call."""
        raise NotImplementedError


class EncoderDecoder(Classifier):
    """An encoder, and a decoder that starts from its outputs."""

    def __init__(self, encoder: Any, decoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, enc_X: Any, dec_X: Any, *args: Any) -> Any:  # type: ignore[override]
        """Return the outputs of the decoder. Encoder and decoder both take `args`."""
        state = self.decoder.init_state(self.encoder(enc_X, *args), *args)
        return self.decoder(dec_X, state)[0]

    def predict_step(
        self,
        batch: Sequence[Tensor],
        device: torch.device,
        num_steps: int,
        save_attention_weights: bool = False,
    ) -> tuple[Int[Tensor, "batch num_steps"], list[Any]]:
        """Return greedily decoded ids, and the weights of each step if they are asked for.

        `batch` is as `MTFraEng.build` returns it. Decoding begins with the first symbol of its
        decoder inputs and does not end at `<eos>`.
        """
        src, tgt, src_valid_len, _ = (each.to(device) for each in batch)
        state = self.decoder.init_state(self.encoder(src, src_valid_len), src_valid_len)
        symbol, symbols, weights = tgt[:, :1], list[Tensor](), list[Any]()
        for _ in range(num_steps):
            outputs, state = self.decoder(symbol, state)
            symbol = outputs.argmax(dim=2)
            symbols.append(symbol)
            if save_attention_weights:
                weights.append(self.decoder.attention_weights)
        return torch.cat(symbols, dim=1), weights


def init_seq2seq(module: nn.Module) -> None:
    """Draw the weight matrices of a linear or GRU layer as Glorot and Bengio (2010), eq. 16."""
    if type(module) is nn.Linear:  # lazy layers have no weights yet
        nn.init.xavier_uniform_(module.weight)
    elif type(module) is nn.GRU:
        for name, parameter in module.named_parameters():
            if "weight" in name:
                nn.init.xavier_uniform_(parameter)


class GRU(Module):
    """PyTorch's GRU layers, with the state as a second argument."""

    def __init__(
        self, num_inputs: int, num_hiddens: int, num_layers: int, dropout: float = 0
    ) -> None:
        super().__init__()
        self.rnn = nn.GRU(num_inputs, num_hiddens, num_layers, dropout=dropout)

    def forward(
        self,
        inputs: Float[Tensor, "num_steps batch num_inputs"],
        H: Float[Tensor, "num_layers batch num_hiddens"] | None = None,
    ) -> tuple[
        Float[Tensor, "num_steps batch num_hiddens"], Float[Tensor, "num_layers batch num_hiddens"]
    ]:
        """Return the outputs of the last layer and the last state of all."""
        outputs, state = self.rnn(inputs, H)
        return outputs, state


class Seq2SeqEncoder(Encoder):
    """An embedding and GRU layers, as in Sutskever et al. (2014) with GRUs in place of LSTMs."""

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        num_hiddens: int,
        num_layers: int,
        dropout: float = 0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = GRU(embed_size, num_hiddens, num_layers, dropout)
        self.apply(init_seq2seq)

    def forward(
        self, X: Int[Tensor, "batch num_steps"], *args: Any
    ) -> tuple[
        Float[Tensor, "num_steps batch num_hiddens"], Float[Tensor, "num_layers batch num_hiddens"]
    ]:
        """Return the outputs of the last layer and the last state of all. `args` have no effect."""
        outputs, state = self.rnn(self.embedding(X.t().long()))
        return outputs, state


class Seq2Seq(EncoderDecoder):
    """An encoder-decoder that Adam trains with the learning rate `lr`.

    As in the package, padding counts in the loss, and `tgt_pad` is only kept; the book's text masks
    the padding in a cell of its own.
    """

    def __init__(self, encoder: Any, decoder: Any, tgt_pad: int, lr: float) -> None:
        super().__init__(encoder, decoder)
        self.tgt_pad = tgt_pad
        self.lr = lr

    def validation_step(self, batch: Sequence[Tensor]) -> None:
        """Plot the loss of a batch."""
        self.plot("loss", self.loss(self(*batch[:-1]), batch[-1]), train=False)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam over all parameters."""
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def train_seq2seq(
    net: Any,
    data_iter: Iterable[Sequence[Tensor]],
    lr: float,
    num_epochs: int,
    tgt_vocab: Any,
    device: torch.device,
) -> None:
    """Train an encoder-decoder on batches of `load_data_nmt`, as d2l 0.17: Adam, norms up to 1.

    The loss of a sequence is the mean over steps of the cross-entropy, 0 at padding. At the end the
    sum of losses over the symbols of the last epoch is printed, and the symbols per second.
    """
    net.apply(init_seq2seq)
    net.to(device).train()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    animator = Animator(xlabel="epoch", ylabel="loss", xlim=[0, num_epochs])
    loss = symbols = speed = 0.0
    for epoch in range(1, num_epochs + 1):
        start, loss, symbols = time.perf_counter(), 0.0, 0.0
        for batch in data_iter:
            src, src_valid_len, tgt, tgt_valid_len = (each.to(device) for each in batch)
            given = F.pad(tgt[:, :-1], (1, 0), value=tgt_vocab["<bos>"])
            outputs = net(src, given, src_valid_len)
            outputs = outputs[0] if isinstance(outputs, tuple) else outputs  # a class of 0.17
            losses = F.cross_entropy(outputs.transpose(1, 2), tgt, reduction="none")
            total = sequence_mask(losses, tgt_valid_len).mean(dim=1).sum()
            optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1)
            optimizer.step()
            loss, symbols = loss + total.item(), symbols + tgt_valid_len.sum().item()
        speed = symbols / (time.perf_counter() - start)
        if epoch % 10 == 0:
            animator.add(epoch, loss / symbols)
    sys.stdout.write(f"loss {loss / symbols:.3f}, {speed:.1f} tokens/sec on {device}\n")


def predict_seq2seq(
    net: Any,
    src_sentence: str,
    src_vocab: Any,
    tgt_vocab: Any,
    num_steps: int,
    device: torch.device,
    save_attention_weights: bool = False,
) -> tuple[str, list[Any]]:
    """Return the greedy translation of a sentence whose symbols are between spaces, as d2l 0.17.

    It ends before `<eos>` or after `num_steps` symbols. The weights are those of each step, with
    that of `<eos>`, if they are asked for. The model is left in evaluation mode.
    """
    net.eval()
    symbols = [*src_sentence.lower().split(" "), "<eos>"][:num_steps]
    filled = [*symbols, *["<pad>"] * (num_steps - len(symbols))]
    src, bos = torch.tensor([src_vocab[filled]]), torch.tensor([[tgt_vocab["<bos>"]]])
    batch = (src, bos, torch.tensor([len(symbols)]), bos)
    found, weights = EncoderDecoder.predict_step(
        net, batch, device, num_steps, save_attention_weights
    )
    answer = tgt_vocab.to_tokens(found[0].tolist())
    length = answer.index("<eos>") if "<eos>" in answer else num_steps
    return " ".join(answer[:length]), weights[: length + 1]
