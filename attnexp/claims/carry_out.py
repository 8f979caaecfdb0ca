"""Runs the missing parts of a claim or lists them, and draws it."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.claims.claim import IS, Claim
from attnexp.claims.stored import (
    COMPUTED,
    FOLDER,
    ended_runs,
    evidence_of,
    first_job,
    origin_of,
    read_points,
    record_prediction,
    sweep_words,
    write_points,
)
from attnexp.core import console
from attnexp.core.errors import CommandEnded, RunFailedError, writable
from attnexp.runs.folder import Run, load_run
from attnexp.runs.origin.command_line import own_words
from attnexp.select.configurations import comparisons

if TYPE_CHECKING:
    from attnexp.plots.picture_style import Style


class StepFailedError(Exception):
    """The command that a claim printed last has ended in an error."""

    def __init__(self, error: Exception | KeyboardInterrupt | SystemExit) -> None:
        super().__init__(error)
        self.error = error


def figures_folder(name: str) -> Path:
    """Return the folder of a claim's pictures."""
    return FOLDER / name / "figures"


def run_claim(name: str, claim: Claim, seeds: range, config_dir: Path | None) -> None:
    """Run the missing parts of a claim: points, sweeps and interventions.

    The first job of each sweep runs alone, to see whether runs have the deciding numbers. Each
    sweep and each probed run is printed as an equivalent command. Raises StepFailedError if one of
    these commands fails.
    """
    console.print_line(f"{name}: one core takes about {claim.minutes:g} min from nothing.")
    folder = FOLDER / name
    has_results = os.path.exists(folder / COMPUTED) or bool(ended_runs(folder))
    with writable("outputs", folder):
        record_prediction(folder, claim.prediction.date, claim.prediction.says, has_results)
    if claim.computes:
        _compute(folder, claim, seeds[:1])
    evidence = evidence_of(name, claim, config_dir)
    if not evidence.runs:
        firsts = [first_job(claim, each, seeds[0], folder, config_dir) for each in claim.sweeps]
        for job in firsts:
            _sweep([*own_words(config_dir), *(override.text for override in job.overrides)])
        evidence = replace(evidence, runs=[load_run(job.folder) for job in firsts])
    if claim.probe:
        first = evidence.runs[: len(claim.sweeps)]
        _probe(claim, first, config_dir)
        evidence = replace(evidence, runs=[load_run(run.path) for run in first])
    claim.require_numbers(evidence)
    if claim.computes:
        _compute(folder, claim, seeds)
    for words in claim.sweeps:
        span = f"range({seeds.start},{seeds.stop})"
        _sweep(sweep_words(claim, words, span, folder, config_dir))
    if claim.probe:
        _probe(claim, evidence_of(name, claim, config_dir).runs, config_dir)


def draw_claim(name: str, claim: Claim, config_dir: Path | None, style: "Style") -> None:
    """Draw the pictures of a claim's runs and of its curves, and print their paths."""
    from attnexp.claims.picture import draw_curves  # Matplotlib takes half a second to import
    from attnexp.plots.base import Options
    from attnexp.plots.catalogue import drawn

    evidence = evidence_of(name, claim, config_dir)
    into = figures_folder(name)
    if claim.picture is not None:
        options = Options(metric=claim.picture.metric, style=style)
        for path in drawn(comparisons(evidence.runs), into, options, [claim.picture.kind]):
            console.print_line(str(path))
    if curves := claim.decision().curves(evidence):
        draw_curves(curves, name, claim.axes, into / "claim.png", style, evidence.runs)
        console.print_line(str(into / "claim.png"))


def _sweep(words: Sequence[str]) -> None:
    """Run the jobs of a sweep that have not ended. A job that diverges has ended."""
    from attnexp.sweeps.line import run_sweep  # which imports Hydra

    with _step(["-m", *words]):
        try:
            if not _have_diverged(words):
                run_sweep(words)
        except RunFailedError:
            if not _have_diverged(words):
                raise


def _have_diverged(words: Sequence[str]) -> bool:
    """Return whether all jobs of a sweep have ended, and one of them has diverged."""
    from attnexp.sweeps.line import compared_jobs

    with suppress(RunFailedError):  # values of a sweep that tunes are not chosen yet
        ends = [job.found for job in compared_jobs(words)]
        return all(found.has_ended for found in ends) and not all(
            found.status.counts_in_means for found in ends
        )
    return False


def _probe(claim: Claim, runs: Sequence[Run], config_dir: Path | None) -> None:
    """Run the missing interventions of a claim."""
    from attnexp.config.probing import lacking, probe_missing  # which imports torch

    for run in lacking([run for run in runs if run.finished], claim.probe):
        with _step(["probe", run.path, *claim.probe, *own_words(config_dir)]):
            probe_missing([run], claim.probe, config_dir)


@contextmanager
def _step(words: Sequence[str]) -> Iterator[None]:
    """Print the equivalent command of a block. Raises StepFailedError for errors in the block."""
    console.print_line(shlex.join(["attnexp", *words]))
    try:
        yield
    except CommandEnded:
        raise
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        raise StepFailedError(error) from error


def _compute(folder: Path, claim: Claim, seeds: Sequence[int]) -> None:
    """Compute the points of missing seeds, and write the file after each seed."""
    from attnexp.training.device import prepare_processor  # which imports torch

    prepare_processor(threads=1)  # small products: more threads would wait for each other
    origin = origin_of(claim.computes, claim.own)
    points = read_points(folder, origin)
    for found in claim.missing_points(seeds, points):
        points += found
        write_points(folder, origin, points)


def plan_claim(name: str, claim: Claim, seeds: range, config_dir: Path | None) -> None:
    """Print what `run_claim` would run, without running anything."""
    console.print_line(f"{name}: one core takes about {claim.minutes:g} min from nothing.")
    if claim.computes:
        points = read_points(FOLDER / name, origin_of(claim.computes, claim.own))
        there = {point.seed for point in points}
        missing = sum(seed not in there for seed in seeds)
        console.print_line(f"{claim.computes.get(IS)}: {missing} of {len(seeds)} seeds to compute")
    from attnexp.sweeps.line import run_sweep  # which imports Hydra

    for words in claim.sweeps:
        span = f"range({seeds.start},{seeds.stop})"
        line = [*sweep_words(claim, words, span, FOLDER / name, config_dir), "--dry-run"]
        with _step(["-m", *line]):
            run_sweep(line)
    if claim.probe:
        console.print_line(f"then on each run: attnexp probe RUN {' '.join(claim.probe)}")
