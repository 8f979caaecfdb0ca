"""The parser of a verb: from the signature and the docstring of its function."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from attnexp.cli.parser import Argument, Arguments, parser_of, run_verb
from attnexp.cli.verbs import VERBS
from attnexp.core.errors import RequestError

Whole = Annotated[int, Argument(type=int, metavar="N")]


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a box.

    Args:
        width (CM): from left to right
    """

    width: Whole = 3
    height: Whole | None = None


def pack(
    what: str,
    others: Sequence[str] = (),
    *,
    size: Size,
    form: Literal["box", "bag"] = "box",
    into: Path | None = None,
    by_hand: Annotated[bool, Argument(option="--hand")] = False,
    labels: Annotated[Sequence[str], Argument("a label", action="append")] = (),
) -> None:
    """Pack things.

    Not part of the help.

    Args:
        what (THING): the first thing,
            which is named
        into: where
    """


def parsed(*words: str) -> dict[str, Any]:
    parser = Arguments("pack", "", "")
    parser.add_parameters(pack)
    return {**vars(parser.parse(words)), "function": None}


def test_arguments_are_those_of_the_signature():
    usual: dict[str, Any] = {"others": [], "width": 3, "height": None, "form": "box", "into": None}
    usual |= {"by_hand": False, "labels": [], "function": None}
    assert parsed("a") == {"what": "a", **usual}
    given = ["a", "b", "--height", "4", "c", "--hand", "--form=bag", "--into", "d", "--labels", "e"]
    changed = {"others": ["b", "c"], "height": 4, "by_hand": True, "form": "bag"}
    assert parsed(*given) == {"what": "a", **usual, **changed, "into": Path("d"), "labels": ["e"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "the following arguments are required: THING"),
        (("a", "--form", "sack"), "--form 'sack' is not a choice: choose bag or box"),
        (("a", "--width", "x"), "argument --width: invalid int value: 'x'"),
        (("a", "--by-hand"), "unrecognized arguments: --by-hand"),
        (("a", "--heigth", "3"), "Did you mean '--height' or '--width'?"),
    ],
)
def test_what_does_not_fit_is_refused(words, sentence):
    with pytest.raises(RequestError) as refused:
        parsed(*words)
    assert sentence in str(refused.value)


def test_numbers_and_repeated_words_follow_from_the_type():
    def main(
        number: int = 1, *, share: float = 0.5, names: Sequence[str] = (), most: int | None = None
    ) -> None:
        """Count."""

    parser = Arguments("count", "", "")
    parser.add_parameters(main)
    found = parser.parse(["3", "--share", "0.25", "--names", "a", "--names", "b", "--most", "4"])
    assert (found.number, found.share, found.names, found.most) == (3, 0.25, ["a", "b"], 4)
    assert parser.parse([]).names == []
    with pytest.raises(RequestError, match="argument --share: invalid float value: 'x'"):
        parser.parse(["--share", "x"])


def test_an_option_is_false_by_default():
    def main(*, loud: bool = True) -> None:
        """Speak."""

    with pytest.raises(TypeError, match="loud: an option that is true or false is false"):
        Arguments("speak", "", "").add_parameters(main)


def test_help_is_that_of_the_docstring():
    parser = Arguments("pack", "", "")
    parser.add_parameters(pack)
    shown = " ".join(parser.format_help().split())
    assert "THING the first thing, which is named" in shown
    assert "--width CM from left to right" in shown
    assert "--height N --form {box,bag} --into FILE where --hand" in shown
    assert "--labels NAME a label" in shown


def test_a_verb_is_called_with_what_is_parsed(monkeypatch, capsys):
    seen = []

    def main(what: str, *, size: Size) -> None:
        """Pack.

        Args:
            what: a thing
        """
        seen.append((what, size))

    monkeypatch.setattr("attnexp.cli.docs.main", main)
    run_verb("docs", ["a", "--width", "5"])
    assert seen == [("a", Size(width=5))]


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_has_help_or_choices(verb):
    actions = parser_of(verb)._actions
    assert [action.dest for action in actions if not (action.help or action.choices)] == []
