"""The decision that the words of a claim.yaml name."""

from collections.abc import Mapping
from typing import Any

from attnexp.claims.all_of import AllOf
from attnexp.claims.bounded import Bounded
from attnexp.claims.decision import Decision
from attnexp.claims.direction import Direction
from attnexp.claims.escaped import Escaped
from attnexp.claims.own import PREFIX, Own
from attnexp.config.schema import check_settings, check_type
from attnexp.core.errors import RequestError, choices_text, message, none_of

IS = "is"
"""The key whose value names a decision, or a function that computes points."""

DECISIONS: dict[str, type[Decision]] = {
    "all_of": AllOf,
    "bounded": Bounded,
    "direction": Direction,
    "escaped": Escaped,
}
"""The decisions that all claims may name."""

CHOICES = (*DECISIONS, f"{PREFIX}CLASS")


def made(decides: Mapping[str, Any], own: Own, path: str = "decides") -> Decision:
    """Return the decision that settings name by `is`, with its arguments.

    It is one of DECISIONS, or a class of the claim's own.py. Raises RequestError for another word,
    and for arguments that do not fit.
    """
    if IS not in decides:
        raise RequestError(f"{path} has no '{IS}', the name of a decision: {choices_text(CHOICES)}")
    word = str(decides[IS])
    if word.startswith(PREFIX):
        found = own.decision(word.removeprefix(PREFIX), path)
    elif word in DECISIONS:
        found = DECISIONS[word]
    else:
        raise RequestError(f"{path}: {none_of(word, CHOICES)}")
    arguments = {name: value for name, value in decides.items() if name != IS}
    check_settings(arguments, found, path)
    if found is AllOf:
        parts = {f"{path}.parts[{n}]": part for n, part in enumerate(arguments["parts"])}
        for place, part in parts.items():
            check_type(part, dict[str, Any], place)
        arguments["parts"] = [made(part, own, place) for place, part in parts.items()]
    try:
        return found(**arguments)
    except RequestError:
        raise
    except (Exception, SystemExit) as error:  # a decision of one's own may raise anything
        raise RequestError(f"{path}: {word} refuses its arguments: {message(error)}") from error


def names_own(decides: Any) -> bool:
    """Return whether a decision, or a part of it, is a class of the claim's own.py."""
    if isinstance(decides, Mapping):
        return str(decides.get(IS)).startswith(PREFIX) or any(map(names_own, decides.values()))
    return isinstance(decides, list) and any(map(names_own, decides))
