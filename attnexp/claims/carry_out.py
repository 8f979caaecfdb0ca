"""Runs what is missing of a claim, or says what that would be."""

from collections.abc import Callable, Sequence
from pathlib import Path

from attnexp.claims.claim import FOLDER, Claim
from attnexp.claims.gather import evidence_of, finished_runs, first_words, sweep_words
from attnexp.claims.stored import (
    COMPUTED,
    origin_of,
    read_points,
    record_prediction,
    write_points,
)
from attnexp.claims.words import IS
from attnexp.core import console
from attnexp.core.errors import writable
from attnexp.runs.folder import Run

Command = Callable[[Sequence[str]], None]
"""Runs `attnexp` with arguments, and raises SystemExit if it fails."""


def figures_folder(name: str) -> Path:
    """Return the folder of a claim's pictures, in which `attnexp plot` draws, too."""
    return FOLDER / name / "figures"


def run_claim(
    name: str, claim: Claim, seeds: range, config_dir: Path | None, command: Command
) -> None:
    """Run the missing parts of a claim: points, sweeps, interventions and pictures.

    The first job of each sweep runs alone, and decides whether the claim can be judged at all.
    `command` runs `attnexp` with other arguments.
    """
    console.say(f"{name}: this takes about {claim.minutes:g} minutes of one core from nothing.")
    folder = FOLDER / name
    has_results = (folder / COMPUTED).exists() or bool(finished_runs(folder))
    with writable("outputs", folder):
        record_prediction(folder, claim.prediction.date, claim.prediction.says, has_results)
    if claim.computes:
        _compute(folder, claim, seeds[:1])
    evidence = evidence_of(name, claim, config_dir, trusted=True)
    if claim.sweeps and not evidence.runs:
        for words in claim.sweeps:
            command(["-m", *first_words(words, seeds[0], folder, config_dir)])
        evidence = evidence_of(name, claim, config_dir, trusted=True)
    _probe(claim, evidence.runs[: len(claim.sweeps)], config_dir, command)
    claim.require_numbers(evidence_of(name, claim, config_dir, trusted=True))
    if claim.computes:
        _compute(folder, claim, seeds)
    for words in claim.sweeps:
        span = f"range({seeds.start},{seeds.stop})"
        command(["-m", *sweep_words(words, span, folder, config_dir)])
    evidence = evidence_of(name, claim, config_dir, trusted=True)
    _probe(claim, evidence.runs, config_dir, command)
    if claim.picture is not None:
        metric = ["--metric", claim.picture.metric] if claim.picture.metric else []
        command(["plot", str(folder), "--kind", claim.picture.kind, *metric])
    if curves := claim.decision().curves(evidence):
        from attnexp.claims.picture import draw_curves  # Matplotlib takes half a second to import

        path = figures_folder(name) / "claim.png"
        draw_curves(curves, name, claim.axes, path)
        console.say(f"picture: {path}")


def _probe(claim: Claim, runs: Sequence[Run], config_dir: Path | None, command: Command) -> None:
    """Make the interventions of a claim that runs lack."""
    own = ["--config-dir", str(config_dir)] if config_dir else []
    for run in runs:
        there = {row.intervention for row in run.interventions}
        if not set(claim.probe) <= there:
            command(["probe", run.path, *claim.probe, *own])


def _compute(folder: Path, claim: Claim, seeds: Sequence[int]) -> None:
    """Compute the points of the seeds that are missing, and keep them after each seed."""
    from attnexp.training.device import prepare_processor  # which imports torch

    prepare_processor(threads=1)  # small products: more threads would wait for each other
    origin = origin_of(claim.computes, claim.own)
    points = read_points(folder, origin)
    for found in claim.missing_points(seeds, points):
        points += found
        write_points(folder, origin, points)


def plan_claim(
    name: str, claim: Claim, seeds: range, config_dir: Path | None, command: Command
) -> None:
    """Say what a claim would run, and run nothing of it. See `run_claim`."""
    console.say(f"{name}: this takes about {claim.minutes:g} minutes of one core from nothing.")
    if claim.computes:
        points = read_points(FOLDER / name, origin_of(claim.computes, claim.own))
        there = {point.seed for point in points}
        missing = sum(seed not in there for seed in seeds)
        console.say(f"{claim.computes.get(IS)}: {missing} of {len(seeds)} seeds to compute")
    for words in claim.sweeps:
        span = f"range({seeds.start},{seeds.stop})"
        command(["-m", *sweep_words(words, span, FOLDER / name, config_dir), "--dry-run"])
    if claim.probe:
        console.say(f"then on each run: attnexp probe RUN {' '.join(claim.probe)}")
