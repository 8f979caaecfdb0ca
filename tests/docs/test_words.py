"""Ten phrases that PyTorch's manual would not write, in docstrings, sentences and documents."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

UNITS = (
    "cell configuration epoch exercise file folder format function group head job layer line "
    "machine model page pair parameter point process query replica row run score seed sequence "
    "step symbol tensor verb"
).replace(" ", "|")
COUNTS = "an?|one|two|three|four|eight|[0-9][0-9,]*"
NOT_COUNTED = (  # these follow a number without being counted, or are a rate in seconds
    "and as at by for from has if in is are of on or such than that thread to was when where "
    "while with CPU GPU ns us ms s microseconds seconds minutes"
).replace(" ", "|")

PHRASES = {
    "is no (write: is not)": (
        r"(?<!there )(?<!There )\b(?:is|are) no "
        r"(?!longer|more|less|fewer|better|worse|larger|smaller|slower|faster)\w"
    ),
    "so many (write which number)": r"\bso many\b",
    "letters (write: characters)": r"\b[Ll]etters?\b",
    "what is X as a noun (name it)": (
        r"(?:^|[.:] )What (?:is|are) (?![^.?]*\?|\w+ is\b)"
        r"|\b(?:for|of|to|than|with|Returns?|Yields?) what (?:is (?!wrong)|are)\b"
        r"|\bwhat is (?:no|not|to be|left to)\b"
    ),
    "were it (write: if it were)": r"\b[Ww]ere it\b",
    "beside (write: next to, compared with, in addition to)": r"\b[Bb]eside\b",
    "stands (write: is, is written)": (
        r"(?<!as it )\b(?:[Ss]tands?|stood)\b(?! for\b| out\b| still\b|-in)"
    ),
    "a file for each file (write: per file)": (
        rf"\b(?:{COUNTS}) (?!(?:{NOT_COUNTED})\b)\w+ an? (?:{UNITS})\b"
    ),
    "the wish (write: the request)": r"\bthe wish\b",
    "room (write: memory, space)": r"\b[Rr]ooms?\b",
}

CONDITION = (
    r"\b(?:Raises? [^.]*?|[Nn]one|[Ee]mpty|[Nn]othing|infinite|text),? where\b"
    r"|(?:^|[.:;] )Where [^.:;]*?, "
    r"|(?<!true )(?<!zero )(?<![01] )(?<!NaN )(?<!\bsays )(?<!\bsay )(?<!\bfrom )"
    r"(?<!stay )(?<!stays )(?<!places )(?<!place )(?<!Return )\bwhere "
    r"(?:(?:it|they|there|that|this|one|none|no|both|all|nothing|neither|each|every|an?|the|its"
    r"|several|another)\b|\w+ (?:is|are|has|have|cannot)\b)"
)
IDIOMS = {
    "where, for a condition (write: if)": (5, CONDITION),
    "a clause with what (write a noun)": (
        0,
        r"\b(?:Returns?|Yields?|Reads?|Writes?|Holds?|Adds?) what\b"
        r"|(?:^|[.:] )What (?![^.]*\?)"
        r"|\bwhat (?!(?:is|was) wrong)[^.,;:()?]*(?=\.(?: |$)|$)",
    ),
}
"""The sentences of docstrings that may still have an idiom. These numbers may only fall."""

SPELLING = {
    "attnexp/data/pronunciations.py",
    "attnexp/core/writing.py",
    "conf/data/g2p.yaml",
    "docs/course/bahdanau.md",
    "docs/data.md",
}
"""Files about words that are spelled: these have letters."""


def texts(path: Path) -> Iterator[str]:
    """Yield each docstring and each string of several words of a module, or the whole document."""
    if path.suffix != ".py":
        yield re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


@cache
def sentences(path: Path) -> list[str]:
    """Return the paragraphs of a file, each as one line without code in backticks."""
    paragraphs = (part for text in texts(path) for part in re.split(r"\n\s*\n|\n(?=[|#-])", text))
    return [re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "CODE", part)).strip() for part in paragraphs]


def found(pattern: str, path: Path) -> Iterator[str]:
    """Yield each place where a phrase occurs, with some words around it."""
    for sentence in sentences(path):
        for match in re.finditer(pattern, sentence):
            around = sentence[max(0, match.start() - 40) : match.end() + 40]
            yield f"{path.relative_to(ROOT)}: ...{around}..."


def docstrings() -> Iterator[str]:
    """Yield each docstring of the package, also of names, as one line without code in backticks."""
    for path in sorted(ROOT.glob("attnexp/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                text = re.sub(r"`[^`]*`", "CODE", str(node.value.value))
                yield re.sub(r"\s+", " ", text).strip()


FILES = sorted(
    [
        *ROOT.glob("attnexp/**/*.py"),
        *ROOT.glob("hydra_plugins/**/*.py"),
        *ROOT.glob("conf/**/*.yaml"),
        *ROOT.glob("conf/**/*.py"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*.md"),
    ]
)


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_nowhere(phrase):
    spared = SPELLING if phrase.startswith("letters") else set()
    files = [path for path in FILES if str(path.relative_to(ROOT)) not in spared]
    assert [place for path in files for place in found(PHRASES[phrase], path)] == []


@pytest.mark.parametrize("idiom", IDIOMS)
def test_an_idiom_becomes_rarer(idiom):
    most, pattern = IDIOMS[idiom]
    places = [match.group() for text in docstrings() for match in re.finditer(pattern, text)]
    assert len(places) <= most, f"{idiom}: {places}"
    assert len(places) == most, f"lower this number: {idiom} occurs {len(places)} times"


@pytest.mark.parametrize(
    ("idiom", "counted", "fine"),
    [
        ("where", "Raises ValueError where it is odd.", "The log says where it is."),
        ("where", "Return the key, None where no file is.", "The mask is true where it attends."),
        ("where", "Where there is one, it is read.", "Where a run comes from: its code."),
        ("a clause", "Return what a model answers to a batch.", "Return the answers of a model."),
        ("a clause", "It says what it does.", "It says what is wrong."),
    ],
)
def test_an_idiom_is_told_from_its_neighbours(idiom, counted, fine):
    (pattern,) = (each for name, (_, each) in IDIOMS.items() if name.startswith(idiom))
    assert re.search(pattern, counted)
    assert not re.search(pattern, fine)


@pytest.mark.parametrize(
    ("phrase", "banned", "fine"),
    [
        ("is no", "data=sine is no sequence data", "there is no GPU; it is no longer there"),
        ("letters", "at most 300 letters", "at most 300 characters"),
        ("what is X", "What is not forked yet is hardly waited for.", "says what is wrong"),
        ("stands", "its name stands in the first line", "None stands for all; as it stands"),
        ("a file", "one verb a file", "1,000 tokens a second; one is a file"),
    ],
)
def test_a_phrase_is_told_from_its_neighbours(phrase, banned, fine):
    (pattern,) = (each for name, each in PHRASES.items() if name.startswith(phrase))
    assert re.search(pattern, banned)
    assert not re.search(pattern, fine)
