"""What happens on `attnexp -m`: plan, engine, sweep."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import HydraContext
from omegaconf import DictConfig

from attnexp.sweeps.here import Here
from attnexp.sweeps.plan import Composer, make_plan
from attnexp.sweeps.report import show_plan
from attnexp.sweeps.sweep import Engine, Sweep


def sweep(
    context: HydraContext,
    config: DictConfig,
    arguments: Sequence[str],
    params: Mapping[str, Any],
    dry: bool,
) -> None:
    """Run every combination of the arguments that has not finished.

    `config` is what Hydra composed for the sweep as a whole, `params` are axes that the arguments
    may replace. Raises RunFailedError where a job failed.
    """
    before = HydraConfig.instance().cfg
    try:
        composer = Composer(context.config_loader, config)
        given = [f"{name}={value}" for name, value in params.items()]
        axes = composer.axes([*given, *arguments])
        plan = make_plan(composer, axes, config.rerun)
        if dry:
            show_plan(plan)
            return
        job_of = partial(composer.job, axes)
        engine: Engine = Here(job_of)
        Sweep(plan, engine, job_of, config.fail_fast).run()
    finally:
        HydraConfig.instance().cfg = before
