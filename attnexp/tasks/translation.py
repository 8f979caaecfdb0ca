"""Text to text: BLEU, chrF and the character error rate."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from attnexp.tasks import seq2seq
from attnexp.tasks.base import Metric
from attnexp.tasks.texts import Texts, TextTask, error_rate

Tokenizer = Literal["13a", "intl", "zh", "char", "none"]
"""The names of sacrebleu's tokenizers, which cut a text into words."""


@dataclass(frozen=True)
class TokenizedTexts(Texts):
    """Texts, and the tokenizer that cuts them into words for BLEU."""

    tokenize: Tokenizer = "13a"


def _score(texts: Texts, corpus_score: Callable[..., Any]) -> float:
    """Return a metric of all answers together.

    `corpus_score` is of sacrebleu. It takes a list of the first references, of the second, and so
    on, with None for an example that has no more.
    """
    return corpus_score(texts.answers, list(zip_longest(*texts.references))).score


def _bleu(texts: TokenizedTexts) -> float:
    from sacrebleu.metrics.bleu import BLEU

    return _score(texts, BLEU(tokenize=texts.tokenize).corpus_score)


def _chrf(texts: Texts) -> float:
    from sacrebleu.metrics.chrf import CHRF

    return _score(texts, CHRF().corpus_score)


def _bleu_chance(texts: TokenizedTexts) -> float | None:
    """Return BLEU if each answer were the first reference of the next example.

    The answer to the last example is that of the first. Returns None for a single example.
    """
    firsts = [own[0] for own in texts.references]
    return _bleu(replace(texts, answers=[*firsts[1:], firsts[0]])) if firsts[1:] else None


TRANSLATION_METRICS = (
    Metric(
        "bleu",
        _bleu,
        "BLEU of all decoded answers together, by sacrebleu (Papineni 2002, Post 2018)",
        better="higher",
        unit="of 100",
        headline=True,
        companions={"chance": "bleu_chance"},
    ),
    Metric(
        "bleu_chance",
        _bleu_chance,
        "BLEU of right answers to other sources: to each test example the reference of the next",
        unit="of 100",
        headline=True,
    ),
    Metric(
        "chrf",
        _chrf,
        "chrF2 of all decoded answers together, by sacrebleu (Popović 2015)",
        better="higher",
        unit="of 100",
        headline=True,
    ),
    Metric(
        "character_error_rate",
        lambda texts: error_rate(texts.answers, texts.references),
        "characters to insert, delete or replace in the decoded answers, over those of the "
        "nearest references",
        better="lower",
        unit="errors per symbol",
        headline=True,
    ),
)


_LETTER, _HAN = r"\p{L}", r"\p{Han}"
_DENSE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
"""The characters of scripts that have no spaces between words."""


def tokenizer_of(references: Iterable[str]) -> Tokenizer:
    """Return the tokenizer with which BLEU finds words in texts of this script.

    The tokenizer is "13a", words between spaces, unless most characters are of scripts without
    spaces. Then it is "zh", each Chinese character a word, if more than nine in ten of these
    characters are Chinese, and otherwise "char", each character a word.
    """
    import regex

    text = "".join(references)
    letters, dense, han = (len(regex.findall(each, text)) for each in (_LETTER, _DENSE, _HAN))
    if 2 * dense <= letters:
        return "13a"
    # of ten Japanese characters at least one is a kana
    return "zh" if 10 * han > 9 * dense else "char"


class Translation(TextTask):
    """Compares texts by BLEU, chrF and edited characters: see `TRANSLATION_METRICS`.

    `tokenize` is the name in sacrebleu of the tokenizer with which BLEU finds words. With "auto"
    the script of the references decides, see `tokenizer_of`. A note names a tokenizer other than
    "13a", and says if the script needs another one.

    Raises ValueError for num_shown below 1.
    """

    packages = MappingProxyType(dict.fromkeys(("sacrebleu", "rapidfuzz", "regex"), "attnexp[text]"))
    primary = "bleu"
    text_metrics = TRANSLATION_METRICS
    metrics: ClassVar[tuple[Metric, ...]] = (*TRANSLATION_METRICS, *seq2seq.METRICS)

    def __init__(self, num_shown: int = 8, tokenize: Tokenizer | Literal["auto"] = "auto") -> None:
        super().__init__(num_shown)
        self.tokenize = tokenize

    def measure_texts(self, texts: Texts) -> dict[str, float]:
        tokenize = self._tokenizer(texts)
        return super().measure_texts(TokenizedTexts(texts.answers, texts.references, tokenize))

    def text_notes(self, texts: Texts) -> tuple[str, ...]:
        used, fitting = self._tokenizer(texts), tokenizer_of(chain(*texts.references))
        if used == "13a" == fitting:
            return ()
        if used in ("13a", "intl", "none") and fitting != "13a":
            return (
                f"bleu finds words between spaces (task.tokenize={used}), and most of the targets "
                f"are in a script without spaces: task.tokenize={fitting} suits it",
            )
        return (f"bleu uses task.tokenize={used}: compare it only with bleu that does too",)

    def _tokenizer(self, texts: Texts) -> Tokenizer:
        return tokenizer_of(chain(*texts.references)) if self.tokenize == "auto" else self.tokenize
