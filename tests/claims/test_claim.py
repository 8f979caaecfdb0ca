"""Claims as files: those that are shipped, and bad ones."""

import re
from datetime import UTC, date, datetime, timedelta

import pytest
import yaml
from conftest import CONF, ROOT

from attnexp.claims.claim import read_claim
from attnexp.claims.claim_file import names, question
from attnexp.claims.evidence import Evidence
from attnexp.claims.record import UNREAD, Entry, record
from attnexp.core.errors import RequestError

NAMES = names()

USUAL_RATE = yaml.safe_load((CONF / "optim" / "adam.yaml").read_text())["lr"]


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
    heads = [head for head, _ in record(Entry(name, claim, verdict))]
    assert [head for head in heads if head != "known fault"][:6] == [
        "claim",
        "source",
        "printed",
        "there",
        "here",
        "predicted",
    ]
    printed = dict(record(Entry(name, claim, verdict)))["printed"]
    assert (UNREAD in printed) == (not claim.source.read)


def test_the_page_has_each_claim_as_its_file_has_it():
    page = (ROOT / "docs" / "claims.md").read_text()
    found = re.findall(r"^- `(\w+)`.*, (\d+) seeds, \*\*(.*?)\*\*: (.*)", page, re.MULTILINE)
    assert sorted(name for name, *_ in found) == sorted(NAMES)
    for name, seeds, verdict, figures in found:
        claim = read_claim(name)
        assert ("; before, at" in figures) == bool(claim.before), name
        if rate := re.search(r"\(untuned: ([\d.]+)", verdict):
            words = {word for sweep in claim.sweeps for word in sweep if word.startswith("optim.")}
            assert (words or {f"optim.lr={USUAL_RATE}"}) == {f"optim.lr={rate[1]}"}, name
        assert ("amended" in verdict) == bool(claim.amended), name
        decided = not verdict.startswith(("both solve it", "cannot tell"))
        told = "carry over" in verdict or "carries over" in verdict
        assert told == (decided and not claim.same_task), name
        assert int(seeds) == claim.seeds, name


@pytest.mark.parametrize("name", NAMES)
def test_seeds_that_chose_the_sizes_do_not_decide(name):
    claim = read_claim(name)
    chosen = re.search(r"izes were chosen by .*?(?:seeds? 0(?: and (\d+))?)", claim.changed)
    assert ("izes were chosen" in claim.changed) == (chosen is not None)
    if chosen is not None:
        assert claim.first_seed > int(chosen[1] or 0)


OWN = """from attnexp.claims.decision import Decision, Verdict
from attnexp.stats.intervals import moments


class Always(Decision):
    def __init__(self, because: str) -> None:
        self.because = because

    def decide(self, evidence):
        return Verdict("reproduced", self.because)


class Plain:
    pass


def halves(seed, of: int):
    yield "half", 1, of / 2


def _hidden(seed):
    return []
"""


@pytest.fixture
def own(tmp_path):
    """Writes a claim of one's own, with some fields changed, and returns its configuration."""

    def write(**changes):
        shipped = CONF / "claim" / "learned_width_is_cross_validation" / "claim.yaml"
        content = yaml.safe_load(shipped.read_text())
        content |= changes
        folder = tmp_path / "my_conf" / "claim" / "mine"
        folder.mkdir(parents=True)
        (folder / "own.py").write_text(OWN)
        content = {name: value for name, value in content.items() if value is not None}
        (folder / "claim.yaml").write_text(f"# Is it so?\n{yaml.safe_dump(content)}")
        return tmp_path / "my_conf"

    return write


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"decides": None}, "missing required field `decides`"),
        ({"prediction": None}, "missing required field `prediction`"),
        ({"seeds": "ten"}, "seeds must be a whole number, got text"),
        ({"verdict": "true"}, "contains unknown field `verdict`"),
        (
            {"decides": {"metric": "x"}},
            "decides has no 'is', the name of a decision: "
            "all_of, bounded, direction, escaped or own.CLASS",
        ),
        (
            {"decides": {"is": "boundd"}},
            "decides: 'boundd' is not a choice. Did you mean 'bounded'\\? "
            "Choose all_of, bounded, direction, escaped or own.CLASS.",
        ),
        (
            {"decides": {"is": "bounded", "number": "loo_mse"}},
            "decides: bounded refuses its arguments: give at_most or at_least",
        ),
        (
            {"decides": {"is": "bounded", "numbr": "loo_mse"}},
            "There is no setting 'numbr' in 'decides'. Did you mean 'number'",
        ),
        ({"decides": {"is": "all_of", "parts": 3}}, "decides.parts must be a list, got 3"),
        (
            {"decides": {"is": "all_of", "parts": [3, 4]}},
            "decides.parts\\[0\\] must be settings as name: value, got 3",
        ),
        (
            {"decides": {"is": "all_of", "parts": [{"is": "boundd"}]}},
            "decides.parts\\[0\\]: 'boundd' is not a choice",
        ),
        (
            {"decides": {"is": "all_of", "parts": []}},
            "decides: all_of refuses its arguments: parts must be two decisions or more, got 0",
        ),
        (
            {"decides": {"is": "own.Alwys"}},
            "decides: own.py has no decision 'Alwys'. Did you mean 'Always'\\? Choose Always.",
        ),
        (
            {"decides": {"is": "own.Always", "becaus": "x"}},
            "There is no setting 'becaus' in 'decides'. Did you mean 'because'",
        ),
        ({"decides": {"is": "own.Always", "because": 3}}, "decides.because must be text, got 3"),
        ({"decides": {"is": "own.Plain"}}, "decides: 'own.Plain' is not a subclass of Decision"),
        ({"decides": {"is": "own.halves"}}, "decides: 'own.halves' is not a subclass of Decision"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"first_seed": -1}, "first_seed must be at least 0, got -1"),
        ({"tune_by": "val_loss"}, "tune_by=val_loss chooses among values of tune: add it"),
        ({"looks": 0}, "looks must be at least 1, got 0"),
        ({"sweeps": [["--config-dir=x", "model=dot"]]}, "'--config-dir=x' is refused"),
        ({"sweeps": [["model=dot"], ["model._target_=a.B"]]}, "'model._target_=a.B' is refused"),
        ({"prediction": {"date": "2030-01-01", "says": "x"}}, "2030-01-01, is in the future"),
        ({"prediction": {"date": "soon", "says": "x"}}, "must be a date .* got 'soon'"),
    ],
)
def test_a_file_that_is_not_a_claim_is_refused(own, changes, sentence):
    folder = own(**changes)
    with pytest.raises(RequestError, match=sentence):
        read_claim("mine", folder).decision()


@pytest.mark.parametrize(
    ("computes", "sentence"),
    [
        (
            {"is": "own.halvs", "of": 4},
            "computes: own.py has no function 'halvs'. Did you mean 'halves'\\? Choose halves.",
        ),
        ({"is": "own._hiden"}, "computes: own.py has no function '_hiden': choose halves."),
        (
            {"is": "halves", "of": 4},
            "computes: 'halves' must name a function of own.py, such as own.halves",
        ),
        ({"of": 4}, "computes has no 'is', the name of a function: own.FUNCTION"),
        (
            {"is": "own.halves", "off": 4},
            "There is no setting 'off' in 'computes'. Did you mean 'of'",
        ),
        ({"is": "own.halves", "of": 4, "seed": 1}, "computes.seed cannot be set"),
        ({"is": "own.halves", "of": "x"}, "computes.of must be a whole number, got 'x'"),
    ],
)
def test_what_computes_is_checked_before_it_runs(own, computes, sentence):
    claim = read_claim("mine", own(computes=computes))
    with pytest.raises(RequestError, match=sentence):
        list(claim.missing_points([0], []))


def test_a_prediction_may_have_the_day_of_any_time_zone(own):
    day = (datetime.now(UTC) + timedelta(hours=14)).date()
    assert read_claim("mine", own(prediction={"date": str(day), "says": "x"})).prediction.says


def test_an_own_py_that_is_missing_or_broken_gets_a_sentence(own):
    folder = own(decides={"is": "own.Always", "because": "x"})
    file = folder / "claim" / "mine" / "own.py"
    file.write_text("1 / 0\n")
    with pytest.raises(RequestError, match=r"own.py cannot be loaded: ZeroDivisionError: division"):
        read_claim("mine", folder).decision()
    file.unlink()
    with pytest.raises(RequestError, match=r"decides: there is no file .*own.py"):
        read_claim("mine", folder).decision()


def test_an_own_py_is_run_again_only_if_it_was_edited(own):
    folder = own(decides={"is": "own.Always", "because": "x"})
    first = type(read_claim("mine", folder).decision())
    assert type(read_claim("mine", folder).decision()) is first
    edited = OWN.replace("self.because)", "'because')   ")
    (folder / "claim" / "mine" / "own.py").write_text(edited)
    assert len(edited) == len(OWN)  # a compiled copy of the same second would be taken for it
    assert read_claim("mine", folder).decision().decide(Evidence()).because == "because"
    assert not list(folder.rglob("__pycache__"))


def test_the_example_of_the_documents_is_a_claim(tmp_path):
    (example,) = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "claims.md").read_text(), re.DOTALL
    )
    (tmp_path / "claim" / "mine").mkdir(parents=True)
    (tmp_path / "claim" / "mine" / "claim.yaml").write_text(example)
    assert read_claim("mine", tmp_path).decision()
    assert question("mine", tmp_path).endswith("?")


def test_an_unknown_claim_is_refused_with_the_choices():
    with pytest.raises(
        RequestError, match=r"claim 'nw_rat' is not a choice. Did you mean 'nw_rate'"
    ):
        read_claim("nw_rat")
