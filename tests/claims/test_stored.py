"""Which runs, points and predictions in the folder of a claim count."""

import hashlib
import re

import msgspec
import pytest
from composed import composed, job_of
from conftest import CONF

from attnexp.claims.claim import Own, read_claim
from attnexp.claims.evidence import Point
from attnexp.claims.record import Entry, record
from attnexp.claims.stored import (
    FOLDER,
    Origin,
    Predicted,
    evidence_of,
    origin_of,
    prediction_digest,
    read_points,
    read_predictions,
    record_prediction,
    write_points,
)
from attnexp.runs.summary import Tuning

SWEEP = ("model=gaussian", "data.num_train=20")


@pytest.fixture
def claim(tmp_path, monkeypatch):
    """Makes a claim with these fields in a folder without results."""
    monkeypatch.chdir(tmp_path)
    shipped = read_claim("rank_collapse")
    return lambda **fields: msgspec.structs.replace(shipped, **fields)


def test_points_before_the_first_seed_do_not_decide(claim):
    """Seeds 0 and 1 have 9, and the others 0: at most 1 is true of those that count."""
    decides = {"is": "bounded", "number": "y@0", "at_most": 1.0}
    ours = claim(first_seed=2, decides=decides, sweeps=[], shown=[])
    points = [Point(seed, "y", 0.0, 9.0 * (seed < 2)) for seed in range(8)]
    write_points(FOLDER / "mine", origin_of(ours.computes, ours.own), points)
    evidence = evidence_of("mine", ours, None)
    assert [point.seed for point in evidence.points] == [2, 3, 4, 5, 6, 7]
    assert ours.verdict(evidence).word == "reproduced"
    every = evidence_of("mine", msgspec.structs.replace(ours, first_seed=0), None)
    assert len(every.points) == 8


def test_runs_count_from_the_first_seed_on_if_a_sweep_names_them_and_none_of_tuning(
    claim, write_run
):
    def write(name, seed, key=None, **fields):
        key = key or job_of(composed(*SWEEP, f"seed={seed}", "figures=false")).place.key
        write_run(f"claims/mine/{name}", {"seed": seed}, key=key, **fields)

    for seed in range(3):
        write(f"own{seed}", seed)
    write("other", 1, key="0" * 10)
    write("begun", 1, status="interrupted")
    write("tried", 2, tuning=Tuning({"optim.lr": ["1"]}, "loo_mse", [2], tuning_run=True))
    ours = claim(first_seed=1, sweeps=[list(SWEEP)], computes={}, looks=2)
    evidence = evidence_of("mine", ours, None)
    assert sorted(run.path.rpartition("/")[2] for run in evidence.runs) == ["own1", "own2"]
    assert evidence.left_out == 2  # own0 and other
    assert evidence.level == 0.025


@pytest.mark.parametrize(
    "change",
    [
        {"computes": {"is": "own.halves", "of": 8}},
        {"code": {"own.py": "edited"}},
        {"results": 0},
    ],
    ids=str,
)
def test_points_of_another_origin_do_not_count(tmp_path, change):
    origin, points = Origin({"is": "own.halves", "of": 4}, {"own.py": "a"}), [Point(0, "y", 0, 1)]
    write_points(tmp_path, origin, points)
    assert read_points(tmp_path, origin) == points
    assert read_points(tmp_path, msgspec.structs.replace(origin, **change)) == []


@pytest.mark.parametrize("damage", [b"{", b"[1, 2]", b",1e999,1.0]", b",0.0,1e999]"])
def test_a_damaged_file_has_no_points(tmp_path, damage):
    origin, file = Origin({}, {}), tmp_path / "computed.json"
    write_points(tmp_path, origin, [Point(0, "y", 0.0, 1.0)])
    end = b",0.0,1.0]"
    whole = file.read_bytes()
    assert end in whole
    file.write_bytes(damage if damage[:1] != b"," else whole.replace(end, damage))
    assert read_points(tmp_path, origin) == []


def test_a_prediction_takes_the_place_of_another_until_there_are_results(tmp_path):
    record_prediction(tmp_path, "2026-11-23", "first", has_results=False)
    record_prediction(tmp_path, "2026-11-23", "second", has_results=False)
    (only,) = read_predictions(tmp_path)
    assert (only.says, only.after_runs) == ("second", False)
    assert only.digest == hashlib.sha256(b"2026-11-23\nsecond").hexdigest()
    record_prediction(tmp_path, "2026-11-23", "second", has_results=True)
    assert read_predictions(tmp_path) == [only]
    record_prediction(tmp_path, "2026-11-23", "third", has_results=True)
    assert [(one.says, one.after_runs) for one in read_predictions(tmp_path)] == [
        ("second", False),
        ("third", True),
    ]


DAY, NOW = "2026-11-23", "what it says now"


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ([], []),
        ([(NOW, False)], []),
        ([(NOW, True)], ["stored on TIME 0"]),
        ([("A", False)], ["changed; before: A"]),
        ([("A", False), (NOW, True)], ["changed on TIME 1; before: A"]),
        ([("A", True), ("B", True)], ["stored on TIME 0", "on TIME 1; before: A", "before: B"]),
    ],
)
def test_a_record_tells_when_a_prediction_was_changed(claim, stored, told):
    ours = claim(prediction=msgspec.structs.replace(claim().prediction, date=DAY, says=NOW))
    history = [
        Predicted(DAY, says, prediction_digest(DAY, says), f"TIME {i}", after)
        for i, (says, after) in enumerate(stored)
    ]
    verdict = ours.verdict(evidence_of("mine", ours, None))
    lines = record(Entry("mine", ours, verdict, history))
    found = [re.sub(",? after the first run", "", text) for head, text in lines if head == "but"]
    assert len(found) == len(told)
    assert all(each in text for each, text in zip(told, found, strict=True))


def test_code_of_the_users_decides_only_in_a_claim_of_the_users(claim, tmp_path):
    whole, part = {"is": "own.Always"}, {"is": "all_of", "parts": [{"is": "own.Always"}]}
    assert CONF in read_claim("nw_rate").own.folder.parents
    assert not read_claim("nw_rate").needs_user_code
    mine = Own(tmp_path, is_shipped=False)
    assert claim(own=mine, decides=whole).needs_user_code
    assert claim(own=mine, decides=part).needs_user_code
    assert not claim(own=mine).needs_user_code
