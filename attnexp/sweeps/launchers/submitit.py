"""The executor of a sweep with hydra.launcher.workers: it submits workers, and not jobs.

A worker is the command line of the sweep once more, with hydra/launcher=parallel. Each takes the
jobs that no other has, so workers can be added, and one that ends takes nothing with it. An array
of SLURM's or an indexed job of Kubernetes' that runs that line is the same.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from attnexp import console
from attnexp.errors import RequestError
from attnexp.sweeps.launchers.base import Executor, JobOf
from attnexp.sweeps.outcome import GRACE, Outcome, first_line
from attnexp.sweeps.plan import PlannedJob

SETTINGS = ("workers", "jobs_at_once", "detach")
"""The settings of a launcher that are about workers, and not the launcher's own."""

POLL = 0.2
"""Seconds between two looks at the workers."""


class WorkersExecutor(Executor):
    """Runs jobs in `workers` of a queue, each of which runs `jobs_at_once`.

    `config` is the configuration that Hydra composed for the sweep as a whole. `detach` says that
    the workers are not to be waited for. Raises RequestError for settings that workers cannot do,
    and where there is no such queue.
    """

    def __init__(self, config: DictConfig, job_of: JobOf) -> None:
        super().__init__(job_of, None)
        launcher = config.hydra.launcher
        self._workers: int = launcher.workers
        self._at_once: int = launcher.jobs_at_once
        self.detach: bool = launcher.detach
        for name in ("workers", "jobs_at_once"):
            if launcher[name] < 1:
                raise RequestError(f"hydra.launcher.{name} must be 1 or more, got {launcher[name]}")
        if config.rerun:
            raise RequestError("rerun=true and workers: each would run every job. Leave one out")
        if config.hydra.runtime.choices["hydra/sweeper"] == "optuna":
            raise RequestError(
                "hydra/sweeper=optuna hands out its points itself: leave workers out"
            )
        self._line = worker_line(config)
        with _refused():
            self._queue = _queue(launcher)
        self._submitted: Sequence[Any] = ()

    def submit(self, jobs: Sequence[PlannedJob]) -> int:
        """Submit the workers that these jobs need, and return their number."""
        count = min(self._workers, math.ceil(len(jobs) / self._at_once))
        here = os.getcwd()
        with _refused():
            submitted = self._queue.map_array(work, [self._line] * count, [here] * count)
        if not self.detach:
            self._submitted = submitted
        return count

    def _run_batch(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        """Wait until the workers have ended. How the jobs have ended is in their folders."""
        self.submit(jobs)
        while not all(worker.done() for worker in self._submitted):
            on_wait()
            time.sleep(POLL)
        said = {_last_line(worker.paths.stderr): worker.paths.stdout for worker in self._submitted}
        for last, path in said.items():
            if last:
                console.warn(f"a worker ended with: {last} (what else it said: {path})")
        self._submitted = ()
        yield from ()

    def stop(self) -> None:
        for worker in self._submitted:
            worker.cancel(check=False)
        end = time.monotonic() + GRACE
        while time.monotonic() < end and not all(each.done() for each in self._submitted):
            time.sleep(POLL)
        self._submitted = ()


def work(line: Sequence[str], folder: str) -> None:
    """Become a worker, which the queue can then stop as any command.

    What a queue sends some time before its limit is ignored: SIGTERM at the limit is in time.
    """
    os.chdir(folder)
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "attnexp", *line])


def worker_line(config: DictConfig) -> list[str]:
    """Return the arguments of a worker: those of the sweep, on a part of the cores."""
    hydra = config.hydra
    given = [*hydra.overrides.hydra, *hydra.overrides.task]
    kept = [word for word in given if not word.lstrip("+~").startswith(_OTHERS)]
    folders = [
        str(source.path)
        for source in hydra.runtime.config_sources
        if source.provider == "command-line"
    ]
    return [
        "-m",
        *(f"--config-dir={folder}" for folder in folders),
        f"--config-name={hydra.job.config_name}",
        *kept,
        *(["figures=false"] if config.figures == "auto" else []),  # each would draw the same
        "hydra/launcher=parallel",
        f"hydra.launcher.n_jobs={hydra.launcher.jobs_at_once}",
    ]


_OTHERS = ("hydra/launcher", "hydra.launcher.", "hydra.mode", "hydra.sweeper.dry_run")
"""The words of a sweep that do not hold for its workers."""


@contextmanager
def _refused() -> Iterator[None]:
    """Make it a sentence that a queue is not there or takes no workers."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        raise RequestError(f"workers cannot be submitted: {first_line(str(error))}") from error


def _queue(launcher: DictConfig) -> Any:
    """Return submitit's executor with the settings of a launcher."""
    import submitit
    from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

    cluster = launcher._target_.rpartition(".")[2].removesuffix("Launcher").lower()
    plain: Any = OmegaConf.to_container(launcher, resolve=True)
    settings = {
        name if name in BaseQueueConf.__dataclass_fields__ else f"{cluster}_{name}": value
        for name, value in plain.items()
        if name not in (*SETTINGS, "_target_")
    }
    folder = Path(settings.pop("submitit_folder")).absolute()
    limit = f"{cluster}_max_num_timeout"  # which submitit takes when an executor is made
    early = {limit: settings.pop(limit)} if limit in settings else {}
    queue = submitit.AutoExecutor(folder, cluster, **early)
    queue.update_parameters(**settings)
    return queue


def _last_line(path: Path) -> str:
    """Return the last line of what a worker wrote of its errors, "" where it wrote none."""
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
