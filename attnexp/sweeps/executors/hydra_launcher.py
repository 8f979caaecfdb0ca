"""The executor of a sweep with one of Hydra's launchers: submitit, Ray or another.

The launcher decides where and when a job runs. In the launcher's process the job is sent to a
worker process, so that a job that crashes does not end the launcher's process, with which other
jobs would be lost.
"""

import base64
import copy
import logging
import os
import pickle
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from attnexp import console
from attnexp.config.composition import Loader, require_plugin
from attnexp.config.hydra_internals import ConfigLoaderImpl
from attnexp.config.job import HYDRA, Job, register_resolvers
from attnexp.config.trust import without_user_modules
from attnexp.errors import RequestError
from attnexp.redaction import recorded
from attnexp.runs import lock
from attnexp.runs.files import require_no_link
from attnexp.runs.settings import leaves
from attnexp.runs.state import look
from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.executors.workers import SETTINGS
from attnexp.sweeps.outcome import GRACE, Outcome, first_line
from attnexp.sweeps.plan import PlannedJob, folder_of, make_portable
from attnexp.sweeps.worker_process import WorkerProcess

OF_OVERRIDES = ("hydra.overrides.", "hydra.job.override_dirname")
"""What Hydra copies from overrides: the settings themselves are elsewhere."""

POLL = 1.0
"""Seconds between two checks, beside a running job, of whether the sweep is still active."""

log = logging.getLogger(__name__)


class HydraLauncherExecutor(Executor):
    """Runs jobs through a launcher of Hydra's.

    `config` is the configuration that Hydra composed for the sweep as a whole.
    """

    def __init__(
        self,
        context: HydraContext,
        config: DictConfig,
        job_of: JobOf,
        max_batch_size: int | None,
    ) -> None:
        super().__init__(job_of, max_batch_size)
        require_plugin("launcher", config.hydra.launcher["_target_"], Launcher)
        self._marker = ActiveMarker(Path(config.hydra.sweep.dir).absolute())
        config = _without_workers(config)
        composed = context.config_loader
        assert isinstance(composed, Loader)
        loader = EncodedConfigLoader(composed.get_search_path())
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(config_loader=loader, callbacks=context.callbacks),
            task_function=LauncherTask(config.hydra, self._marker.path, composed.command),
            config=config,
        )
        self._launched: list[PlannedJob] = []
        # Its processes would otherwise look for modules in the current directory first.
        os.environ["PYTHONSAFEPATH"] = "1"

    def _run_batch(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
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

    def stop(self) -> Iterable[tuple[PlannedJob, Outcome]]:
        self._marker.remove()
        end = time.monotonic() + GRACE + 2 * POLL
        while time.monotonic() < end and any(lock.is_held(job.folder) for job in self._launched):
            time.sleep(lock.RETRY)
        found = [(job, look(job.folder, job.settings).state) for job in self._launched]
        self._launched = []
        return [
            (job, Outcome("done" if state == "finished" else "interrupted"))
            for job, state in found
            if state in ("finished", "interrupted", "died", "running")
        ]

    def _launch(self, jobs: Sequence[PlannedJob]) -> Sequence[JobReturn]:
        overrides = [[EncodedConfigLoader.encode(self._job_of(job))] for job in jobs]
        try:
            with without_user_modules():
                return self._launcher.launch(overrides, initial_job_idx=jobs[0].number)
        except Exception as error:
            # Launchers drop all results when one of their processes dies. The run folders show
            # which jobs have ended, and the scheduler launches the others again.
            console.warn(f"the launcher stopped early: {first_line(str(error))}")
            return []


def _without_workers(config: DictConfig) -> DictConfig:
    """Return the configuration without settings of workers, which no launcher knows."""
    config = copy.deepcopy(config)
    make_portable(config.hydra)
    with read_write(config.hydra), open_dict(config.hydra):
        for name in SETTINGS:
            config.hydra.launcher.pop(name, None)
    return config


class EncodedConfigLoader(ConfigLoaderImpl):
    """Reads a job's composed configuration from the one override of that job.

    A launcher composes every job again, in its own process or one after another in this one, and
    passes on nothing but overrides. The override of a job is therefore its encoded configuration.
    A process that receives the loader finds the user's modules from then on, as callbacks need
    them.
    """

    def __init__(self, search_path: ConfigSearchPath) -> None:
        super().__init__(search_path)
        self._path = tuple(sys.path)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        sys.path += [folder for folder in self._path if folder not in sys.path]

    @staticmethod
    def encode(job: Job) -> str:
        """Encode the configuration of a job, changed so that the launcher writes no file itself.

        The launcher would write into the run folder without holding its lock. `LauncherTask` puts
        the original settings back, and the worker process writes the files.
        """
        hydra = job.config.hydra
        require_no_secrets(job)
        with read_write(hydra), open_dict(hydra):
            hydra.sweep.subdir = "."
            hydra.output_subdir = None
            hydra.job_logging = {"root": None}
        return base64.b64encode(pickle.dumps(job.config)).decode()

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        return cast(DictConfig, pickle.loads(base64.b64decode(sweep_overrides[0])))


def require_no_secrets(job: Job) -> None:
    """Raise RequestError for a secret among the settings, which a launcher may write to files."""
    typed = cast(
        dict[str, Any], OmegaConf.to_container(job.config, resolve=False, enum_to_str=True)
    )
    written = dict(leaves(recorded(typed)))
    for name, value in leaves(typed):
        if not name.startswith(OF_OVERRIDES) and written[name] != value:
            raise RequestError(
                f"{name} is a secret, and this launcher writes settings into files: give it as "
                f"{name}='${{oc.env:NAME}}', and NAME in the environment"
            )


class ActiveMarker:
    """A folder that exists while a sweep is active, for its jobs on any machine to see.

    The sweep holds the folder's lock. A folder that is not locked is left over from a sweep whose
    process was killed.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".sweeps" / secrets.token_hex(6)
        self._lock = ExitStack()
        self._created = False

    def create(self) -> None:
        """Create the folder unless it was created before, and remove those that are left over."""
        if self._created:
            return
        require_no_link(self.path.parent)
        lock.require_own(self.path.parent)
        for other in self.path.parent.glob("*"):
            if not lock.is_held(other):
                _remove(other)
        self._lock.enter_context(lock.hold(self.path))
        self._created = True

    def remove(self) -> None:
        """Remove the folder. Running jobs are interrupted then, and waiting jobs do not start."""
        self._lock.close()  # NFS keeps a file that is open
        _remove(self.path)
        with suppress(OSError):  # another sweep may have a folder there
            self.path.parent.rmdir()


def _remove(marker: Path) -> None:
    """Remove a marker. A folder that holds anything but a lock is none of ours, and stays."""
    with suppress(OSError):
        (marker / lock.LOCK).unlink(missing_ok=True)
        marker.rmdir()


class LauncherTask:
    """The function that a launcher calls, in a process of its own, with a job's configuration."""

    def __init__(self, hydra: DictConfig, marker: Path, command: str | None) -> None:
        self._hydra = copy.deepcopy(hydra)
        make_portable(self._hydra)
        self._marker = marker
        self._command = command

    def __call__(self, config: DictConfig) -> Outcome:
        """Run the job in a worker process and return its outcome."""
        if not self._marker.exists():
            return Outcome("not run")
        last_check = time.monotonic()

        def interrupt_if_inactive() -> None:
            nonlocal last_check
            if time.monotonic() - last_check > POLL:
                last_check = time.monotonic()
                if not self._marker.exists():
                    raise KeyboardInterrupt

        try:
            outcome = _worker().run(self._job(config), interrupt_if_inactive)
        except Exception as error:
            return Outcome("failed", f"{type(error).__name__}: {error}")
        return outcome or Outcome("interrupted")

    def _job(self, config: DictConfig) -> Job:
        """Return the job with the settings of the sweep for output, which `encode` replaced."""
        register_resolvers()
        composed = HydraConfig.get()
        with read_write(config), open_dict(config):
            config[HYDRA] = self._hydra
        hydra = config[HYDRA]
        with read_write(hydra), open_dict(hydra):
            hydra.overrides.task = composed.overrides.task
            hydra.runtime.choices = composed.runtime.choices
            hydra.job.override_dirname = composed.job.override_dirname
            hydra.job.num, hydra.job.id = composed.job.num, composed.job.id
        return Job(config, folder_of(config), self._command)


@cache
def _worker() -> WorkerProcess:
    """Return the worker process of this process. All jobs that a launcher runs here share it."""
    return WorkerProcess()
