"""Runs a sweep over all combinations of the values that `attnexp -m` names."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from attnexp.config.hydra_internals import BASIC_LAUNCHER
from attnexp.config.schema import TARGET, check_settings, require_packages
from attnexp.config.words import check_unused
from attnexp.core import console
from attnexp.core.errors import (
    MachineError,
    RequestError,
    RunFailedError,
    first_line,
    is_full,
    writable,
)
from attnexp.runs import lock
from attnexp.runs.place import stamp
from attnexp.runs.plan_file import StoredPlan
from attnexp.runs.run_status import Status
from attnexp.runs.settings import GROUPS
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.launchers.base import Executor, JobOf
from attnexp.sweeps.launchers.batched import BatchedExecutor
from attnexp.sweeps.launchers.hydra import HydraLauncherExecutor, require_programs
from attnexp.sweeps.launchers.local import LocalExecutor, visible_gpus
from attnexp.sweeps.own_process import in_own_process
from attnexp.sweeps.plan import BATCHED, Composer, Plan, PlannedJob, make_plan, require_places
from attnexp.sweeps.pool import preloaded_for, record_end
from attnexp.sweeps.printed import (
    show_notes,
    show_outcomes,
    show_plan,
    show_results,
    warn_of_code,
)
from attnexp.sweeps.progress import SweepProgress, displayed
from attnexp.training.auto_device import may_take_gpu
from attnexp.training.native_steps import ask_compiler

PARALLEL = f"{LocalExecutor.__module__}.{LocalExecutor.__name__}"
"""The target of hydra/launcher=parallel."""

OWN_LAUNCHERS = (BASIC_LAUNCHER, PARALLEL, BATCHED)
"""The targets of the launchers whose jobs run on this machine."""

IMPORT = 60.0
"""Seconds to check that the modules of a sweep's choices can be imported. Later the jobs check."""

ATTEMPTS = 2
"""The number of starts of a job whose process dies without an outcome."""


def sweep(
    composer: Composer, arguments: Sequence[str], max_batch_size: int | None, dry_run: bool
) -> None:
    """Run every combination of the arguments' values that has not finished.

    With `dry_run` only the plan is shown. Raises RunFailedError if a job failed.
    """
    axes = composer.axes(arguments)
    executor = choose_executor(composer, partial(composer.job, axes), max_batch_size)
    try:
        plan = make_plan(composer, axes, composer.rerun)
        show_notes(plan)
        warn_of_code(plan)
        if plan.jobs and not plan.to_do:
            check_unused(composer.job(axes, plan.jobs[0]))
        if dry_run:
            require_fit(composer, plan, partial(composer.job, axes))
            show_plan(plan)
            return
        require_places(plan)
        run_compared(composer, plan, executor)
    finally:
        executor.stop()


def require_fit(composer: Composer, plan: Plan, job_of: JobOf) -> None:
    """Raise RequestError for a job to do that would be refused before training.

    One job of each configuration is built. For Hydra's launchers, whose jobs may run on machines
    with other devices, only settings are checked.
    """
    if not plan.to_do:
        return
    from attnexp.config.build import checked_makers, prepare  # which imports PyTorch

    here = composer.config.hydra.launcher._target_ in OWN_LAUNCHERS
    by_seed = ("seed", "data_seed")
    several = {
        str([own for own in job.settings.items() if own[0] not in by_seed]): job
        for job in reversed(plan.to_do)
    }
    with console.progress("check", len(several)) as advance:
        for place, job in enumerate(reversed(several.values())):
            advance(place, job.label)
            try:
                if here:
                    prepare(job_of(job))
                else:
                    checked_makers(job_of(job))
            except ValueError as error:
                raise RequestError(f"{job.label}: {error}") from error
        advance(len(several), "")


def require_machine(composer: Composer, plan: Plan, job_of: JobOf) -> None:
    """Raise RequestError for what a job to do needs and this machine lacks.

    Packages are checked, and devices if jobs run here, or else programs of the launcher.
    """
    if composer.config.hydra.launcher._target_ in OWN_LAUNCHERS:
        require_devices(plan)
    else:
        require_programs(composer.config.hydra)
    firsts = {
        str(target): (job, group)
        for job in reversed(plan.to_do)
        for group in GROUPS
        if (target := (job.settings.get(group) or {}).get(TARGET))
    }
    jobs = {job.folder: job_of(job) for job, _ in firsts.values()}
    choices = {target: jobs[job.folder].choice_of(group) for target, (job, group) in firsts.items()}
    preloaded = preloaded_for([*jobs.values()])
    with (
        console.status("loading PyTorch"),
        suppress(TimeoutError, ChildProcessError, RuntimeError),  # which the jobs will tell
    ):
        in_own_process(IMPORT, require_packages, choices, preloaded=preloaded)


def require_devices(plan: Plan) -> None:
    """Raise RequestError for a device of a job to do that this machine lacks."""
    names = {str(job.settings["device"]): job for job in reversed(plan.to_do)}
    for name, job in names.items():
        if name not in ("auto", "cpu"):
            from attnexp.training.device import choose_device  # which imports PyTorch

            try:
                choose_device(name)
            except RequestError as error:
                raise RequestError(f"{job.label}: {error}") from error


def run_compared(
    composer: Composer,
    plan: Plan,
    executor: Executor,
    before_results: Callable[[], None] = lambda: None,
) -> None:
    """Run the jobs of a plan, call `before_results`, and show results. Raises as `run_plan`."""
    failure = None
    try:
        run_plan(composer, plan, executor, composer.config.fail_fast)
    except RunFailedError as error:
        failure = error
    finally:
        before_results()
    show_results(composer, plan)
    if failure is not None:
        raise failure


def run_plan(composer: Composer, plan: Plan, executor: Executor, fail_fast: bool) -> None:
    """Run the jobs of a plan that have not finished. The plan is on disk until all have finished.

    Raises RequestError if the plan cannot be written, and as `require_machine` and `Scheduler.run`.
    """
    root = Path(composer.config.hydra.sweep.dir).absolute()
    stored = StoredPlan.of(root, [job.folder for job in plan.jobs])
    if plan.to_do:
        require_machine(composer, plan, executor.job_of)
        with writable("output_dir", root):
            stored.write()
        gpus = visible_gpus()
        settings = (job.settings for job in plan.to_do)
        ask_compiler(each for each in settings if not (gpus and may_take_gpu(each)))
    Scheduler(plan, executor, fail_fast).run()
    with suppress(OSError):  # its jobs have finished, so it tells `attnexp status` nothing more
        stored.remove()


def choose_executor(composer: Composer, job_of: JobOf, max_batch_size: int | None) -> Executor:
    """Return the executor for the launcher of the configuration.

    Raises RequestError for settings that the launcher does not have.
    """
    launcher = dict(composer.config.hydra.launcher)
    target = launcher["_target_"]
    if target not in OWN_LAUNCHERS:
        if max_batch_size is not None and max_batch_size < 1:
            raise RequestError(
                "hydra.sweeper.max_batch_size must be null for all jobs, or the number of them "
                f"from 1 on, got {max_batch_size}"
            )
        return HydraLauncherExecutor(composer, job_of, max_batch_size)
    if max_batch_size is not None:
        raise RequestError(
            "hydra.sweeper.max_batch_size is for Hydra's launchers, such as joblib: leave it out, "
            "or give hydra.launcher.n_jobs with hydra/launcher=parallel"
        )
    if target == BASIC_LAUNCHER:
        return LocalExecutor(job_of, n_jobs=1)
    if target == PARALLEL:
        check_settings(launcher, LocalExecutor, "hydra.launcher", ("job_of",))
        return LocalExecutor(job_of, launcher["n_jobs"])
    check_settings(launcher, BatchedExecutor, "hydra.launcher", ("job_of",))
    return BatchedExecutor(job_of, launcher["size"], launcher["n_jobs"])


class FailedFastError(Exception):
    """A job has failed under fail_fast=true."""


class Scheduler:
    """Runs the jobs of a plan on an executor."""

    def __init__(self, plan: Plan, executor: Executor, fail_fast: bool) -> None:
        self._plan = plan
        self._executor = executor
        self._fail_fast = fail_fast
        self._deaths: Counter[Path] = Counter()
        on_failure = executor.cancel if fail_fast else lambda: None
        self._progress = SweepProgress(plan.to_do, on_failure)

    def run(self) -> None:
        """Run the jobs that have not finished, and show the outcomes.

        The executor can be used again afterwards, unless the sweep was interrupted. Raises
        RunFailedError if a job has not finished, MachineError if the disk was full for one, and
        KeyboardInterrupt with the number of finished jobs if the sweep was interrupted.
        """
        try:
            with displayed(self._progress):
                self._run_rounds()
        except BaseException as error:
            self._executor.stop()
            self._progress.record_interrupted()
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(
                    f"interrupted: {self._finished()} of {len(self._plan.jobs)} jobs are "
                    "done; the same command goes on with the rest"
                ) from None
            if not isinstance(error, FailedFastError):
                raise
            console.print_line("fail_fast=true: the remaining jobs are not run")
        finally:
            show_outcomes(self._plan.jobs, self._outcomes())
        total = len(self._plan.jobs)
        if failed := self._count(Status.FAILED):
            sentence = f"{failed} of {total} jobs failed; the same command runs them again"
            errors = (outcome.error for outcome in self._outcomes().values())
            if full := next(filter(is_full, errors), None):
                raise MachineError(f"{sentence}: {first_line(full)}")
            raise RunFailedError(sentence)
        if missing := total - self._finished():
            raise RunFailedError(
                f"{missing} of {total} jobs have not run to the end; the same command runs them"
            )

    def _run_rounds(self) -> None:
        """Run the remaining jobs in rounds, until none remain or a round starts none.

        Waits for jobs that another process runs.
        """
        announced, started = False, True
        while started and (remaining := self._progress.remaining):
            held = {job.folder for job in remaining if lock.is_held(job.folder)}
            self._progress.elsewhere |= held
            free = [job for job in remaining if job.folder not in held]
            if free:
                started = self._run_round(free)
                continue
            if not announced:
                console.print_line(f"waiting for {len(held)} jobs that another process is running")
                announced = True
            time.sleep(lock.RETRY)
            self._progress.update()

    def _run_round(self, jobs: Sequence[PlannedJob]) -> bool:
        """Run jobs, and return whether any of them was started."""
        before = {job.folder: stamp(job.folder) for job in jobs}
        unreported = {job.folder: job for job in jobs}
        for job, outcome in self._executor.run(jobs, self._check_failures):
            del unreported[job.folder]
            if outcome.status is Status.RUNNING:
                self._progress.elsewhere.add(job.folder)
            else:
                self._progress.record(job, outcome)
            self._check_failures()
        self._progress.update()
        started = [job for folder, job in unreported.items() if stamp(folder) != before[folder]]
        for job in started:
            self._count_death(job)
        return len(unreported) < len(jobs) or bool(started)

    def _count_death(self, job: PlannedJob) -> None:
        """Record as failed a job whose process has died too often without reporting an outcome."""
        if job.refreshed().found.status in (Status.DIED, Status.INTERRUPTED):
            self._deaths[job.folder] += 1
            if self._deaths[job.folder] == ATTEMPTS:
                error = "its process died twice without an error"
                ending = record_end(self._executor.job_of(job), None, Status.FAILED, error)
                self._progress.record(job, ending)

    def _check_failures(self) -> None:
        if self._fail_fast and self._progress.failed:
            raise FailedFastError

    def _outcomes(self) -> dict[Path, JobOutcome]:
        finished = [job for job in self._plan.jobs if job.found.status is Status.FINISHED]
        return {
            job.folder: JobOutcome(Status.SKIPPED) for job in finished
        } | self._progress.outcomes

    def _finished(self) -> int:
        return self._count(Status.FINISHED, Status.SKIPPED)

    def _count(self, *statuses: Status) -> int:
        return sum(outcome.status in statuses for outcome in self._outcomes().values())
