"""Jobs through one of Hydra's launchers: submitit, Ray or another.

The launcher decides where and when. In its process a `Task` hands the job to a worker process, as
on this machine, so that nothing a job does can reach the launcher, which would lose other jobs.
"""

import base64
import copy
import fcntl
import logging
import os
import pickle
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import DictConfig, open_dict, read_write

from attnexp import console
from attnexp.config.hydra_internals import ConfigLoaderImpl
from attnexp.config.job import HYDRA, Job, register_resolvers
from attnexp.runs import lock
from attnexp.runs.state import look
from attnexp.sweeps.executors.base import Engine, JobOf
from attnexp.sweeps.outcome import Outcome, first_line
from attnexp.sweeps.plan import Planned, folder_of, make_portable
from attnexp.sweeps.worker_process import GRACE, Worker

LOOK = 1.0
"""Seconds between two looks at whether the sweep still wants a job."""

log = logging.getLogger(__name__)


class Launched(Engine):
    """Runs jobs through a launcher.

    `max_batch_size` is how many jobs it is given at a time, None for all of them.
    """

    def __init__(
        self,
        context: HydraContext,
        config: DictConfig,
        job_of: JobOf,
        max_batch_size: int | None,
    ) -> None:
        self._job_of = job_of
        self._ticket = Ticket(Path(config.hydra.sweep.dir).absolute())
        task = Task(config.hydra, self._ticket.path)
        loader = Composed(context.config_loader.get_search_path())
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(config_loader=loader, callbacks=context.callbacks),
            task_function=task,
            config=config,
        )
        self._size = max_batch_size
        self._begun: list[Planned] = []

    def get_ready(self, job: Planned) -> None:
        pass  # the launcher decides where and when

    def run(
        self, jobs: Sequence[Planned], glance: Callable[[], None]
    ) -> Iterator[tuple[Planned, Outcome]]:
        self._ticket.open()
        size = self._size or len(jobs)
        for start in range(0, len(jobs), size):
            self._begun = list(jobs[start : start + size])
            for job, returned in zip(self._begun, self._launch(self._begun), strict=False):
                if returned.status == JobStatus.COMPLETED:
                    yield job, returned.return_value
                else:
                    log.warning("%s: %s", job.label, returned._return_value)
            glance()
        self._begun = []

    def cancel(self) -> None:
        self._ticket.withdraw()

    def stop(self) -> Iterable[tuple[Planned, Outcome]]:
        self._ticket.withdraw()
        end = time.monotonic() + GRACE + 2 * LOOK
        while time.monotonic() < end and any(lock.is_held(job.folder) for job in self._begun):
            time.sleep(lock.RETRY)
        looks = [(job, look(job.folder, job.settings)) for job in self._begun]
        self._begun = []
        return [
            (job, Outcome("done" if found.state == "finished" else "interrupted"))
            for job, found in looks
            if found.state in ("finished", "interrupted", "died", "running")
        ]

    def _launch(self, jobs: Sequence[Planned]) -> Sequence[JobReturn]:
        words = [[Composed.word(self._job_of(job))] for job in jobs]
        try:
            return self._launcher.launch(words, initial_job_idx=jobs[0].number)
        except Exception as error:
            # Launchers give up all results when one of their processes dies. The jobs' own files
            # tell what was done, and the sweep launches the rest again.
            console.warn(f"the launcher stopped early: {first_line(str(error))}")
            return []


class Composed(ConfigLoaderImpl):
    """Hydra's loader, for jobs that are composed already.

    A launcher has each job composed once more, in its own process or one after another in ours, and
    gives no more than words for it. So our word for a job is its configuration.
    """

    @staticmethod
    def word(job: Job) -> str:
        """The word for a job, with which the launcher writes nothing into the job's folder.

        It would do so without the folder's lock. What is to be written the worker writes.
        """
        hydra = job.config.hydra
        with read_write(hydra), open_dict(hydra):
            hydra.sweep.subdir = "."
            hydra.output_subdir = None
            hydra.job_logging = {"root": None}
        return base64.b64encode(pickle.dumps(job.config)).decode()

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        return cast(DictConfig, pickle.loads(base64.b64decode(sweep_overrides[0])))


class Ticket:
    """A file that exists as long as a sweep wants its jobs, wherever they wait or run.

    Whoever wrote it holds a lock on it. One that is not locked belongs to a sweep that is gone.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ".sweeps" / secrets.token_hex(6)
        self._file: int | None = None

    def open(self) -> None:
        """Write the file, and withdraw those of sweeps that are gone."""
        if self._file is not None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for other in self.path.parent.iterdir():
            _withdraw_if_orphan(other)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def withdraw(self) -> None:
        """Remove the file: jobs that have not begun do not, and those that run are interrupted."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):  # another sweep may have a file there
            self.path.parent.rmdir()


class Task:
    """What a launcher calls in a process of its own with the configuration of a job."""

    def __init__(self, hydra: DictConfig, ticket: Path) -> None:
        self._hydra = copy.deepcopy(hydra)
        make_portable(self._hydra)
        self._ticket = ticket

    def __call__(self, config: DictConfig) -> Outcome:
        """Run the job in this process's worker, and return how it ended."""
        if not self._ticket.exists():
            return Outcome("not run")
        worker = _worker()
        looked = time.monotonic()

        def glance() -> None:
            nonlocal looked
            if time.monotonic() - looked > LOOK:
                looked = time.monotonic()
                if not self._ticket.exists():
                    raise KeyboardInterrupt

        try:
            worker.submit(self._job(config))
            return worker.wait(glance)
        except KeyboardInterrupt:
            return worker.interrupt() or Outcome("interrupted")
        except Exception as error:
            return Outcome("failed", f"{type(error).__name__}: {error}")

    def _job(self, config: DictConfig) -> Job:
        """The job as Hydra composed it, with the sweep's own words on where and how to record."""
        register_resolvers()
        here = HydraConfig.get()
        with read_write(config), open_dict(config):
            config[HYDRA] = self._hydra
        hydra = config[HYDRA]
        with read_write(hydra), open_dict(hydra):
            hydra.overrides.task = here.overrides.task
            hydra.runtime.choices = here.runtime.choices
            hydra.job.override_dirname = here.job.override_dirname
            hydra.job.num, hydra.job.id = here.job.num, here.job.id
        return Job(config, folder_of(config))


_workers: list[Worker] = []
"""The worker of this process, once there is one."""


def _worker() -> Worker:
    if not _workers:
        _workers.append(Worker())
    return _workers[0]


def _withdraw_if_orphan(ticket: Path) -> None:
    try:
        file = os.open(ticket, os.O_RDWR)
    except OSError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ticket.unlink(missing_ok=True)
    except OSError:
        pass  # its sweep is alive
    finally:
        os.close(file)
