"""The sweeper that runs what is missing."""

from collections.abc import Mapping
from typing import Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class AttnexpSweeper(Sweeper):
    """Every combination of the values, each once, and none that has finished before.

    `params` are axes that the command line may replace, as an experiment gives them. A launcher is
    given `max_batch_size` jobs at a time, or all of them. With `dry_run` nothing is run.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        max_batch_size: int | None = None,
        dry_run: bool = False,
    ) -> None:
        self.params = dict(params or {})
        self.max_batch_size = max_batch_size
        self.dry_run = dry_run

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.hydra_context = hydra_context
        self.config = config

    def sweep(self, arguments: list[str]) -> None:
        from attnexp.sweeps.multirun import sweep

        sweep(
            self.hydra_context,
            self.config,
            arguments,
            self.params,
            self.max_batch_size,
            self.dry_run,
        )
