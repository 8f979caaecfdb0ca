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
from hostile_folders import PLACES, damage, draw_damage, replace, verbs

SECONDS = 30
"""Time that a command may take on a busy machine, pictures included."""

BLOCK = 250

SEQUENCES = (
    *("data=reverse", "model=additive", "data.num_train=40", "data.num_validation=8"),
    *("data.num_test=8", "data.vocab_size=6", "arch.hidden_dim=8", "train.max_epochs=2"),
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Five small runs: three of a curve, two of sequences."""
    outputs = tmp_path_factory.mktemp("trained")
    common = (f"output_dir={outputs}", "figures=false", "train.attention_every=1")
    for seed in range(3):
        assert run_here([*common, f"seed={seed}", "train.max_epochs=3"], 120).faults() == []
    for seed in range(2):
        assert run_here([*common, f"seed={seed}", *SEQUENCES], 120).faults() == []
    return sorted(outputs.iterdir())


@pytest.fixture
def outputs(trained, tmp_path, monkeypatch) -> Path:
    """A folder of three sound runs, beside which a damaged one may be put."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "outputs"
    for number, run in enumerate((trained[0], trained[2], trained[3])):
        shutil.copytree(run, folder / f"sound{number}")
    return folder


@pytest.fixture
def faults_of(outputs, trained) -> Callable[[int], list[str]]:
    """Damages a run by a seed, has the verbs read it, and returns what was wrong."""

    def faults(seed: int) -> list[str]:
        draw, name = draw_damage(seed)
        damaged = Path(os.fsdecode(os.fsencode(outputs) + b"/" + name))
        shutil.copytree(draw.choice((trained[1], trained[4])), damaged)
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


def test_damaged_folders(faults_of):
    assert [fault for seed in range(8) for fault in faults_of(seed)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_a_thousand_damaged_folders(faults_of, block):
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    assert [fault for seed in seeds for fault in faults_of(seed)] == []


READ = ("metrics.csv", "attention.safetensors", "predictions.csv")

NAMED = (*("pipe", "folder", "loop", "latin", "utf-16"),)
"""What can stand in the place of any file that is read for a page, and is always named."""


@pytest.mark.parametrize("place", NAMED)
def test_what_stands_in_the_place_of_a_file_costs_no_other_run(place, outputs, trained):
    name = READ[NAMED.index(place) % len(READ)]
    shutil.copytree(trained[1], outputs / "damaged")
    replace(outputs / "damaged" / name, PLACES[place])
    outcome = run_here(["report", "outputs", "--output", "page.html"], SECONDS)
    assert outcome.code == 0
    assert outcome.faults() == []
    assert "4 runs in page.html" in outcome.out
    assert f"left out of pictures 1 run with damaged files: outputs/damaged/{name}" in outcome.err


def test_formulas_are_text_in_csv(write_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run("a", {"model.width": "=HYPERLINK(1)"}, choices={"model": "@SUM(1)"})
    write_run("b", {"model.width": -2.5})
    outcome = run_here(["results", "outputs", "--runs", "--format", "csv"], SECONDS)
    assert "'=HYPERLINK(1)" in outcome.out
    assert ",'@SUM(1)," in f",{outcome.out}".replace("\n", ",")
    assert ",-2.5," in outcome.out
