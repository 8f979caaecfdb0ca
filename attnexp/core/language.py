"""The languages of pictures and pages: fixed texts in English and, by language.yaml, in Chinese."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeVar

LANGUAGES = ("en", "zh")
"""The languages, the default first."""

TABLE = Path(__file__).resolve().with_suffix(".yaml")

Value = TypeVar("Value")

_LANGUAGE = ContextVar("language", default=LANGUAGES[0])


class Said(str):
    """A text in English that has its Chinese, too: `chinese` makes it when it is asked for."""

    _chinese: Callable[[], str]

    def __new__(cls, english: str, chinese: Callable[[], str]) -> "Said":
        """Return the text."""
        text = super().__new__(cls, english)
        text._chinese = chinese
        return text

    @property
    def zh(self) -> str:
        """The text in Chinese. Raises KeyError for a text that the table lacks."""
        return self._chinese()


def said(form: str, /, **values: object) -> Said:
    """Return a fixed text in both languages, with values at its places `{name}`.

    `form` is a key of the table. A value that is `Said` is in the language of the text around it.
    """

    def chinese() -> str:
        return table()[form].format(**{name: in_chinese(one) for name, one in values.items()})

    return Said(form.format(**values), chinese)


def capitalized(text: str) -> str:
    """Return a text that begins with a capital in English."""
    first = text[:1].upper() + text[1:]
    return Said(first, lambda: text.zh) if isinstance(text, Said) else first


def joined(separator: str, parts: Iterable[str]) -> Said:
    """Return texts joined by a separator, in both languages."""
    every = list(parts)
    return Said(separator.join(every), lambda: in_chinese(separator).join(map(in_chinese, every)))


def numbered(word: str, number: object) -> Said:
    """Return a word and its number, as in `layer 2`, in both languages."""
    return joined(" ", [word, str(number)])


def counted(form: str, count: int) -> Said:
    """Return the text of `{count}` things, whose form in English is that of one thing."""
    text = said(form, count=count)
    return text if count == 1 else Said(f"{text}s", lambda: text.zh)


def in_chinese(value: Value) -> Value | str:
    """Return the Chinese of a fixed text, and any other value as it is."""
    return value.zh if isinstance(value, Said) else value


def translate(text: str) -> str:
    """Return a text in the language of the block `speaking`, in English outside of one."""
    return in_chinese(text) if _LANGUAGE.get() == "zh" else str(text)


def say(form: str, /, **values: object) -> str:
    """Return a fixed text in the language of the block `speaking`, in English outside of one."""
    return translate(said(form, **values))


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Let `say` and `translate` return texts in one of `LANGUAGES` inside the block."""
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


@cache
def table() -> dict[str, str]:
    """Return the Chinese of each text in English."""
    import yaml  # English alone does not need it

    texts: dict[str, str] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return texts
