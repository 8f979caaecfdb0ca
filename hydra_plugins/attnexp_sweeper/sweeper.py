"""attnexp's sweepers: every combination of the values, tuned or not."""

from collections.abc import Mapping, Sequence
from typing import Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class AttnexpSweeper(Sweeper):
    """Runs every combination of the values that has not finished.

    `params` are axes, which the command line may replace. One of Hydra's launchers is given
    `max_batch_size` jobs at a time, or all of them if it is None. With `dry_run` nothing is run.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        max_batch_size: int | None = None,
        dry_run: bool = False,
    ) -> None:
        self.params = [f"{name}={value}" for name, value in (params or {}).items()]
        self.max_batch_size = max_batch_size
        self.dry_run = dry_run

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.hydra_context = hydra_context
        self.config = config

    def sweep(self, arguments: list[str]) -> None:
        from attnexp.sweeps.plan import Composer
        from attnexp.sweeps.schedule import sweep

        with Composer(self.hydra_context, self.config) as composer:
            sweep(composer, [*self.params, *arguments], self.max_batch_size, self.dry_run)


class TunedSweeper(AttnexpSweeper):
    """Tunes settings of every configuration on validation data, and then runs it at all seeds.

    `tune` holds the tuned settings, as `name=values`, `seeds` the seeds of the runs that are tried,
    which are not compared. The choice goes by `metric`, which is the task's metric for selection if
    it is None. Up to `beyond` further numbers are tried on each side while the best one is at an
    end, and the two best, with the numbers that are tried after them, at the seeds `finals` too.
    """

    def __init__(
        self,
        tune: Sequence[str],
        seeds: Sequence[int],
        metric: str | None = None,
        beyond: int = 0,
        finals: Sequence[int] = (),
        params: Mapping[str, Any] | None = None,
        max_batch_size: int | None = None,
        dry_run: bool = False,
    ) -> None:
        super().__init__(params, max_batch_size, dry_run)
        self.settings = tune, seeds, metric, beyond, finals

    def sweep(self, arguments: list[str]) -> None:
        from attnexp.sweeps.plan import Composer
        from attnexp.sweeps.tuned.jobs import TunedJobs
        from attnexp.sweeps.tuned.settings import TuningSettings
        from attnexp.sweeps.tuned.sweep import tuned_sweep

        settings = TuningSettings(*self.settings)
        with Composer(self.hydra_context, self.config) as composer:
            jobs = TunedJobs(composer, [*self.params, *arguments], settings)
            tuned_sweep(jobs, self.max_batch_size, self.dry_run)
