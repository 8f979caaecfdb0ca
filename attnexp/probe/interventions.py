"""Interventions by name: a law, and the heads whose weights it replaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnexp.errors import RequestError, none_of
from attnexp.probe import laws
from attnexp.probe.laws import Law
from attnexp.probe.rewriting import Site
from attnexp.runs.interventions import ADVERSARIAL

PERMUTATIONS = 100
"""Repetitions of a law that draws: one permutation is noise."""

RUNGS = (0.25, 0.5, 0.75, 1.0)
"""The shares of the law at which `interpolate` measures."""

ON_HEADS: Mapping[str, Law] = {
    "uniform": laws.uniform,
    "gold": laws.gold,
    "hard": laws.hard,
    "shuffled": laws.shuffled,
    "random": laws.random,
    "zero": laws.zero,
}
"""The laws that may name heads, by their names."""

DRAWN = ("shuffled", "random")
"""The laws that draw."""

UNIT = "unit_"
"""The prefix of a law whose rows sum to 1."""

COUNTED = {"topk": laws.topk, "without_topk": laws.without_topk}
"""The laws with a number of keys."""


@dataclass(frozen=True)
class Intervention:
    """A law, and the heads whose weights it replaces.

    `part` is the name of an attention; `layer` and `head` count from 0, and None is all of them.
    A law that draws is applied in several `repetitions`, whose results are averaged. A rung of a
    `ladder` knows its name, and which `share` of the law it takes; the last one takes all.
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
        """Whether it leaves nothing of one head alone."""
        return self.law is laws.zero and self.head is not None and self.layer is not None

    @property
    def needs_gold(self) -> bool:
        """Whether its law asks for the gold key of each query."""
        return "gold" in self.name

    def at(self, site: Site) -> bool:
        """Return whether it replaces weights of an attention."""
        return site.part == self.part and self.layer in (None, site.layer)


def known() -> list[str]:
    """Return the forms of a name."""
    unit = [f"{UNIT}{name}" for name in ON_HEADS if name not in ("zero", "shuffled")]
    return [
        *ON_HEADS,
        *unit,
        *(f"{name}=K" for name in COUNTED),
        "interpolate=NAME:0..1",
        ADVERSARIAL,
    ]


def is_intervention(word: str) -> bool:
    """Return whether a word of the command line names an intervention, and not a folder."""
    name = word.partition("=")[0]
    return name in {form.partition("=")[0] for form in known()} or "=" in word


def named(word: str, heads: Mapping[str, Sequence[int]], main: str) -> list[Intervention]:
    """Return the interventions that a word names, several for a ladder.

    `heads` has the number of heads of each layer of each part, and `main` is the part that is meant
    where the word names none. Raises RequestError for a word that names none.
    """
    name, separated, rest = word.partition("=")
    if name in COUNTED:
        if not rest.isdecimal() or int(rest) < 1:
            raise RequestError(f"{word}: {name} takes a number of keys from 1 on, as {name}=2")
        return [Intervention(word, COUNTED[name](int(rest)), main)]
    if name == "interpolate":
        target, _, ends = rest.partition(":")
        if ends != "0..1":
            raise RequestError(f"{word} is not of the form interpolate=NAME:0..1")
        law, number = _law(target), _repetitions(target)
        return [
            Intervention(
                f"{name}={target}:{share:g}",
                laws.interpolate(law, share),
                main,
                repetitions=number,
                ladder=word,
                share=share,
            )
            for share in RUNGS
        ]
    law, number = _law(name), _repetitions(name)
    if not separated:
        return [Intervention(word, law, main, repetitions=number)]
    return [Intervention(word, law, *_heads(word, rest, heads), number)]


def usual(
    heads: Mapping[str, Sequence[int]], main: str, has_gold: bool, sums_to_one: bool
) -> list[str]:
    """Return the names of the interventions that are made where none is named.

    They replace the main map, where its rows do not sum to 1 in both ways, and then take out each
    head, and all heads of a part together.
    """
    names = ["uniform", *(["gold"] if has_gold else []), "hard"]
    names += [] if sums_to_one else [f"{UNIT}{name}" for name in names]
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


def _law(name: str) -> Law:
    """Return the law of a name. Raises RequestError for a name that is none."""
    bare = name.removeprefix(UNIT)
    if bare not in ON_HEADS or (bare != name and bare in ("zero", "shuffled")):
        raise RequestError(f"{none_of(name, known())}")
    return ON_HEADS[bare] if bare == name else laws.unit(ON_HEADS[bare])


def _repetitions(name: str) -> int:
    return PERMUTATIONS if name.removeprefix(UNIT) in DRAWN else 1


def _heads(
    word: str, text: str, heads: Mapping[str, Sequence[int]]
) -> tuple[str, int | None, int | None]:
    """Return part, layer and head of `PART`, `PART.LAYER` or `PART.LAYER.HEAD`, from 1, or `*`."""
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
