"""Gathers the evidence for a claim: the runs that its sweeps name now, and its points."""

from collections.abc import Sequence
from pathlib import Path

from attnexp.claims.claim import FOLDER, Claim
from attnexp.claims.evidence import Evidence
from attnexp.claims.stored import origin_of, read_points
from attnexp.runs.folder import Run
from attnexp.runs.origin.command_line import own_words
from attnexp.select.collect import collect


def sweep_words(
    words: Sequence[str], seeds: str, folder: Path, config_dir: Path | None
) -> list[str]:
    """Return the arguments of `attnexp -m` that run a sweep of a claim at these seeds."""
    given = [f"seed={seeds}", "figures=false", f"output_dir={folder}"]
    if not any(word.startswith("hydra/launcher=") for word in words):
        given.append("hydra/launcher=parallel")
    return [*own_words(config_dir), *words, *given]


def first_words(
    words: Sequence[str], seed: int, folder: Path, config_dir: Path | None
) -> list[str]:
    """Return the arguments of `attnexp -m` that run the first job of a sweep alone."""
    from attnexp.sweeps.line import jobs_of  # which imports Hydra

    first = jobs_of(sweep_words(words, str(seed), folder, config_dir))[0]
    of_hydra = [word for word in words if word.startswith("hydra/launcher=")]
    return [*own_words(config_dir), *of_hydra, *(override.text for override in first.overrides)]


def finished_runs(folder: Path) -> list[Run]:
    """Return the finished runs below a folder, none if it is not there."""
    return [run for run in collect([folder]).runs if run.finished] if folder.is_dir() else []


NO_PACKAGES = "hydra.searchpath=[]"
"""The word, before all others, with which Hydra imports no package to find configurations in it."""


def evidence_of(
    name: str, claim: Claim, config_dir: Path | None, trusted: bool, root: Path = FOLDER
) -> Evidence:
    """Return the evidence for a claim: the runs of its jobs as they are now, and its points.

    A run in the folder of the claim counts if a sweep of the claim, composed at the seeds that are
    there, has a job with its key. Runs that tuned settings do not count. `root` holds the folder of
    each claim. Unless `trusted`, no code of the user's is run. Raises RequestError if a sweep
    cannot be composed.
    """
    folder = root / name
    found = [
        run
        for run in finished_runs(folder)
        if not (run.summary.tuning and run.summary.tuning.tuning_run)
    ]
    seeds = sorted({run.seed for run in found if run.seed >= claim.first_seed})
    keys: set[str] = set()
    if seeds:
        from attnexp.sweeps.line import jobs_of

        for words in claim.sweeps:
            line = sweep_words(words, ",".join(map(str, seeds)), folder, config_dir)
            first = [] if trusted else [NO_PACKAGES]
            keys |= {job.place.key for job in jobs_of([*first, *line])}
    own = [run for run in found if run.summary.key in keys]
    points = read_points(folder, origin_of(claim.computes, claim.own)) if claim.computes else []
    decided = [point for point in points if point.seed >= claim.first_seed]
    return Evidence(own, decided, left_out=len(found) - len(own), tests=claim.looks)
