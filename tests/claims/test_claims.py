"""Claims as files: those that are shipped, and bad ones."""

import re
from datetime import date

import pytest
import yaml
from conftest import ROOT

from attnexp.claims.card import UNREAD, Entry, card
from attnexp.claims.claim import names, question, read_claim
from attnexp.claims.evidence import Evidence
from attnexp.errors import RequestError

NAMES = names()


@pytest.mark.parametrize("name", NAMES)
def test_each_claim_says_what_it_has_to(name):
    claim = read_claim(name)
    claim.decision()
    assert question(name).endswith("?")
    assert date.fromisoformat(claim.prediction.date) >= date(2026, 11, 23)
    assert claim.seeds >= 2
    assert claim.minutes > 0
    verdict = claim.verdict(Evidence())
    assert verdict.word == "not run"
    heads = [head for head, _ in card(Entry(name, claim, verdict))]
    assert [head for head in heads if head != "known fault"][:6] == [
        "claim",
        "source",
        "printed",
        "there",
        "here",
        "predicted",
    ]
    printed = dict(card(Entry(name, claim, verdict)))["printed"]
    assert (UNREAD in printed) == (not claim.source.read)


def test_the_page_has_each_claim_as_its_file_has_it():
    page = (ROOT / "docs" / "claims.md").read_text()
    found = re.findall(r"^\| `(\w+)`[^|]*\| ([^|]*) \|.*\| (\d+) \| [\d.]+ \|$", page, re.MULTILINE)
    assert sorted(name for name, *_ in found) == sorted(NAMES)
    for name, verdict, seeds in found:
        claim = read_claim(name)
        assert ("changed after" in verdict) == bool(claim.amended), name
        assert ("carry over" in verdict or "carries over" in verdict) == (not claim.same_task)
        assert int(seeds) == claim.seeds, name


@pytest.mark.parametrize("name", NAMES)
def test_seeds_that_chose_the_sizes_do_not_decide(name):
    claim = read_claim(name)
    chosen = re.search(r"izes were chosen by .*?(?:seeds? 0(?: and (\d+))?)", claim.changed)
    assert ("izes were chosen" in claim.changed) == (chosen is not None)
    if chosen is not None:
        assert claim.first_seed > int(chosen[1] or 0)


@pytest.fixture
def own(tmp_path):
    """Writes a claim of one's own, with some fields changed, and returns its configuration."""

    def write(**changes):
        content = yaml.safe_load((yaml_of("learned_width_is_cross_validation")).read_text())
        content |= changes
        folder = tmp_path / "my_conf" / "claim"
        folder.mkdir(parents=True)
        content = {name: value for name, value in content.items() if value is not None}
        (folder / "mine.yaml").write_text(f"# Is it so?\n{yaml.safe_dump(content)}")
        return tmp_path / "my_conf"

    return write


def yaml_of(name):
    from attnexp.config.groups import conf_dir

    return conf_dir() / "claim" / f"{name}.yaml"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"decides": None}, "missing required field `decides`"),
        ({"prediction": None}, "missing required field `prediction`"),
        ({"seeds": "ten"}, "Expected `int`, got `str` - at `\\$.seeds`"),
        ({"verdict": "true"}, "contains unknown field `verdict`"),
        ({"decides": {"metric": "x"}}, "decides has no _target_"),
        (
            {"decides": {"_target_": "attnexp.claims.bounded.Gone"}},
            "decides._target_: 'attnexp.claims.bounded.Gone' is not a choice. Did you mean ",
        ),
        (
            {"decides": {"_target_": "attnexp.claims.bounded.Bounded", "number": "loo_mse"}},
            "decides: Bounded refuses its arguments: give at_most or at_least",
        ),
        (
            {"decides": {"_target_": "attnexp.claims.bounded.Bounded", "numbr": "loo_mse"}},
            "There is no setting 'numbr' in 'decides'. Did you mean 'number'",
        ),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"first_seed": -1}, "first_seed must be at least 0, got -1"),
        ({"looks": 0}, "looks must be at least 1, got 0"),
        ({"sweeps": [["--config-dir=x", "model=dot"]]}, "takes settings .* got '--config-dir=x'"),
        ({"decides": {"_target_": "collections.Counter"}}, "is not a subclass of Decision"),
        ({"prediction": {"date": "2030-01-01", "says": "x"}}, "2030-01-01, is in the future"),
        ({"prediction": {"date": "soon", "says": "x"}}, "must be a date .* got 'soon'"),
    ],
)
def test_a_file_that_is_not_a_claim_is_refused(own, changes, sentence):
    folder = own(**changes)
    with pytest.raises(RequestError, match=sentence):
        read_claim("mine", folder).decision()


def test_the_example_of_the_documents_is_a_claim(tmp_path):
    (example,) = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "claims.md").read_text(), re.DOTALL
    )
    (tmp_path / "claim").mkdir()
    (tmp_path / "claim" / "mine.yaml").write_text(example)
    assert read_claim("mine", tmp_path).decision()
    assert question("mine", tmp_path).endswith("?")


def test_an_unknown_claim_is_refused_with_the_choices():
    with pytest.raises(
        RequestError, match=r"claim 'nw_rat' is not a choice. Did you mean 'nw_rate'"
    ):
        read_claim("nw_rat")
