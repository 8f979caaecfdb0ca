"""The words that a file may hold: all that attnexp has, and nothing by which code is named."""

import pytest
from conftest import CONF, ROOT

from attnexp.config.documents import read_document
from attnexp.config.groups import choices, top_level
from attnexp.config.plain_words import require_plain
from attnexp.core.errors import RequestError
from attnexp.runs.settings import GROUPS, leaves

CHOICES = {group: choices(group) for group in GROUPS if group != "tracker"}
"""The choices of each group but the one whose classes write elsewhere."""

SETTINGS = {
    f"{group}.{path}": value
    for group, each in CHOICES.items()
    if group != "experiment"
    for choice in each
    for path, value in leaves(read_document(choice.path, dict))
    if path.partition(".")[0] not in ("_target_", "defaults") and "${" not in str(value)
}
"""Every setting of every choice, with its value there unless that is an interpolation."""


def refused(word):
    """Whether a word is refused."""
    try:
        require_plain(word, "a.json")
    except RequestError:
        return True
    return False


def test_a_refusal_names_the_file_and_the_word():
    with pytest.raises(
        RequestError, match=r"a\.json: '\+model\.a=1' is refused: a file may choose"
    ):
        require_plain("+model.a=1", "a.json")


def test_every_choice_and_every_plain_setting_is_taken():
    assert len(CHOICES) == len(GROUPS) - 1
    words = [f"{group}={choice.name}" for group, each in CHOICES.items() for choice in each]
    words += [f"{name}={value}" for name, value in {**top_level(), **SETTINGS}.items()]
    assert len(words) > 200
    assert [word for word in words if refused(word)] == []


@pytest.mark.parametrize(
    "word",
    [
        "model=mine",
        "model=dot,cosine",
        "model=glob(gaussian*)",
        "data.test_items=[16,64]",
        "model.width=0.1,0.2",
        "seed=range(1,7)",
        "normalizer.bias=null,0",
        "data.path='a: b, c.txt'",
        "data.path=../mine.csv",
        "model.table={a: 1}",
    ],
)
def test_values_of_several_forms_are_taken(word):
    assert not refused(word)


def test_every_setting_is_refused_with_a_sign_a_target_or_an_interpolation():
    words = [f"{name}=x" for name in (*GROUPS, *top_level(), *SETTINGS)]
    crafted = [
        *(f"{sign}{word}" for word in words for sign in ("+", "++", "~")),
        *(f"~{word.partition('=')[0]}" for word in words),
        *(
            f"{group}.{key}=evil.S"
            for group in GROUPS
            for key in ("_target_", "a._target_", "_args_")
        ),
        *(f"{word}${{oc.env:HOME}}" for word in words),
        *(f"{word.removesuffix('x')}{{_target_: evil.S}}" for word in words),
        *(word.removesuffix("=x") for word in words),
        *(
            f"{group}={place}"
            for group in GROUPS
            for place in ("../x", "/x", "a/../../x", "pkg://evil/x")
        ),
        *(f"{group}@model=x" for group in GROUPS),
    ]
    assert [word for word in crafted if not refused(word)] == []


def of_hydra():
    """Every setting and every group of Hydra's that attnexp has a value or a file for."""
    yield from (
        f"hydra.{path}" for path, _ in leaves(read_document(CONF / "config.yaml", dict)["hydra"])
    )
    for path in sorted((CONF / "hydra").rglob("*.yaml")):
        group = path.parent.relative_to(CONF)
        yield f"{group}={path.stem}"
        yield from (
            f"{str(group).replace('/', '.')}.{name}=1" for name in read_document(path, dict)
        )


def test_all_of_hydra_and_of_trackers_is_refused():
    named = [f"{word.partition('=')[0]}=x" for word in of_hydra()]
    assert len(named) > 10
    named += [f"tracker={choice.name}" for choice in choices("tracker")]
    named += ["tracker.project=x", "hydra.searchpath=[pkg://evil]", "hydra=x", "callbacks.x=y"]
    assert [word for word in named if not refused(word)] == []


@pytest.mark.parametrize(
    "word",
    [
        "",
        "=",
        "=x",
        "--config-dir=evil",
        "-m",
        "a b=c",
        "model.=x",
        ".model=x",
        "model..width=x",
        "model[_target_]=evil.S",
        "model.width\n=1",
        "mod\u00e9l=x",
        "model.width=$\\{oc.env\\:HOME\\}",
        "model.inner={_targ\\et_: evil.S}",
        'model.inner={"_target_": evil.S}',
        "model=$\\{a\\}",
        "seed=" + "${now:}" * 200,
        "nothing=1",
    ],
)
def test_other_forms_are_refused(word):
    assert refused(word)


def test_no_shipped_file_of_words_is_refused():
    trials = [read_document(choice.path, dict) for choice in choices("trial")]
    levels = [trial.get(level) or {} for trial in trials for level in ("quick", "default", "full")]
    words = [word for each in [*trials, *levels] for word in each.get("words", [])]
    claims = [read_document(path, dict) for path in (ROOT / "conf" / "claim").rglob("claim.yaml")]
    words += [word for claim in claims for sweep in claim.get("sweeps", []) for word in sweep]
    assert len(words) > 100
    assert [word for word in words if refused(word)] == []
