"""The errors that a user can mend, and the parts of their sentences."""

import errno
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches

from attnexp.core.synonyms import nearly_synonymous, synonyms

LONGEST = 280
"""Characters of an error message."""

LONG_WORD = 50
"""Characters that stay of a long word in a message that is too long."""

MOST_CHOICES = 30
"""Names that a list of choices has; the others are counted."""

CUT = 10
"""Names from which a list of choices in a message is cut to the nearest ones."""

MOST_NEAR = 3
"""Similar names that are suggested."""

LIST = re.compile(
    rf"(?<!\S)[^\s,]{{1,{LONG_WORD}}}(?:, [^\s,]{{1,{LONG_WORD}}}){{2,}}(?: (?:or|and) \S+)?"
)
"""Three names or more, as `choices_text` lists them."""

HELD = "\ue000\ue001"
"""Placeholders for lists while a sentence is shortened."""


class RequestError(Exception):
    """The request cannot be carried out. The text is for the user; exit code 2."""


class RunFailedError(Exception):
    """A run began and did not end well. The text is for the user; exit code 1."""


class MachineError(RunFailedError):
    """The machine has no process or no room on its disk for a run, whatever its settings are."""


class CommandEnded(SystemExit):
    """A part of attnexp ends the command with this code, and has said why.

    Any other SystemExit is of code of the user's.
    """


class OutputClosedError(KeyboardInterrupt):
    """The reader of standard output has gone, as in `attnexp | head`: work ends as at Ctrl-C."""


FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "no file may grow that large",
}
"""Sentences for the system's errors about a full disk."""


SHORT = {
    r"^(\w+\.)*(OutOf)?MemoryError\b|an(no|')t allocate memory|failed to map segment": (
        "memory has run out: end other programs, or raise the limit of ulimit -v"
    ),
    r"Too many open files": "too many files are open: raise the limit of ulimit -n",
    r"can't start new thread": "no further thread starts: raise the limits of ulimit -u and -v",
}
"""Sentences for the errors about what a machine or a limit has too little of, by their texts."""


def shortage(text: str) -> str:
    """Return what there is too little of, or nothing for another error.

    `text` is the last line of a traceback: the type of an error and its message.
    """
    return next((short for what, short in SHORT.items() if re.search(what, text)), "")


def message(error: BaseException) -> str:
    """Return the message of an error that code of the user's has raised."""
    if isinstance(error, SystemExit):
        return f"sys.exit({error.code!r}) was called"
    return str(error)


def with_type(error: BaseException) -> str:
    """Return the type and the text of an error."""
    return f"{type(error).__name__}: {error}"


@contextmanager
def any_error_as(
    what: str,
    reason: Callable[[BaseException], str] = message,
    but: type[Exception] | tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Make any error of a block a RequestError with `what` and the reason.

    Code of the user's and contents of files, which may raise anything, run in such a block. Errors
    of the types in `but` stay as they are.
    """
    try:
        yield
    except but:
        raise
    except (Exception, SystemExit) as error:
        raise RequestError(f"{what}: {reason(error)}") from error


def refusal(error: OSError) -> str:
    """Return why the system has refused to read or write, in words: `the disk is full`."""
    return FULL.get(error.errno or 0, error.strerror or str(error))


def is_full(error: str | None) -> bool:
    """Return whether the text of an error says that the disk is full."""
    return any(sentence in (error or "") for sentence in FULL.values())


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from, each once: they may name each other."""
    met: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in met:
        yield cause
        met.add(id(cause))
        cause = cause.__cause__ or cause.__context__


@contextmanager
def writable(option: str, path: object) -> Iterator[None]:
    """Make it a RequestError that a block cannot write a path that an option gives."""
    try:
        yield
    except OSError as error:
        raise RequestError(f"{option}: {path} cannot be written: {refusal(error)}") from error


def choices_text(names: Iterable[str]) -> str:
    """Return the sorted names as `a, b or c`, or `none` if there are none.

    Of more than `MOST_CHOICES` the others are counted, and so are names that are very long:
    `a, b, c and 12 more`.
    """
    every = sorted(names)
    listed = [name for name in every if len(name) <= LONG_WORD][:MOST_CHOICES]
    if len(listed) < len(every):
        return f"{', '.join(listed)} and {len(every) - len(listed)} more".removeprefix(" and ")
    *head, last = listed or ["none"]
    return f"{', '.join(head)} or {last}" if head else last


def choose(name: str, names: Iterable[str], command: str = "", nearest: str = "") -> str:
    """Return `choose a, b or c`, for a name that is none of these.

    Of more than `CUT` it has the nearest and the number of the others, and the command that lists
    all. If `nearest` has been said, the command alone is named.
    """
    every = list(dict.fromkeys(names))
    if len(every) <= CUT:
        return f"choose {choices_text(every)}"
    if nearest and command:
        return f"`{command}` lists all {len(every)}"
    near = sorted(every, key=lambda each: -SequenceMatcher(None, each, name[:LONG_WORD]).ratio())
    short = [each for each in near if len(each) <= LONG_WORD][:CUT]
    text = f"choose {', '.join(short)} and {len(every) - len(short)} more"
    return f"{text}, which `{command}` lists" if command else text


def nearest_text(name: str, names: Iterable[str]) -> str:
    """Return ` Did you mean 'x' or 'y'?` with the nearest names, or an empty text for none."""
    return suggestion(nearest_names(name, names))


def nearest_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that are synonyms of a name.

    If none is, these are up to three similar names, the most similar first, or those whose synonyms
    are similar.
    """
    known = list(dict.fromkeys(names))
    return (
        [word for word in synonyms(name) if word in known]
        or get_close_matches(name, known, n=MOST_NEAR, cutoff=0.6)
        or get_close_matches(name.lower(), known, n=MOST_NEAR, cutoff=0.6)
        or [word for word in nearly_synonymous(name) if word in known]
    )


def suggestion(names: Iterable[str]) -> str:
    """Return ` Did you mean 'x' or 'y'?` with the names in their order, or nothing for none."""
    *head, last = [f"'{name}'" for name in names] or [""]
    return f" Did you mean {', '.join(head)}{' or ' if head else ''}{last}?" if last else ""


def with_choices(problem: str, nearest: str, choices: str) -> str:
    """Return a problem, the nearest names as `nearest_text` has them, and then all choices.

    `choices` begins with a verb: `choose a, b or c`.
    """
    if nearest:
        return f"{problem}.{nearest} {choices[:1].upper()}{choices[1:]}."
    return f"{problem}: {choices}."


def none_of(name: str, names: Collection[str], command: str = "") -> str:
    """Return that a name is not among the choices, those that are similar, and others.

    `command` lists all of them.
    """
    nearest = nearest_text(name, names)
    problem = f"'{name}' is not a choice"
    return with_choices(problem, nearest, choose(name, names, command, nearest))


def first_line(error: str | None, unknown: str = "no reason is known") -> str:
    """Return the first line of an error, or of `unknown` without one."""
    return (error or unknown).strip().partition("\n")[0]


def shortened(text: str, most: int = LONGEST) -> str:
    """Return a sentence in which the middle is left out if it has more characters than that.

    Long words, such as paths, lose their beginning first. Words are left out whole. Lists of names
    as `choices_text` writes them stay whole, the first two of them, and do not count.
    """
    if len(text) <= most:
        return text
    names = (found[0] for found in LIST.finditer(text))
    lists = dict(
        zip(HELD, (each for each in names if each.count(",") <= MOST_CHOICES), strict=False)
    )
    for mark, listed in lists.items():
        text = text.replace(listed, mark, 1)
    text = " ".join(
        f"...{word[-LONG_WORD:]}" if len(word) > LONG_WORD else word for word in text.split(" ")
    )
    if len(text) > most:
        end = most * 2 // 5
        first, last = text[: most - end - 5], text[-end:]
        text = f"{first.rpartition(' ')[0] or first} ... {last.partition(' ')[2] or last}"
    for mark, listed in lists.items():
        text = text.replace(mark, listed, 1)
    return text


def shortened_value(text: str, most: int) -> str:
    """Return text of a user's in which the middle is left out if it has more characters."""
    end = most * 2 // 5
    return text if len(text) <= most else f"{text[: most - end - 5]} ... {text[-end:]}"
