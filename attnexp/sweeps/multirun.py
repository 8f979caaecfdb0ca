"""What happens on `attnexp -m`: plan, engine, sweep."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import HydraContext
from omegaconf import DictConfig

from attnexp import console
from attnexp.config.hydra_internals import BASIC_LAUNCHER
from attnexp.errors import RequestError, RunFailedError
from attnexp.runs import lock
from attnexp.runs.files import FIGURES
from attnexp.runs.state import look
from attnexp.runs.summary import error_text
from attnexp.sweeps.executors.base import Engine, JobOf
from attnexp.sweeps.executors.hydra_launcher import Launched
from attnexp.sweeps.executors.parallel import Beside
from attnexp.sweeps.executors.serial import Here
from attnexp.sweeps.plan import Composer, Plan, make_plan
from attnexp.sweeps.scheduler import Sweep
from attnexp.sweeps.search.loop import Search, Wanted
from attnexp.sweeps.search.space import Space
from attnexp.sweeps.search.study import Trials
from attnexp.sweeps.summary import show_plan, show_remarks

log = logging.getLogger(__name__)

JOBLIB = "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher"
"""Hydra's launcher for jobs beside each other on this machine, in whose place `Beside` does it."""


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
        if dry:
            plan = make_plan(composer, axes, config.rerun, lambda _: None)
            show_remarks(plan)
            show_plan(plan)
            return
        job_of = partial(composer.job, axes)
        engine = choose_engine(context, config, job_of, max_batch_size)
        try:
            plan = make_plan(composer, axes, config.rerun, engine.get_ready)
            show_remarks(plan)
            Sweep(plan, engine, job_of, config.fail_fast).run()
        except RunFailedError:
            show_answer(plan, config)
            raise
        finally:
            engine.stop()
        show_answer(plan, config)
    finally:
        HydraConfig.instance().cfg = before


def search(
    context: HydraContext,
    config: DictConfig,
    arguments: Sequence[str],
    params: Mapping[str, Any],
    wanted: Wanted,
    sampler_seed: int,
    dry: bool,
) -> None:
    """Search the space that the arguments span.

    Raises RequestError where Optuna is not installed, and RunFailedError where no point could be
    measured.
    """
    if find_spec("optuna") is None:
        raise RequestError("hydra/sweeper=optuna needs Optuna: pip install 'attnexp[optuna]'")
    before = HydraConfig.instance().cfg
    try:
        composer = Composer(context.config_loader, config)
        space = Space(
            composer, [*(f"{name}={value}" for name, value in params.items()), *arguments]
        )
        names = [each.name.rpartition(".")[2] for each in space.dimensions]
        by = [f"by_{wanted.metric}"] if wanted.metric else []
        root = Path(config.hydra.sweep.dir).absolute()
        folder = root / "-".join(["search", *names, *by, space.key])
        with nullcontext() if dry else lock.hold(folder, tell=_waiting):
            trials = Trials(folder, space.dimensions, sampler_seed, wanted.at_once)
            engine = choose_engine(context, config, space.job, None)
            found = Search(space, trials, engine, wanted, folder)
            found.show() if dry else found.run()
    finally:
        HydraConfig.instance().cfg = before


def _waiting(holder: str) -> None:
    console.say(f"{holder} is at work on this search; waiting for it")


def show_answer(plan: Plan, config: DictConfig) -> None:
    """Show the results table of an experiment, and draw its runs compared where pictures are on.

    Both are about the jobs of the sweep that have finished.
    """
    experiment = config.hydra.runtime.choices.get("experiment")
    if experiment is None:
        return
    finished = [job for job in plan.jobs if look(job.folder, job.settings).state == "finished"]
    if finished:
        from attnexp.tables.tables import show_configurations

        show_configurations([str(job.folder) for job in finished])
    pictured = [job.folder for job in finished if job.settings["figures"]]
    if pictured:
        show_pictures(pictured, Path(config.hydra.sweep.dir).absolute() / FIGURES / experiment)


def show_pictures(folders: Sequence[Path], into: Path) -> None:
    """Draw the runs in the folders compared, and name the files. A failure is a warning."""
    try:
        from attnexp.plots.catalogue import draw_comparisons

        for file in draw_comparisons(folders, into):
            console.say(console.near(file))
    except Exception as error:  # the runs have finished, whatever became of the pictures
        log.info("the comparison could not be drawn", exc_info=error)
        console.warn(
            f"the comparison could not be drawn ({error_text(error)}); attnexp plot draws it again"
        )


def choose_engine(
    context: HydraContext, config: DictConfig, job_of: JobOf, max_batch_size: int | None
) -> Engine:
    """The engine for the launcher that was chosen."""
    launcher = config.hydra.launcher._target_
    if launcher == BASIC_LAUNCHER:
        return Here(job_of, ahead=0 if config.fail_fast else 1)
    if launcher == JOBLIB:
        return Beside(config.hydra.launcher, job_of, max_batch_size)
    return Launched(context, config, job_of, max_batch_size)
