"""Interventions by name: a law, and the heads whose weights it replaces."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from attnexp.core.errors import RequestError, none_of
from attnexp.probe.laws.base import Law
from attnexp.probe.laws.interpolate import Interpolate
from attnexp.probe.laws.unit import Unit
from attnexp.probe.laws.zero import Zero
from attnexp.probe.rewriting import Site
from attnexp.runs.probed import ADVERSARIAL

PERMUTATIONS = 100
"""How often a law that draws is applied: a single draw is noise."""

RUNGS = (0.25, 0.5, 0.75, 1.0)
"""The shares of a law at which `interpolate` applies it."""

UNIT = "unit_"
"""The prefix of the name of a law whose rows are made to sum to 1."""

LADDER = "interpolate"
"""The name of a ladder from the learned weights to a law."""


@dataclass(frozen=True)
class NamedLaw:
    """A law by its name on the command line.

    `make` returns the law. Its input is the text of the `argument` in a word such as `topk=2`, None
    for a law without an argument. `make` raises RequestError for a text that does not fit.
    """

    name: str
    argument: str | None
    make: Callable[[str | None], Law]

    @property
    def form(self) -> str:
        """The form of a word for the law, such as `topk=COUNT`."""
        return self.name if self.argument is None else f"{self.name}={self.argument.upper()}"


Laws = Mapping[str, NamedLaw]


@dataclass(frozen=True)
class Intervention:
    """A law, and the heads whose weights it replaces.

    `part` is the name of an attention. `layer` and `head` count from 0; None stands for all of
    them. A law that draws is applied `repetitions` times, and the results are averaged. A rung of a
    ladder has the name of its `ladder`, and takes the `share` of the law; the last rung takes all.
    """

    name: str
    law: Law
    part: str
    layer: int | None = None
    head: int | None = None
    repetitions: int = 1
    ladder: str | None = None
    share: float = 1.0

    @property
    def takes_out_a_head(self) -> bool:
        """Whether the intervention sets all weights of one head to 0, and no others."""
        return isinstance(self.law, Zero) and self.head is not None and self.layer is not None

    def at(self, site: Site) -> bool:
        """Return whether the intervention replaces weights of this attention."""
        return site.part == self.part and self.layer in (None, site.layer)


def forms(laws: Laws) -> list[str]:
    """Return the forms that a word for an intervention may have."""
    own = [law.form for law in laws.values()]
    return [*own, f"{UNIT}NAME", f"{LADDER}=NAME:0..1", ADVERSARIAL]


def is_intervention(word: str, laws: Laws) -> bool:
    """Return whether a word of the command line names an intervention, and not a folder."""
    return "=" in word or word == ADVERSARIAL or word.removeprefix(UNIT) in laws


def named(
    word: str, laws: Laws, heads: Mapping[str, Sequence[int]], main: str
) -> list[Intervention]:
    """Return the interventions that a word names: several for a ladder.

    `heads` has the number of heads of each layer of each part. `main` is the part that is meant if
    the word names no part.

    Raises RequestError for a word that names no intervention.
    """
    name, separated, rest = word.partition("=")
    if name == ADVERSARIAL:
        raise RequestError(f"{word}: {ADVERSARIAL} takes no value")
    if name == LADDER:
        target, _, ends = rest.partition(":")
        if ends != "0..1":
            raise RequestError(f"{word} is not of the form {LADDER}=NAME:0..1")
        law = _law(target, laws)
        return [
            Intervention(
                f"{name}={target}:{share:g}",
                Interpolate(law, share),
                main,
                repetitions=_repetitions(law),
                ladder=word,
                share=share,
            )
            for share in RUNGS
        ]
    if name in laws and laws[name].argument is not None:
        law = laws[name].make(rest)
        return [Intervention(word, law, main, repetitions=_repetitions(law))]
    law = _law(name, laws)
    place = _heads(word, rest, heads) if separated else (main, None, None)
    return [Intervention(word, law, *place, _repetitions(law))]


def usual(
    heads: Mapping[str, Sequence[int]],
    main: str,
    has_gold: bool,
    sums_to_one: bool,
    signed: bool = False,
) -> list[str]:
    """Return the names of the interventions that are made by default.

    First come laws that replace the weights of `main`, with and without `unit_` if its rows do not
    sum to 1. Then all heads of each part are taken out together, and each head alone. If weights
    are signed, laws that give the sum of a row to some keys are left out.
    """
    names = ["uniform", *(["gold"] if has_gold else []), "hard"]
    names += [] if sums_to_one else [f"{UNIT}{name}" for name in names]
    names = ["uniform", "topk=1", "without_topk=1"] if signed else names
    names.append("shuffled")
    for part, layers in heads.items():
        names.append(f"zero={part}")
        if sum(layers) > 1:
            names += [
                f"zero={part}.{layer}.{head}"
                for layer, number in enumerate(layers, start=1)
                for head in range(1, number + 1)
            ]
    return names


def _law(name: str, laws: Laws) -> Law:
    """Return the law of a name, which may begin with `unit_`.

    Raises RequestError for a name without a law.
    """
    bare = name.removeprefix(UNIT)
    if bare not in laws:
        raise RequestError(none_of(name, forms(laws)))
    law = laws[bare].make(None)
    if bare == name:
        return law
    if not law.has_unit:
        raise RequestError(none_of(name, forms(laws)))
    return Unit(law)


def _repetitions(law: Law) -> int:
    return PERMUTATIONS if law.draws else 1


def _heads(
    word: str, text: str, heads: Mapping[str, Sequence[int]]
) -> tuple[str, int | None, int | None]:
    """Return the part, the layer and the head that a word names: None for `*` or nothing.

    `text` is `PART`, `PART.LAYER` or `PART.LAYER.HEAD`.

    Layers and heads count from 1 in the text, and from 0 in the result.

    Raises RequestError for a text of another form, and for a part, layer or head that is not there.
    """
    part, *places = text.split(".")
    if part not in heads:
        raise RequestError(f"{word}: {none_of(part, list(heads))}")
    if len(places) > 2 or not all(place == "*" or place.isdecimal() for place in places):
        raise RequestError(
            f"{word} is not of the form NAME=PART.LAYER.HEAD, such as zero=cross.1.2"
        )
    layer, head = (None if place == "*" else int(place) - 1 for place in [*places, "*", "*"][:2])
    layers = heads[part]
    if layer is not None and not 0 <= layer < len(layers):
        raise RequestError(f"{word}: {part} has {len(layers)} layers, counted from 1")
    most = max(layers) if layer is None else layers[layer]
    if head is not None and not 0 <= head < most:
        raise RequestError(f"{word}: {part} has {most} heads in a layer, counted from 1")
    return part, layer, head
