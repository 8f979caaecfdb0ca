"""A sweep over all combinations of the values that `attnexp -m` names."""

import logging
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from attnexp import console
from attnexp.config.hydra_internals import BASIC_LAUNCHER
from attnexp.config.schema import check_settings
from attnexp.errors import RunFailedError, refusal
from attnexp.runs.files import FIGURES
from attnexp.runs.stored_plan import StoredPlan
from attnexp.runs.summary import error_text
from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.executors.batched import BatchedExecutor
from attnexp.sweeps.executors.hydra_launcher import HydraLauncherExecutor
from attnexp.sweeps.executors.local import LocalExecutor
from attnexp.sweeps.executors.parallel import ParallelExecutor
from attnexp.sweeps.executors.workers import WorkersExecutor
from attnexp.sweeps.plan import BATCHED, Composer, Plan, make_plan, require_places
from attnexp.sweeps.scheduler import Scheduler
from attnexp.sweeps.summary import show_plan, show_remarks

log = logging.getLogger(__name__)

PARALLEL = f"{ParallelExecutor.__module__}.{ParallelExecutor.__name__}"
"""The target of hydra/launcher=parallel."""


def sweep(
    composer: Composer, arguments: Sequence[str], max_batch_size: int | None, dry_run: bool
) -> None:
    """Run every combination of the arguments' values that has not finished.

    With `dry_run` only the plan is shown. Raises RunFailedError where a job failed.
    """
    config = composer.config
    axes = composer.axes(arguments)
    if dry_run:
        plan = make_plan(composer, axes, composer.rerun)
        show_remarks(plan)
        show_plan(plan)
        return
    job_of = partial(composer.job, axes)
    executor = choose_executor(composer, job_of, max_batch_size)
    try:
        plan = make_plan(composer, axes, composer.rerun, executor.prepare)
        require_places(plan)
        show_remarks(plan)
        if isinstance(executor, WorkersExecutor) and executor.detach:
            submit_and_leave(composer, plan, executor)
            return
        try:
            run_plan(composer, plan, executor, job_of, config.fail_fast)
        except RunFailedError:
            show_results(composer, plan)
            raise
        show_results(composer, plan)
    finally:
        executor.stop()


def run_plan(
    composer: Composer, plan: Plan, executor: Executor, job_of: JobOf, fail_fast: bool
) -> None:
    """Run the jobs of a plan that have not finished, with the plan on disk until all have.

    Raises as `Scheduler.run`.
    """
    stored = store(composer, plan)
    Scheduler(plan, executor, job_of, fail_fast).run()
    if stored is not None:
        try:
            stored.remove()
        except OSError as error:
            console.warn(f"the plan of the sweep stays: {stored.path}: {refusal(error)}")


def store(composer: Composer, plan: Plan) -> StoredPlan | None:
    """Write a plan that has jobs to do for `attnexp status`, without which a sweep can do."""
    if not plan.to_do:
        return None
    root = Path(composer.config.hydra.sweep.dir).absolute()
    stored = StoredPlan.of(root, [job.folder for job in plan.jobs])
    try:
        stored.write()
    except OSError as error:
        console.warn(f"attnexp status will not know what is to do: {stored.path}: {refusal(error)}")
        return None
    return stored


def submit_and_leave(composer: Composer, plan: Plan, executor: WorkersExecutor) -> None:
    """Submit workers for the jobs of a plan, and say where to look at them."""
    if not plan.to_do:
        console.say(f"all {len(plan.jobs)} jobs are done: nothing is submitted")
        return
    store(composer, plan)
    count = executor.submit(plan.to_do)
    folder = shlex.quote(str(composer.config.hydra.sweep.dir))
    console.say(
        f"{len(plan.to_do)} jobs for {count} worker{'s' if count > 1 else ''} are submitted: "
        f"attnexp status {folder} shows how far they are"
    )


def show_results(composer: Composer, plan: Plan) -> None:
    """Show the results table of an experiment, and draw its runs compared where pictures are on.

    Both are about the jobs of the sweep that have finished.
    """
    experiment = composer.config.hydra.runtime.choices.get("experiment")
    if experiment is None:
        return
    finished = [job for job in plan.jobs if job.with_state().found.state == "finished"]
    if finished:
        from attnexp.tables.tables import show_configurations

        show_configurations([str(job.folder) for job in finished])
    pictured = [job.folder for job in finished if job.settings["figures"]]
    if pictured:
        into = Path(composer.config.hydra.sweep.dir).absolute() / FIGURES / experiment
        show_pictures(pictured, into)


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


def choose_executor(composer: Composer, job_of: JobOf, max_batch_size: int | None) -> Executor:
    """Return the executor for the launcher of the configuration."""
    launcher = dict(composer.config.hydra.launcher)
    if launcher["_target_"] == BASIC_LAUNCHER:
        return LocalExecutor(job_of, queued=0 if composer.config.fail_fast else 1)
    if launcher["_target_"] == PARALLEL:
        check_settings(launcher, ParallelExecutor, "hydra.launcher", ("job_of", "max_batch_size"))
        return ParallelExecutor(job_of, max_batch_size, n_jobs=launcher["n_jobs"])
    if launcher["_target_"] == BATCHED:
        check_settings(launcher, BatchedExecutor, "hydra.launcher", ("job_of", "max_batch_size"))
        return BatchedExecutor(job_of, max_batch_size, launcher["size"], launcher["n_jobs"])
    if launcher.get("workers") is not None:
        return WorkersExecutor(composer.config, job_of)
    return HydraLauncherExecutor(composer.context, composer.config, job_of, max_batch_size)
