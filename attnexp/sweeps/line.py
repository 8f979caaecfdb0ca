"""The jobs of a sweep's command line."""

from collections.abc import Sequence
from dataclasses import fields
from typing import cast

from omegaconf import DictConfig, OmegaConf

from attnexp.config.compose import CommandLine
from attnexp.config.messages import ComposeErrors
from attnexp.config.unknown import UnknownSettingError
from attnexp.sweeps.plan import Composer, PlannedJob, distinct, make_plan
from attnexp.sweeps.tuned.jobs import TunedJobs
from attnexp.sweeps.tuned.settings import TuningSettings


def jobs_of(words: Sequence[str]) -> list[PlannedJob]:
    """Return the jobs that `attnexp -m WORDS` names now, each with its key and its folder.

    The values of tuned settings are values of an axis here. No run folder is read, and no code of
    the user's is run. Raises RequestError if the sweep cannot be composed.
    """
    line = CommandLine.read(["-m", *words])
    try:
        context, config = line.composed_sweep()
        tuned = config.hydra.sweeper.get("tune") or []
        with Composer(context, config) as composer:
            axes = composer.axes([*tuned, *_arguments(config)])
            return list(distinct(composer.all_planned(axes)))
    except ComposeErrors as error:
        raise line.request_error(error) from error


def run_sweep(words: Sequence[str]) -> None:
    """Run the jobs of `attnexp -m WORDS` that have not finished; show them only with --dry-run.

    Raises RequestError if the sweep cannot be composed, and RunFailedError if a job failed.
    """
    line = CommandLine.read(["-m", *words])
    try:
        line.sweep()
    except (UnknownSettingError, *ComposeErrors) as error:
        raise line.request_error(error) from error


def compared_jobs(words: Sequence[str]) -> list[PlannedJob]:
    """Return the jobs that `attnexp -m WORDS` compares, with the state of their folders.

    If the sweep tunes, the jobs are at the chosen values. Raises RequestError if the sweep cannot
    be composed, and RunFailedError if no value could be chosen.
    """
    line = CommandLine.read(["-m", *words])
    try:
        context, config = line.composed_sweep()
        sweeper = config.hydra.sweeper
        given = _arguments(config)
        with Composer(context, config) as composer:
            if "tune" not in sweeper:
                return list(make_plan(composer, composer.axes(given), rerun=False).jobs)
            names = [each.name for each in fields(TuningSettings) if each.name in sweeper]
            settings = TuningSettings(**{name: sweeper[name] for name in names})
            jobs = TunedJobs(composer, given, settings)
            return list(jobs.plan(jobs.compared(jobs.choose(jobs.tried()))).jobs)
    except ComposeErrors as error:
        raise line.request_error(error) from error


def _arguments(config: DictConfig) -> list[str]:
    """Return the axes of a sweep: those of its configuration, then the typed ones."""
    typed = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
    params = config.hydra.sweeper.get("params") or {}
    return [*(f"{name}={value}" for name, value in params.items()), *cast(list[str], typed)]
