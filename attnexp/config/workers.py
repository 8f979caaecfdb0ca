"""Three more settings for submitit's launchers, with which they submit workers and not single jobs.

Empty where these launchers are not installed.
"""

from contextlib import suppress
from dataclasses import dataclass

from hydra.core.config_store import ConfigStore

SUBMITIT: dict[str, type] = {}
"""The settings of submitit's launchers, by the name of the choice."""

with suppress(ImportError):
    from hydra_plugins.hydra_submitit_launcher.config import LocalQueueConf, SlurmQueueConf

    @dataclass
    class Workers:
        """Submit `workers`, each with `jobs_at_once`, and wait for them unless `detach`."""

        workers: int | None = None
        jobs_at_once: int = 1
        detach: bool = False

    @dataclass
    class LocalWorkers(Workers, LocalQueueConf):
        """The settings of hydra/launcher=submitit_local."""

    @dataclass
    class SlurmWorkers(Workers, SlurmQueueConf):
        """The settings of hydra/launcher=submitit_slurm, on which slurm.yaml builds."""

    SUBMITIT |= {"submitit_local": LocalWorkers, "submitit_slurm": SlurmWorkers}


def register_workers() -> None:
    """Replace submitit's settings, which Hydra has registered before."""
    for name, settings in SUBMITIT.items():
        ConfigStore.instance().store(name, settings(), group="hydra/launcher", provider="attnexp")
