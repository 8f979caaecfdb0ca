"""The sweeper that searches."""

from collections.abc import Mapping
from typing import Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class OptunaSweeper(Sweeper):
    """Points that Optuna proposes, `n_trials` in total, `at_once` of them beside each other.

    `metric` null is the task's own for selection. `params` are words that the command line may
    replace, as an experiment gives them.
    """

    def __init__(
        self,
        n_trials: int,
        at_once: int = 1,
        metric: str | None = None,
        sampler_seed: int = 0,
        params: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> None:
        self.n_trials = n_trials
        self.at_once = at_once
        self.metric = metric
        self.sampler_seed = sampler_seed
        self.params = dict(params or {})
        self.dry_run = dry_run

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.hydra_context = hydra_context
        self.config = config

    def sweep(self, arguments: list[str]) -> None:
        from attnexp.sweeps.multirun import search
        from attnexp.sweeps.search.loop import Wanted

        search(
            self.hydra_context,
            self.config,
            arguments,
            self.params,
            Wanted(self.n_trials, self.at_once, self.metric),
            self.sampler_seed,
            self.dry_run,
        )
