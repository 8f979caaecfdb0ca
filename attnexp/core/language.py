"""The languages of pictures and pages: fixed texts in English and, by language.yaml, in Chinese."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NoReturn, TypeAlias, TypeVar, final

LANGUAGES = ("en", "zh")
"""The languages, the default first."""

BY_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The variables of the environment that name a locale; the first that is set counts."""

TABLE = Path(__file__).resolve().with_suffix(".yaml")

Value = TypeVar("Value")

BRACKET = "\N{FULLWIDTH RIGHT PARENTHESIS}"
"""The Chinese bracket, after which there is no blank."""

SENTENCE = 18
"""The fewest characters of a form, without its places, that tell a sentence from other texts."""

_PLACE = re.compile(r"\{(\w+)\}")

_LANGUAGE = ContextVar("language", default=LANGUAGES[0])


@final
@dataclass(frozen=True)
class Text:
    """A text in English, and in Chinese, which `zh` makes when it is asked for.

    It is no `str`: `translate` gives it in one language, and `said` and `joined` put it into a text
    of both. Its use in an f-string, which would be in English alone, raises TypeError. Texts are
    equal if their English is. `zh` raises KeyError for a text that the table lacks.
    """

    en: str
    zh: Callable[[], str] = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.en)

    def __str__(self) -> NoReturn:
        raise TypeError(f"Text({self.en!r}) is in two languages: `translate` gives it in one")


Phrase: TypeAlias = str | Text
"""A text in both languages, or one that is the same in each, such as a name."""


def said(form: str, /, **values: object) -> Text:
    """Return a fixed text in both languages, with values at its places `{name}`.

    `form` is a key of the table. A value that is a `Text` is in the language of the text around it.
    """

    def filled(form: str, language: str) -> str:
        return form.format(**{name: in_language(one, language) for name, one in values.items()})

    return Text(
        filled(form, "en"), lambda: filled(table()[form], "zh").replace(f"{BRACKET} ", BRACKET)
    )


def stored(text: str) -> Text:
    """Return a sentence that was stored in English in both languages.

    Its Chinese is that of the longest form of the table that fits it, with Chinese values. A
    sentence without such a form is in English in both languages.
    """

    def chinese() -> str:
        for form in sorted(table(), key=len, reverse=True):
            if len(_PLACE.sub("", form)) >= SENTENCE and (found := _pattern(form).fullmatch(text)):
                values = {name: stored(value).zh() for name, value in found.groupdict().items()}
                return table()[form].format(**values)
        return text

    return Text(text, chinese)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return the pattern of the texts that a form makes."""
    whole = ""
    for i, part in enumerate(_PLACE.split(form)):
        again = f"(?P<{part}>" in whole
        whole += (f"(?P={part})" if again else f"(?P<{part}>.+)") if i % 2 else re.escape(part)
    return re.compile(whole, re.DOTALL)


def capitalized(text: Phrase) -> Phrase:
    """Return a text that begins with a capital in English."""
    english = in_language(text, "en")
    first = english[:1].upper() + english[1:]
    return Text(first, text.zh) if isinstance(text, Text) else first


def joined(separator: Phrase, parts: Iterable[Phrase]) -> Text:
    """Return texts joined by a separator, in both languages."""
    every = list(parts)

    def whole(language: str) -> str:
        return in_language(separator, language).join(in_language(one, language) for one in every)

    return Text(whole("en"), lambda: whole("zh"))


def numbered(word: Phrase, number: object) -> Text:
    """Return a word and its number, as in `layer 2`, in both languages."""
    return joined(" ", [word, str(number)])


def counted(form: str, count: int) -> Text:
    """Return the text of `{count}` things, whose form in English is that of one thing."""
    text = said(form, count=count)
    return text if count == 1 else Text(f"{text.en}s", text.zh)


def in_language(value: Value | Text, language: str) -> Value | str:
    """Return a text in one of `LANGUAGES`, and any other value as it is."""
    if not isinstance(value, Text):
        return value
    return value.zh() if language == "zh" else value.en


def translate(text: Phrase) -> str:
    """Return a text in the language of the block `speaking`, in English outside of one."""
    return in_language(text, _LANGUAGE.get())


def say(form: str, /, **values: object) -> str:
    """Return a fixed text in the language of the block `speaking`, in English outside of one."""
    return translate(said(form, **values))


def language_of(tag: str) -> str:
    """Return the language of a tag or of a locale: `zh` for `zh-CN` and `zh_CN.UTF-8`."""
    return re.split("[-_.]", tag)[0].lower()


def usual_language(environment: Mapping[str, str]) -> str:
    """Return the one of `LANGUAGES` that the locale of an environment names, or the default."""
    locale = next((own for name in BY_LOCALE if (own := environment.get(name))), "")
    return own if (own := language_of(locale)) in LANGUAGES else LANGUAGES[0]


@contextmanager
def speaking(language: str | None = None) -> Iterator[None]:
    """Let `say` and `translate` return texts in one of `LANGUAGES` inside the block.

    By default it is the language of the locale.
    """
    token = _LANGUAGE.set(language or usual_language(os.environ))
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
