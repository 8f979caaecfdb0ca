"""The executor of a sweep with one of Hydra's launchers: submitit, Ray or another.

The launcher decides where and when a job runs. The launcher's process sends the job to a worker
process, so that a job that crashes does not end the launcher's process and lose other jobs.
"""

import base64
import copy
import logging
import os
import pickle
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext
from omegaconf import DictConfig, open_dict, read_write

from attnexp.config.compose import require_plugin
from attnexp.config.hydra_internals import ConfigLoaderImpl, logging_allowed
from attnexp.config.job import Job
from attnexp.config.resolved import register_resolvers, resolved
from attnexp.config.trust import without_user_modules
from attnexp.core import console
from attnexp.core.errors import RequestError, first_line
from attnexp.runs import lock
from attnexp.runs.place import Place
from attnexp.runs.run_status import Status
from attnexp.runs.summary import error_text
from attnexp.sweeps.job_outcome import GRACE, JobOutcome
from attnexp.sweeps.launchers.base import Executor, JobOf
from attnexp.sweeps.plan import Composer, PlannedJob, make_portable
from attnexp.sweeps.pool import WorkerProcess

JOB = "attnexp_job"
"""The setting that holds the encoded job in the configuration that a launcher passes on."""

PROGRAMS = {
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher": ("sbatch", "srun"),
}
"""The programs that a launcher calls, by its target."""

log = logging.getLogger(__name__)


class HydraLauncherExecutor(Executor):
    """Runs jobs through a launcher of Hydra's.

    The launcher is given `max_batch_size` jobs at a time, or all jobs for None.
    """

    def __init__(self, composer: Composer, job_of: JobOf, max_batch_size: int | None) -> None:
        super().__init__(job_of)
        context, config = composer.context, composer.config
        self._max_batch_size = max_batch_size
        require_plugin("launcher", config.hydra.launcher["_target_"], Launcher)
        self._marker = ActiveMarker(Path(config.hydra.sweep.dir).absolute())
        self._logging = config.hydra.hydra_logging
        portable = copy.deepcopy(config)
        make_portable(portable.hydra)
        loader = JobLoader(cast(ConfigLoaderImpl, context.config_loader).get_search_path())
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(config_loader=loader, callbacks=context.callbacks),
            task_function=partial(run_launched, self._marker.path),
            config=portable,
        )
        self._launched: list[PlannedJob] = []
        # Its processes would otherwise look for modules in the current directory first.
        os.environ["PYTHONSAFEPATH"] = "1"

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, JobOutcome]]:
        size = self._max_batch_size or len(jobs)
        for start in range(0, len(jobs), size):
            yield from self._run_batch(jobs[start : start + size])
            on_wait()

    def _run_batch(self, jobs: Sequence[PlannedJob]) -> Iterator[tuple[PlannedJob, JobOutcome]]:
        self._marker.create()
        self._launched = list(jobs)
        for job, returned in zip(jobs, self._launch(jobs), strict=False):
            if returned.status == JobStatus.COMPLETED:
                yield job, returned.return_value
            else:
                log.warning("%s: %s", job.label, returned._return_value)
        self._launched = []

    def cancel(self) -> None:
        self._marker.remove()

    def stop(self) -> None:
        self._marker.remove()
        end = time.monotonic() + GRACE + 2.0
        while time.monotonic() < end and any(lock.is_held(job.folder) for job in self._launched):
            time.sleep(lock.RETRY)
        self._launched = []

    def _launch(self, jobs: Sequence[PlannedJob]) -> Sequence[JobReturn]:
        overrides = [[encoded(self.job_of(job))] for job in jobs]
        try:
            with without_user_modules(), logging_allowed(self._logging):
                return self._launcher.launch(overrides, initial_job_idx=jobs[0].number)
        except Exception as error:
            # Launchers drop all results when one of their processes dies. The run folders show
            # which jobs have ended, and the scheduler launches the others again.
            console.warn(f"the launcher stopped early: {first_line(str(error))}")
            return []


def require_programs(hydra: DictConfig) -> None:
    """Raise RequestError if a program that the launcher calls is not on this machine."""
    for program in PROGRAMS.get(hydra.launcher["_target_"], ()):
        if shutil.which(program) is None:
            chosen = hydra.runtime.choices["hydra/launcher"]
            raise RequestError(
                f"hydra/launcher={chosen} needs the program {program}, which is not on this "
                "machine's PATH: start the sweep where it is, or choose hydra/launcher=parallel"
            )


class JobLoader(ConfigLoaderImpl):
    """Reads a job from its only override.

    A launcher composes every job again, in this process or in another, and passes on nothing but
    overrides. The override of a job is therefore the encoded job. A process that unpickles the
    loader finds the user's modules from then on.
    """

    def __init__(self, search_path: ConfigSearchPath) -> None:
        super().__init__(search_path)
        self._path = tuple(sys.path)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        sys.path += [folder for folder in self._path if folder not in sys.path]

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        """Return the configuration of a job, with the encoded job in `JOB`.

        The launcher itself must write no file: it would not hold the lock of the run folder.
        """
        config = _parts(sweep_overrides[0])[0]
        hydra = config.hydra
        with read_write(config), open_dict(config):
            config[JOB] = sweep_overrides[0]
        with read_write(hydra), open_dict(hydra):
            hydra.sweep.subdir = "."
            hydra.output_subdir = None
            hydra.job_logging = {"root": None}
        return config


def encoded(job: Job) -> str:
    """Return a job as text, without resolved values: a launcher writes the text to files."""
    return base64.b64encode(pickle.dumps((job.config, job.place, job.command))).decode()


def decoded(text: str) -> Job:
    """Return the job of an encoded text, resolved in this process."""
    config, place, command = _parts(text)
    return Job(config, resolved(config), place, command)


def _parts(text: str) -> tuple[DictConfig, Place, str | None]:
    parts: tuple[DictConfig, Place, str | None] = pickle.loads(base64.b64decode(text))
    return parts


class ActiveMarker:
    """A file that exists while a sweep is active, for its jobs on any machine to see.

    After the process of a sweep is killed, the file stays, and the jobs go on to their end.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".sweeps" / secrets.token_hex(6)
        self._created = False

    def create(self) -> None:
        """Create the file unless it was created before: a cancelled sweep stays cancelled."""
        if not self._created:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            self._created = True

    def remove(self) -> None:
        """Remove the file. Running jobs are interrupted then, and waiting jobs do not start."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # another sweep may have a file there
            self.path.parent.rmdir()


def run_launched(marker: Path, config: DictConfig) -> JobOutcome:
    """Run the job of a configuration in a worker process and return its outcome.

    A launcher calls this function in another process. Without the file `marker` the job is
    interrupted.
    """

    def interrupt_if_inactive() -> None:
        if not marker.exists():
            raise KeyboardInterrupt

    if not marker.exists():
        return JobOutcome(Status.NEW)
    register_resolvers()
    try:
        return _worker().run(decoded(config[JOB]), interrupt_if_inactive)
    except KeyboardInterrupt:
        return JobOutcome(Status.INTERRUPTED)
    except (Exception, SystemExit) as error:
        return JobOutcome(Status.FAILED, error_text(error))


@cache
def _worker() -> WorkerProcess:
    """Return the worker process of all jobs that a launcher runs in this process."""
    return WorkerProcess()
