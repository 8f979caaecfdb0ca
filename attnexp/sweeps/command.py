"""What happens on `attnexp -m`: plan, engine, sweep."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import HydraContext
from omegaconf import DictConfig

from attnexp.errors import RunFailedError
from attnexp.sweeps.engine import Engine, JobOf
from attnexp.sweeps.here import Here
from attnexp.sweeps.launched import Launched
from attnexp.sweeps.outcome import look
from attnexp.sweeps.plan import Composer, Plan, make_plan
from attnexp.sweeps.report import show_plan, show_remarks
from attnexp.sweeps.sweep import Sweep

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
"""Hydra's launcher for one job at a time on this machine, in whose place `Here` does that."""


def sweep(
    context: HydraContext,
    config: DictConfig,
    arguments: Sequence[str],
    params: Mapping[str, Any],
    max_batch_size: int | None,
    dry: bool,
) -> None:
    """Run every combination of the arguments that has not finished.

    `config` is what Hydra composed for the sweep as a whole, `params` are axes that the arguments
    may replace. Raises RunFailedError where a job failed.
    """
    before = HydraConfig.instance().cfg
    try:
        composer = Composer(context.config_loader, config)
        given = [f"{name}={value}" for name, value in params.items()]
        axes = composer.axes([*given, *arguments])
        plan = make_plan(composer, axes, config.rerun)
        show_remarks(plan)
        if dry:
            show_plan(plan)
            return
        job_of = partial(composer.job, axes)
        engine = choose_engine(context, config, job_of, max_batch_size)
        try:
            Sweep(plan, engine, job_of, config.fail_fast).run()
        except RunFailedError:
            show_answer(plan, config)
            raise
        show_answer(plan, config)
    finally:
        HydraConfig.instance().cfg = before


def show_answer(plan: Plan, config: DictConfig) -> None:
    """The results table of an experiment, over the jobs of its sweep that have finished."""
    if config.hydra.runtime.choices.get("experiment") is None:
        return
    ends = [(job, look(job.folder, job.key, job.settings)) for job in plan.jobs]
    folders = [str(job.folder) for job, found in ends if found.state == "finished"]
    if folders:
        from attnexp.results.command import main as results

        results(folders)


def choose_engine(
    context: HydraContext, config: DictConfig, job_of: JobOf, max_batch_size: int | None
) -> Engine:
    """The engine for the launcher that was chosen."""
    launcher = config.hydra.launcher._target_
    if launcher == BASIC:
        return Here(job_of, ahead=0 if config.fail_fast else 1)
    return Launched(context, config, max_batch_size, share_gpus="joblib" in launcher)
