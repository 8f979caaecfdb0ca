"""Training steps of `Rnn` and `DecoderOnly` against plain loops in PyTorch, on one thread.

The textbook's decoder goes through all of its layers once a target symbol: embedding, attention
(which projects every key again), `nn.GRU`, output layer. Ours does once a sequence what does not
depend on the state: key projection, embedding, input gates, output layer; and the derivative of
the recurrences is written out, so that a step of it is few operations, or one call of compiled
code. All compute the same function: they get a copy of our weights, and the losses of 20 steps must
agree before anything is timed. Then they are timed in turns (A B C A B C ...), in processor time,
so that what else the machine does falls on all, and little on any.

The second table has `DecoderOnly` at the sizes of a quick trial, beside a loop over `nn.Embedding`,
`nn.LayerNorm`, `nn.Linear` and fused attention with `is_causal`. That loop knows that no source has
padding, and cannot return its weights.

    python benchmarks/step_time.py --steps 5 --repeats 60
"""

import argparse
import copy
import statistics
import sys
import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from rows import Row
from torch import Tensor, nn

from attnexp.architectures.base import Architecture
from attnexp.architectures.compiled import NoLibraryError
from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.encoder import OneWay
from attnexp.architectures.positions.rotary import Rotary
from attnexp.architectures.recurrence.cells import Cell
from attnexp.architectures.recurrence.native.library import load, use
from attnexp.architectures.rnn import Rnn
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.core.console import plain_table, print_line, screen
from attnexp.data.mqar import MultiQueryRecall
from attnexp.scores.additive import Additive
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.device import prepare_processor
from attnexp.training.optimizers import Adam
from attnexp.training.updates import EagerStep, Gradient

BATCHES, LENGTH, HIDDEN, VOCAB = (32, 64), 10, 64, 20
AGREEMENT_STEPS, TOLERANCE = 20, 1e-4
TEXTBOOK, PLAIN, OURS = "the textbook's loop", "a plain loop", "attnexp"
GOALS = {("PyTorch", 64): 2.0, ("compiled", 32): 4.0}
"""How many times as many tokens as the textbook's loop are wanted, by way and batch."""

DIM, HEADS, FF_DIM, LAYERS, CLIP_NORM = 32, 2, 64, 2, 1.0
"""The sizes of `DecoderOnly` in a quick trial."""
DECODER_GOAL = 1.2
"""How many times the time of the plain loop its step is to take at most."""


class TextbookAttention(nn.Module):
    """w_v' tanh(W_q q + W_k k), a masked softmax, and the weighted sum of the values."""

    def __init__(self) -> None:
        super().__init__()
        self.W_q = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.W_k = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.w_v = nn.Linear(HIDDEN, 1, bias=False)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, lengths: Tensor
    ) -> Float[Tensor, "batch 1 hidden"]:
        hidden = torch.tanh(self.W_q(query).unsqueeze(2) + self.W_k(keys).unsqueeze(1))
        scores = self.w_v(hidden).squeeze(-1)
        return torch.bmm(textbook_softmax(scores, lengths), values)


def textbook_softmax(scores: Tensor, lengths: Tensor) -> Float[Tensor, "batch queries keys"]:
    """softmax over the first `lengths` keys of each row; the scores of others become -1e6."""
    rows = scores.reshape(-1, scores.shape[-1])
    row_lengths = torch.repeat_interleave(lengths, scores.shape[1])
    positions = torch.arange(rows.shape[-1], device=lengths.device)
    beyond = positions[None, :] >= row_lengths[:, None]
    return F.softmax(rows.masked_fill(beyond, -1e6).reshape(scores.shape), dim=-1)


class Textbook(nn.Module):
    """An encoder and a decoder of one `nn.GRU` layer each, decoded symbol by symbol."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embed_source = nn.Embedding(symbols, HIDDEN)
        self.embed_target = nn.Embedding(symbols, HIDDEN)
        self.encoder = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.attention = TextbookAttention()
        self.decoder = nn.GRU(2 * HIDDEN, HIDDEN, batch_first=True)
        self.output = nn.Linear(2 * HIDDEN, symbols)

    def forward(
        self, source: Int[Tensor, "batch source"], lengths: Tensor, target: Tensor
    ) -> Float[Tensor, "batch target symbols"]:
        states, hidden = self.encoder(self.embed_source(source))
        logits = []
        for step in range(target.shape[1]):
            embedded = self.embed_target(target[:, step : step + 1])
            context = self.attention(hidden[-1].unsqueeze(1), states, states, lengths)
            out, hidden = self.decoder(torch.cat([context, embedded], dim=-1), hidden)
            logits.append(self.output(torch.cat([out, context], dim=-1)))
        return torch.cat(logits, dim=1)

    @torch.no_grad()
    def copy_weights_of(self, model: Rnn) -> None:
        """Take over the parameters of ours."""
        copies = {
            "embed_source": model.embed_source,
            "embed_target": model.embed_target,
            "attention": model.attention.score,
            "output": model.W_o,
        }
        for name, module in copies.items():
            getattr(self, name).load_state_dict(module.state_dict())
        (layer,) = model.encoder.layers
        assert isinstance(layer, OneWay)
        copy_cell(self.encoder, layer.cell, layer.cell.W_x.weight)
        inputs = torch.cat([model.W_c.mT, model.bottom.W_x.weight], dim=1)
        copy_cell(self.decoder, model.bottom, inputs)


def copy_cell(gru: nn.GRU, cell: Cell, inputs: Float[Tensor, "gates inputs"]) -> None:
    """Give a one-layer GRU the parameters of a cell, with this matrix for its inputs."""
    gru.weight_ih_l0.copy_(inputs)
    gru.bias_ih_l0.copy_(cell.W_x.bias)
    gru.weight_hh_l0.copy_(cell.W_h.weight)
    gru.bias_hh_l0.copy_(cell.W_h.bias)


class PlainLayer(nn.Module):
    """x + W_o attention(LayerNorm(x)), then x + W_2 relu(W_1 LayerNorm(x))."""

    def __init__(self) -> None:
        super().__init__()
        self.own_norm, self.norm = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.W_qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.W_o = nn.Linear(DIM, DIM, bias=False)
        self.W_1, self.W_2 = nn.Linear(DIM, FF_DIM), nn.Linear(FF_DIM, DIM)

    def forward(
        self, x: Float[Tensor, "batch length dim"], cos: Tensor, sin: Tensor
    ) -> Float[Tensor, "batch length dim"]:
        joint = self.W_qkv(self.own_norm(x)).unflatten(-1, (3, HEADS, -1)).transpose(1, 3)
        queries, keys, values = joint.unbind(dim=2)
        queries, keys = plainly_turned(queries, cos, sin), plainly_turned(keys, cos, sin)
        heads = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.W_o(heads.transpose(1, 2).flatten(2))
        return x + self.W_2(self.W_1(self.norm(x)).relu())


def plainly_turned(
    x: Float[Tensor, "batch heads length head_dim"], cos: Tensor, sin: Tensor
) -> Float[Tensor, "batch heads length head_dim"]:
    """Return x with its feature k and its feature k + head_dim / 2 turned."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


class PlainDecoder(nn.Module):
    """A causal stack of PyTorch's own parts, with rotary positions."""

    cos: Tensor
    sin: Tensor

    def __init__(self, symbols: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, DIM)
        self.layers = nn.ModuleList(PlainLayer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        pairs = DIM // HEADS // 2
        rates = 10000.0 ** (-torch.arange(pairs) / pairs)
        angles = (torch.arange(length).unsqueeze(-1) * rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length symbols"]:
        x = self.embed(ids) * DIM**0.5
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return F.linear(self.norm(x), self.embed.weight)

    @torch.no_grad()
    def copy_weights_of(self, model: DecoderOnly) -> None:
        """Take over the parameters of ours, whose pairs of features are neighbours."""
        self.embed.load_state_dict(model.embed.state_dict())
        self.norm.load_state_dict(model.norm.state_dict())
        for own, theirs in zip(self.layers, model.layers, strict=True):
            for name, module in {
                "own_norm": theirs.own_norm,
                "W_o": theirs.own.W_o,
                "norm": theirs.feed_forward.norm,
                "W_1": theirs.feed_forward.W_1,
                "W_2": theirs.feed_forward.W_2,
            }.items():
                own.get_submodule(name).load_state_dict(module.state_dict())
            turned = [
                matrix.weight.unflatten(0, (HEADS, -1, 2)).transpose(1, 2).flatten(0, 2)
                for matrix in (theirs.own.W_q, theirs.own.W_k)
            ]
            own.W_qkv.weight.copy_(torch.cat([*turned, theirs.own.W_v.weight]))


class Timed:
    """A training step that is timed."""

    @abstractmethod
    def step(self) -> Tensor:
        """Take a step, and return the loss before it."""

    def seconds_of(self, steps: int) -> float:
        """Processor time of a step."""
        start = time.process_time()
        for _ in range(steps):
            self.step()
        return (time.process_time() - start) / steps


class Trainer(Timed):
    """Takes the step that a run of attnexp takes."""

    def __init__(self, model: Architecture, batch: Batch, clip_norm: float | None = None) -> None:
        self.model = model
        self.batch = batch
        gradient = Gradient(model, SequenceToSequence(), clip_norm, nullcontext)
        self._step = EagerStep(gradient, Adam(model.parameters(), lr=1e-3, fused=True))

    def step(self) -> Tensor:
        return self._step(self.batch, 1.0)


class TextbookTrainer(Timed):
    """Takes a step as a textbook does."""

    def __init__(self, model: Textbook, batch: Batch) -> None:
        self.model = model
        self.batch = batch
        self._lengths = batch.mask[:, 0].sum(dim=-1)
        self._optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step(self) -> Tensor:
        self.model.zero_grad()
        logits = self.model(self.batch.keys, self._lengths, self.batch.queries)
        loss = F.cross_entropy(logits.flatten(0, 1), self.batch.targets.flatten())
        loss.backward()
        self._optimizer.step()
        return loss.detach()


class PlainTrainer(Timed):
    """Takes a step as a plain loop does, over labels that are -100 where no target is due."""

    def __init__(self, model: PlainDecoder, batch: Batch) -> None:
        assert batch.asked is not None
        self.model = model
        self._ids = torch.cat([batch.keys, batch.queries], dim=1)
        places = batch.keys.shape[1] + batch.asked
        self._labels = torch.full_like(self._ids, -100).scatter(1, places, batch.targets)
        self._optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def step(self) -> Tensor:
        self.model.zero_grad()
        logits = self.model(self._ids)
        loss = F.cross_entropy(logits.flatten(0, 1), self._labels.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self._optimizer.step()
        return loss.detach()


class JaxTrainer(Timed):
    """The same in JAX. Raises ImportError if it is not installed."""

    def __init__(self, model: Rnn, batch: Batch) -> None:
        from jax_step import JaxModel

        self._model = JaxModel(model, batch)

    def step(self) -> Tensor:
        return self._model.step()


def trainers(size: int) -> dict[str, Trainer | TextbookTrainer]:
    """Return ours by PyTorch and compiled, and the textbook's, with the same weights and batch.

    The random batch has so many sources to reverse. Without a compiler none is compiled.
    """
    torch.manual_seed(0)
    vocabulary = ("<pad>", "<bos>", "<eos>", *map(str, range(VOCAB)))
    spec = Seq2SeqSpec(vocabulary, vocabulary, LENGTH + 1, LENGTH + 1, pad=0, bos=1, eos=2)
    symbols = torch.randint(3, len(vocabulary), (size, LENGTH))
    source = F.pad(symbols, (0, 1), value=spec.eos)
    targets = F.pad(symbols.flip(1), (0, 1), value=spec.eos)
    batch = Batch(
        queries=F.pad(targets[:, :-1], (1, 0), value=spec.bos),
        keys=source,
        values=source,
        targets=targets,
        mask=torch.ones(size, 1, LENGTH + 1, dtype=torch.bool),
        target_mask=torch.ones(size, LENGTH + 1, dtype=torch.bool),
    )
    ours = Rnn(spec, Additive, embed_dim=HIDDEN, hidden_dim=HIDDEN, bidirectional=False)
    models = {"PyTorch": ours}
    try:
        models["compiled"] = copy.deepcopy(ours)
        use(models["compiled"], load())
    except NoLibraryError as error:
        print_line(f"not compiled: {error}")
        del models["compiled"]
    textbook = Textbook(len(vocabulary))
    textbook.copy_weights_of(ours)
    ways = {name: Trainer(model, batch) for name, model in models.items()}
    return {**ways, TEXTBOOK: TextbookTrainer(textbook, batch)}


def decoder_trainers() -> dict[str, Trainer | PlainTrainer]:
    """Return ours and the plain loop, with the same weights, on 32 sequences of 16 symbols."""
    generator = torch.Generator().manual_seed(0)
    data = MultiQueryRecall(generator, 1000, 10, 10, 4, 4, length=16, vocab_size=33)
    torch.manual_seed(0)
    ours = DecoderOnly(
        data.spec, ScaledDot, layers=LAYERS, heads=HEADS, dim=DIM, ff_dim=FF_DIM, positions=Rotary
    )
    plain = PlainDecoder(ours.embed.num_embeddings, length=16)
    plain.copy_weights_of(ours)
    batch = data.train.select(slice(32))
    return {PLAIN: PlainTrainer(plain, batch), OURS: Trainer(ours, batch, CLIP_NORM)}


def with_jax(models: Mapping[str, Trainer | TextbookTrainer]) -> dict[str, Timed]:
    """Return the trainers, and one in JAX if it is installed."""
    ours = models["PyTorch"]
    try:
        assert isinstance(ours, Trainer)
        assert isinstance(ours.model, Rnn)
        return {**models, "JAX": JaxTrainer(ours.model, ours.batch)}
    except ImportError:
        return dict(models)


def check_agreement(models: Mapping[str, Timed], rival: str = TEXTBOOK) -> float:
    """The largest relative difference of the losses from the rival's over the first steps.

    Raises RuntimeError if it is not small: then they do not compute the same thing.
    """
    worst = 0.0
    for step in range(AGREEMENT_STEPS):
        losses = {name: float(model.step()) for name, model in models.items()}
        expected = losses[rival]
        for name, loss in losses.items():
            worst = max(worst, abs(loss - expected) / expected)
            if worst > TOLERANCE:
                raise RuntimeError(
                    f"step {step}: the loss by {name} is {loss}, that of {rival} {expected}"
                )
    return worst


def timed(models: Mapping[str, Timed], steps: int, repeats: int) -> dict[str, list[float]]:
    """Return the processor seconds of a step of each, timed in turns."""
    turns = [[model.seconds_of(steps) for model in models.values()] for _ in range(repeats)]
    return dict(zip(models, map(list, zip(*turns, strict=True)), strict=True))


def ratios(times: Mapping[str, list[float]], of: str, to: str) -> list[float]:
    """Return the time of one divided by that of the other, turn by turn."""
    return [one / other for one, other in zip(times[of], times[to], strict=True)]


def rows(quick: bool) -> list[Row]:
    """Return the rows of tokens a second, and that of the time of a quick trial's step."""
    prepare_processor(1)
    found, repeats = [], 5 if quick else 60
    for size in BATCHES:
        models = with_jax(trainers(size))
        check_agreement(models)
        times = timed(models, 5, repeats)
        found += [
            Row(
                asks=f"training tokens a second of rnn, additive, by {name}, batches of {size}",
                rival=f"the textbook's loop, same losses, PyTorch {torch.__version__}",
                ratios=ratios(times, TEXTBOOK, name),
                threads=1,
                wanted=GOALS.get((name, size)),
                more_is_better=True,
            )
            for name in models
            if name != TEXTBOOK
        ]
    return [*found, decoder_row(repeats)]


def decoder_row(repeats: int) -> Row:
    """Return the row of a step of `DecoderOnly` at the sizes of a quick trial."""
    models = decoder_trainers()
    check_agreement(models, PLAIN)
    return Row(
        asks="time of a training step of decoder_only at the sizes of a quick trial",
        rival=f"{PLAIN}, same losses, PyTorch {torch.__version__}",
        ratios=ratios(timed(models, 5, repeats), OURS, PLAIN),
        threads=1,
        wanted=DECODER_GOAL,
    )


def main() -> int:
    """Print the tables; exit with 1 where we are not as fast as we mean to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="steps in one timing")
    parser.add_argument("--repeats", type=int, default=60, help="timings of each model")
    arguments = parser.parse_args()
    prepare_processor(1)
    columns = ["batch", "steps by", "ms a step, least", "median", "tokens, textbook = 1", "wanted"]
    table = plain_table(columns, right=columns[2:])
    missed = False
    for size in BATCHES:
        models = with_jax(trainers(size))
        worst = check_agreement(models)
        times = timed(models, arguments.steps, arguments.repeats)
        for name, own in times.items():
            ratio = statistics.median(ratios(times, TEXTBOOK, name))
            goal = GOALS.get((name, size))
            missed |= goal is not None and ratio < goal
            table.add_row(str(size), name, *milliseconds(own), f"{ratio:.2f}", f"{goal or ''}")
        print_line(f"batches of {size}: losses of {AGREEMENT_STEPS} steps agree to {worst:.0e}")
    screen.out.print(table)
    return int(missed | print_decoder(arguments.steps, arguments.repeats))


def print_decoder(steps: int, repeats: int) -> bool:
    """Print the table of `DecoderOnly`; return whether it misses its goal."""
    models = decoder_trainers()
    worst = check_agreement(models, PLAIN)
    times = timed(models, steps, repeats)
    columns = ["steps by", "ms a step, least", "median", f"time, {PLAIN} = 1", "wanted"]
    table = plain_table(columns, right=columns[1:])
    by_name = {name: statistics.median(ratios(times, name, PLAIN)) for name in models}
    for name, ratio in by_name.items():
        goal = f"{DECODER_GOAL}" if name == OURS else ""
        table.add_row(name, *milliseconds(times[name]), f"{ratio:.2f}", goal)
    print_line(f"a quick trial: losses of {AGREEMENT_STEPS} steps agree to {worst:.0e}")
    screen.out.print(table)
    return by_name[OURS] > DECODER_GOAL


def milliseconds(own: list[float]) -> list[str]:
    """Return the least and the median of times, in milliseconds."""
    return [f"{1e3 * seconds:.2f}" for seconds in (min(own), statistics.median(own))]


if __name__ == "__main__":
    sys.exit(main())
