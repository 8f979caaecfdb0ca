"""The documents of `--format json` follow their schemas, and verbs end by the documented codes."""

import json
import re
import shutil
from copy import deepcopy

import pytest
from cards import example
from conftest import ROOT
from jsonschema import Draft202012Validator
from schemas import FOLDER, faults, schema
from stored_runs import change_summary

from attnexp.cards.card_file import write_card

NAMES = sorted(
    path.name.removesuffix(".schema.json")
    for path in FOLDER.iterdir()
    if path.name.endswith(".schema.json")
)

TRIAL = """# Does it fit a curve?
source: the tests
metric: test_mse
equal_within: 0.001
words: [data=sine, data.num_train=10]
tune: []
columns: [neighbours]
quick: {}
"""

FAILS = """# Is it so?
claims: it is
source: {paper: a paper, place: page 1, printed: "1"}
setup: theirs
changed: ours
prediction: {date: "2026-11-23", says: it will}
computes: {is: own.points}
seeds: 1
minutes: 0.1
decides: {is: own.Fails}
"""

STOPS = (
    FAILS.partition("computes:")[0]
    + """sweeps: [[model=gaussian, data.low=5, data.high=0]]
seeds: 1
minutes: 0.1
decides: {is: bounded, number: test_mse, at_most: 2.0}
"""
)

OWN = """from attnexp.claims.decision import Decision


class Fails(Decision):
    def decide(self, evidence):
        raise KeyError("nothing")


def points(seed):
    yield "curve", 1, 2
"""

CARD = (
    *("card", "--quick", "model=gaussian", "--baseline", "model=boxcar", "--trials", "mine"),
    *("--seeds", "1", "--device", "cpu", "--config-dir", "my_conf"),
)

CASES = {
    ("results", 0): ("results", "outputs"),
    ("results", 2): ("results", "nowhere"),
    ("status", 0): ("status", "outputs"),
    ("status", 2): ("status", "nowhere"),
    ("claims", 0): ("claims", "--config-dir", "my_conf"),
    ("claims", 1): ("claims", "fails", "--config-dir", "my_conf"),
    ("claims", 2): ("claims", "nw_rat"),
    ("probe", 0): ("probe", "outputs/run", "uniform"),
    ("probe", 2): ("probe", "outputs/run", "gold"),
    ("verify", 0): ("verify", "outputs/run"),
    ("verify", 1): ("verify", "outputs"),
    ("verify", 2): ("verify", "outputs/failed"),
    ("card", 0): CARD,
    ("card", 2): ("card", "model=cosin", "--device", "cpu"),
}
"""A command line for each verb and exit code of the table."""

OTHERS: dict[str, list[tuple[str, ...]]] = {
    "results": [
        ("--runs", "outputs"),
        ("--costs", "--by", "model", "outputs"),
        ("--over", "data", "suite"),
        ("empty",),
    ],
    "status": [("empty",)],
    "card_compare": [("card", "--compare", "a.json", "b.json")],
}
"""Command lines whose documents have other fields, by the name of the schema."""

SPOILT = {
    "results": [
        lambda it: it.pop("notes"),
        lambda it: it["rows"][0].pop("standing"),
        lambda it: it["rows"][0].update(better="smaller"),
        lambda it: it["rows"][0].update(width=[1.0]),
    ],
    "status": [
        lambda it: it["counts"].update(finished=1),
        lambda it: it["ended_early"][0].pop("error"),
        lambda it: it.update(seconds_left="soon"),
    ],
    "claims": [
        lambda it: it[0].update(word="true"),
        lambda it: it[0].update(more=1),
        lambda it: it[0].pop("because"),
    ],
    "probe": [
        lambda it: it["rows"][0].pop("intervention"),
        lambda it: it["rows"][0].update(mean="0.5"),
        lambda it: it.update(more=1),
    ],
    "verify": [
        lambda it: it["runs"][0].update(outcome="equal"),
        lambda it: it["runs"][0].pop("why"),
        lambda it: it["runs"][0].update(largest=-1.0),
    ],
    "card": [
        lambda it: it.update(format=2),
        lambda it: it["trials"][0]["rows"][0].update(verdict="better"),
        lambda it: it["trials"][0]["rows"][0]["numbers"]["test_mse"].update(mean=1.0),
        lambda it: it["trials"][0].pop("examples"),
    ],
    "card_compare": [lambda it: it["rows"][0].pop("row"), lambda it: it.pop("rows")],
}
"""Changes of a document, each of which no schema allows."""


@pytest.fixture
def outputs(finished_runs, write_run, tmp_path, in_process):
    """A finished run, a copy with another metric, a failed run, two cards, two claims, a trial."""
    shutil.copytree(finished_runs["boxcar"], tmp_path / "outputs" / "run")
    changed = shutil.copytree(finished_runs["boxcar"], tmp_path / "outputs" / "changed")
    change_summary(changed, lambda summary: summary["metrics"].update(test_mse=7.0))
    write_run("failed", {"seed": 3}, status="failed", error="ValueError: no")
    for data in ("one", "other"):
        folder = write_run(data, {"data._target_": data}, choices={"data": data})
        shutil.move(folder, tmp_path / "suite" / data)
    (tmp_path / "empty").mkdir()
    for path, text in {
        "trial/mine.yaml": TRIAL,
        "claim/fails/claim.yaml": FAILS,
        "claim/fails/own.py": OWN,
        "claim/stops/claim.yaml": STOPS,
    }.items():
        file = tmp_path / "my_conf" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in ("a", "b"):
        rows = example.trial(example.row(name, 0.5, 0.75), example.row("scaled_dot"))
        write_card(tmp_path / f"{name}.json", example.card(rows, subject=name))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_and_describes_every_field(name):
    content = schema(name)
    Draft202012Validator.check_schema(content)

    def fields(part):
        if isinstance(part, list):
            for each in part:
                yield from fields(each)
        elif isinstance(part, dict):
            yield from part.get("properties", {}).items()
            for each in part.values():
                yield from fields(each)

    known = list(fields(content))
    assert known
    assert [field for field, own in known if not own.get("description")] == []


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize(("verb", "code"), CASES, ids=str)
def test_a_verb_ends_by_the_code_of_the_table(verb, code, in_process):
    answer = in_process(*CASES[verb, code], "--format", "json")
    assert answer.returncode == code, answer.stderr
    assert bool(code) <= bool(answer.stderr)
    if code == 2:
        assert answer.stdout == ""
        return
    document = json.loads(answer.stdout)
    assert faults(verb, document) == []
    for spoil in SPOILT[verb]:
        spoilt = deepcopy(document)
        spoil(spoilt)
        assert faults(verb, spoilt)


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, own in OTHERS.items() for words in own]
)
def test_other_documents_follow_the_same_schemas(name, words, succeeds):
    verb = () if name == "card_compare" else (name,)
    document = json.loads(succeeds(*verb, *words, "--format", "json").stdout)
    assert faults(name, document) == []
    if name == "card_compare":
        assert [row["reverse exact_match"] for row in document["rows"]] == [0.625, None, 0.625]
        for spoil in SPOILT[name]:
            spoilt = deepcopy(document)
            spoil(spoilt)
            assert faults(name, spoilt)


@pytest.mark.usefixtures("outputs")
def test_a_claim_whose_runs_fail_has_no_document(attnexp):
    answer = attnexp("claims", "stops", "--config-dir", "my_conf", "--format", "json")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "low must be less than high" in answer.stderr


def test_the_table_of_the_page_has_these_codes():
    text = (ROOT / "docs" / "python.md").read_text().partition("| verb | the document |")[2]
    table = text.partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$", table, re.MULTILINE)
    told = {
        (verb, code) for verb, *cells in rows for code, cell in enumerate(cells) if cell.strip()
    }
    assert told == set(CASES)
    assert {verb for verb, _ in told} == set(NAMES) - {"card_compare"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("claims", "nw_rate"), "--dry-run prints no verdicts: leave out --format json"),
        (("card", "model=cosine"), "--dry-run makes no card: leave out --format json"),
    ],
)
def test_a_dry_run_has_no_document(refused, words, sentence):
    assert sentence in refused(*words, "--dry-run", "--format", "json")
