"""Three settings more for submitit's launchers, which submit workers of a sweep and not its jobs.

Nothing is here where these launchers are not installed.
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
        """Submit so many `workers`, each with `jobs_at_once`, and wait for them unless `detach`."""

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
    """Put these settings in the place of submitit's, which Hydra has registered by now."""
    for name, settings in SUBMITIT.items():
        ConfigStore.instance().store(name, settings(), group="hydra/launcher", provider="attnexp")
