"""Runs a sweep that tunes: rounds of tuning jobs, the choices, and the compared jobs."""

import math
from functools import partial
from pathlib import Path

from attnexp.core import console
from attnexp.core.errors import MachineError, RunFailedError
from attnexp.sweeps.launchers.base import Executor
from attnexp.sweeps.plan import Plan, plan_of, require_places
from attnexp.sweeps.printed import show_notes, show_plan, warn_of_code
from attnexp.sweeps.schedule import choose_executor, require_fit, run_compared, run_plan
from attnexp.sweeps.tuned.axes import Case
from attnexp.sweeps.tuned.jobs import Tried, TunedJobs, has_ended, jobs_in
from attnexp.sweeps.tuned.records import record
from attnexp.sweeps.tuned.shown import show_choices


def tuned_sweep(jobs: TunedJobs, max_batch_size: int | None, dry_run: bool) -> None:
    """Tune every configuration, then run it at the compared seeds.

    With `dry_run` only the plan is shown. Raises RunFailedError if a job failed.
    """
    composer, axes, tried = jobs.composer, jobs.axes, jobs.tried()
    plan = jobs.plan(tried)
    show_notes(plan)
    warn_of_code(plan)
    count = math.prod(len(axis.overrides) for axis in axes.fixed)
    named = console.count_text(count, "configuration")
    runs = console.count_text(len(jobs_in(tried.values())), "run")
    console.print_line(f"tuning {' and '.join(axes.starts)}: {runs} for {named}")
    job_of = partial(composer.job, axes.every)
    if dry_run:
        require_fit(composer, plan, job_of)
        show_plan(plan)
        if plan.to_do:
            seeds = len(axes.compared)
            console.print_line(f"then {named}, each at its best values, with {seeds} seeds")
        else:
            show_plan(jobs.plan(jobs.compared(jobs.choose(tried))))
        return
    require_places(plan)
    executor = choose_executor(composer, job_of, max_batch_size)
    try:
        tried = _run_tuning(jobs, plan, executor)
        chosen = jobs.choose(tried)
        show_choices(axes, chosen)
        record(jobs, chosen, tried, tuning_run=True)
        compared = jobs.compared(chosen)
        plan = jobs.plan(compared)
        show_notes(plan)
        mark = partial(record, jobs, chosen, compared, tuning_run=False)
        run_compared(composer, plan, executor, mark)
    finally:
        executor.stop()


def _run_tuning(jobs: TunedJobs, plan: Plan, executor: Executor) -> dict[Case, Tried]:
    """Run the tuning jobs, then the jobs that their results ask for, and return all of them."""
    composer, known = jobs.composer, set[Path]()
    while True:
        try:
            run_plan(composer, plan, executor, fail_fast=False)
        except RunFailedError as error:
            if isinstance(error, MachineError) or not all(map(has_ended, plan.jobs)):
                raise
        known |= {job.folder for job in plan.jobs}
        tried = jobs.tried()
        further = [job for job in jobs_in(tried.values()) if job.folder not in known]
        if not further:
            return tried
        plan = plan_of(further, composer.rerun)
        console.print_line(f"tuning goes on with {console.count_text(len(plan.jobs), 'run')}")
