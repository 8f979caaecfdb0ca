"""Whatever lies in one run folder, the verbs end soon, in a sentence, and the other runs are there.

Each case is drawn by its seed: one of four runs is damaged, in one of three cases the plan of a
sweep, too, and `results`, `show`, `report`, `decode`, `status` and `plot` read it alone and beside
the others.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_outcome import run_here
from hostile_folders import PLACES, damage, draw_damage, leave_running, replace, verbs

SECONDS = 30
"""Time that a command may take on a busy machine, pictures included."""

THOUSAND = [
    pytest.param(range(first, first + 250), marks=pytest.mark.slow) for first in range(0, 1000, 250)
]


@pytest.fixture
def outputs(finished_runs, tmp_path, monkeypatch) -> Path:
    """A folder of three sound runs, beside which a damaged one may be put."""
    monkeypatch.chdir(tmp_path)
    for name in ("second", "boxcar", "transformer"):
        shutil.copytree(finished_runs[name], tmp_path / "outputs" / f"sound-{name}")
    return tmp_path / "outputs"


@pytest.fixture
def faults_of(outputs, finished_runs) -> Callable[[int], list[str]]:
    """Damages a run by a seed, has the verbs read it, and returns what was wrong."""

    def faults(seed: int) -> list[str]:
        draw, name = draw_damage(seed)
        damaged = Path(os.fsdecode(os.fsencode(outputs) + b"/" + name))
        shutil.copytree(finished_runs[draw.choice(("curve", "rnn"))], damaged)
        done = damage(draw, damaged, outputs / ".plans" / "plan.json")
        found = []
        for words in verbs(draw, str(damaged.relative_to(outputs.parent)), "outputs"):
            outcome = run_here(words, SECONDS)
            wrong = outcome.faults()
            several = words[1] == "outputs" and not {"--by", "--kind"} & set(words)
            if several and outcome.code != 0:
                wrong.append(f"the sound runs are lost: {outcome.err}")
            found += [f"case {seed}, {done}, {words}: {fault}" for fault in wrong]
        shutil.rmtree(damaged)
        shutil.rmtree(outputs / ".plans", ignore_errors=True)
        return found

    return faults


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(2), *THOUSAND], ids=str)
def test_damaged_folders(faults_of, seeds):
    assert [fault for seed in seeds for fault in faults_of(seed)] == []


READ = ("metrics.csv", "attention.safetensors", "predictions.csv")

NAMED = (*("pipe", "folder", "loop", "latin", "utf-16"),)
"""What can stand in the place of any file that is read for a page, and is always named."""


@pytest.mark.first(3)
@pytest.mark.parametrize("place", NAMED)
def test_what_stands_in_the_place_of_a_file_costs_no_other_run(place, outputs, finished_runs):
    name = READ[NAMED.index(place) % len(READ)]
    shutil.copytree(finished_runs["curve"], outputs / "damaged")
    replace(outputs / "damaged" / name, PLACES[place])
    outcome = run_here(["report", "outputs", "--output", "page.html"], SECONDS)
    assert outcome.code == 0
    assert outcome.faults() == []
    assert "4 runs in page.html" in outcome.out
    assert f"left out of pictures 1 run with damaged files: outputs/damaged/{name}" in outcome.err


@pytest.mark.parametrize("place", ["pipe", "sparse"])
def test_a_lock_that_is_no_file_costs_no_other_run(place, outputs, finished_runs):
    shutil.copytree(finished_runs["curve"], outputs / "foreign")
    leave_running(outputs / "foreign")
    replace(outputs / "foreign" / ".lock", PLACES[place])
    for words in (["status", "outputs"], ["show", "foreign"], ["results", "outputs", "--runs"]):
        outcome = run_here(words, SECONDS)
        assert (outcome.code, outcome.faults()) == (0, [])
    assert outcome.out.count("finished") == 3


def test_formulas_are_text_in_csv(write_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run("a", {"model.width": "=HYPERLINK(1)"}, choices={"model": "@SUM(1)"})
    write_run("b", {"model.width": -2.5})
    outcome = run_here(["results", "outputs", "--runs", "--format", "csv"], SECONDS)
    assert "'=HYPERLINK(1)" in outcome.out
    assert ",'@SUM(1)," in f",{outcome.out}".replace("\n", ",")
    assert ",-2.5," in outcome.out
