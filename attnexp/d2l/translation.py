"""English sentences and their translations as Dive into Deep Learning takes them, and its BLEU."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from attnexp.d2l.training import DataModule
from attnexp.data.pair_files import read_pairs
from attnexp.runs.sources import digest

SENTENCES = "attnexp:english_french.tsv"
"""The file of `attnexp data=pairs`."""

SHORT = (
    ("Go.", "Va !"),
    ("Go now.", "Va maintenant !"),
    ("Come now.", "Viens maintenant !"),
    ("Come home.", "Viens chez moi !"),
    ("I lost.", "J'ai perdu."),
    ("We lost.", "Nous avons perdu."),
    ("I won.", "J'ai gagné."),
    ("We won.", "Nous avons gagné."),
    ("I'm calm.", "Je suis calme."),
    ("He's calm.", "Il est calme."),
    ("She's calm.", "Elle est calme."),
    ("I'm late.", "Je suis en retard."),
    ("He's late.", "Il est en retard."),
    ("She's late.", "Elle est en retard."),
    ("I'm home.", "Je suis chez moi."),
    ("He's home.", "Il est chez lui."),
    ("She's home.", "Elle est chez elle."),
)
"""Short sentences that come first: the four that the book's cells translate, and their words."""


class Vocab:
    """The symbols that occur at least `min_freq` times, reserved ones and `<unk>`, in order."""

    def __init__(
        self,
        tokens: Iterable[str | Sequence[str]] = (),
        min_freq: int = 0,
        reserved_tokens: Iterable[str] = (),
    ) -> None:
        lines = ([line] if isinstance(line, str) else line for line in tokens)
        self.token_freqs = Counter(token for line in lines for token in line).most_common()
        frequent = (token for token, count in self.token_freqs if count >= min_freq)
        self.idx_to_token = sorted({"<unk>", *reserved_tokens, *frequent})
        self.token_to_idx = {token: idx for idx, token in enumerate(self.idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def __getitem__(self, tokens: Any) -> Any:
        """Return the id of a symbol, or a list of ids; `unk` for one that is not here."""
        if isinstance(tokens, list | tuple):
            return [self[token] for token in tokens]
        return self.token_to_idx.get(tokens, self.unk)

    def to_tokens(self, indices: Any) -> Any:
        """Return the symbol of an id, or a list of symbols."""
        ids = indices.tolist() if isinstance(indices, Tensor) else indices
        if isinstance(ids, list | tuple):
            return [self.idx_to_token[idx] for idx in ids]
        return self.idx_to_token[ids]

    @property
    def unk(self) -> int:
        """The id of `<unk>`."""
        return self.token_to_idx["<unk>"]


class MTFraEng(DataModule):
    """English sentences and their French translations, from the file of `attnexp data=pairs`.

    Nothing is downloaded: 17 short pairs come first, then the 900 of the file. The first
    `num_train` train and the next `num_val` validate. Text is in lower case, words are between
    spaces, and sentences are cut or filled up to `num_steps` symbols. Words that occur once are
    `<unk>`.

    Raises ValueError if there are not that many pairs.
    """

    def __init__(
        self, batch_size: int, num_steps: int = 9, num_train: int = 512, num_val: int = 128
    ) -> None:
        super().__init__()
        self.batch_size = batch_size
        self.num_steps = num_steps
        self.num_train = num_train
        self.num_val = num_val
        pairs = _pairs()
        if num_train + num_val > len(pairs):
            raise ValueError(
                f"num_train and num_val must add up to at most {len(pairs)}, the pairs that are "
                f"built in, got {num_train} and {num_val}"
            )
        src, tgt = zip(*pairs[: num_train + num_val], strict=True)
        self.src_vocab, self.tgt_vocab = self._vocab(src), self._vocab(tgt)
        self.arrays = self.build(src, tgt)

    def build(
        self, src_sentences: Sequence[str], tgt_sentences: Sequence[str]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return source ids, decoder inputs, source lengths and targets of sentences.

        All but the lengths are (sentences, num_steps). Raises ValueError if the numbers of
        sentences differ.
        """
        if len(src_sentences) != len(tgt_sentences):
            raise ValueError(
                f"each sentence must have a translation, got {len(src_sentences)} sentences and "
                f"{len(tgt_sentences)} translations"
            )
        src = torch.tensor([self.src_vocab[self._symbols(each)] for each in src_sentences])
        tgt = torch.tensor(
            [self.tgt_vocab[["<bos>", *self._symbols(each)]] for each in tgt_sentences]
        )
        lengths = (src != self.src_vocab["<pad>"]).sum(dim=1).int()
        return src, tgt[:, :-1], lengths, tgt[:, 1:]

    def get_dataloader(self, train: bool) -> Any:
        """Return the batches of training, shuffled, or of validation."""
        rows = slice(0, self.num_train) if train else slice(self.num_train, None)
        return self.get_tensorloader(self.arrays, train, rows)

    def _symbols(self, sentence: str) -> list[str]:
        """Return words and marks, the end and padding: `num_steps` symbols."""
        spaced = re.sub(r"(?<=\S)(?=[,.!?])", " ", sentence.lower())
        return [*spaced.split(), "<eos>", *["<pad>"] * self.num_steps][: self.num_steps]

    def _vocab(self, sentences: Iterable[str]) -> Vocab:
        symbols = [self._symbols(each) for each in sentences]
        return Vocab(symbols, min_freq=2, reserved_tokens=["<pad>", "<bos>", "<eos>"])


@cache
def _pairs() -> tuple[tuple[str, str], ...]:
    return *SHORT, *read_pairs(SENTENCES, digest(SENTENCES) or "", 1, 2)[0]


def load_data_nmt(
    batch_size: int, num_steps: int, num_examples: int | None = 600
) -> tuple[DataLoader[tuple[Tensor, ...]], Vocab, Vocab]:
    """Return batches of d2l 0.17 and the vocabularies of both languages, from `MTFraEng`'s pairs.

    A batch has sources, their valid lengths, targets and theirs. They are shuffled. None is all
    pairs that are built in, and more raise ValueError.
    """
    most = len(_pairs())
    count = most if num_examples is None else num_examples
    if not 1 <= count <= most:
        raise ValueError(
            f"num_examples must be from 1 to {most}, the pairs that are built in, got {count}"
        )
    data = MTFraEng(batch_size, num_steps, num_train=count, num_val=0)
    src, _, src_valid_len, tgt = data.arrays
    tgt_valid_len = (tgt != data.tgt_vocab["<pad>"]).sum(dim=1).int()
    batches = data.get_tensorloader((src, src_valid_len, tgt, tgt_valid_len), train=True)
    return batches, data.src_vocab, data.tgt_vocab


def bleu(pred_seq: str, label_seq: str, k: int) -> float:
    """exp(min(0, 1 - len_label / len_pred)) p_1^(1/2) p_2^(1/4) ... p_k^(1/2^k).

    p_n is the share of the n-grams of the prediction that are in the label too, each as often as it
    is there. It is the book's weighting of BLEU (Papineni et al. 2002), of one sentence, and not
    the metric `bleu` of `attnexp data=pairs`, which is of all answers together.
    """
    pred, label = pred_seq.split(" "), label_seq.split(" ")
    score = math.exp(min(0.0, 1 - len(label) / len(pred)))
    for n in range(1, min(k, len(pred)) + 1):
        found, wanted = _grams(pred, n), _grams(label, n)
        score *= ((found & wanted).total() / found.total()) ** 0.5**n
    return score


def _grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
