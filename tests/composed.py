"""Runs that are built in this process from the words of a command line."""

from functools import cache
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig

from attnexp.config import build
from attnexp.config.groups import conf_dir
from attnexp.config.hydra_internals import VERSION_BASE
from attnexp.config.job import Job, identified
from attnexp.config.resolved import register_resolvers
from attnexp.runs.place import Place
from attnexp.runs.summary import Summary
from attnexp.trackers.none import NoTracker
from attnexp.training.loop import Training
from attnexp.training.precision import choose_precision
from attnexp.training.prepared_run import PreparedRun


def composed(*words: str, device: str = "cpu") -> DictConfig:
    register_resolvers()
    GlobalHydra.instance().clear()  # another test may have left its own
    with initialize_config_dir(str(conf_dir()), **VERSION_BASE):
        return compose("config", [*words, f"device={device}"], return_hydra_config=True)


def job_of(config: DictConfig, folder: Path = Path()) -> Job:
    settings, key, code = identified(config)
    return Job(config, settings, Place(folder, key, code))


def prepared(*words: str, device: str = "cpu") -> PreparedRun:
    return build.prepare(job_of(composed(*words, device=device)))


@cache
def _opening() -> Summary:
    return job_of(composed()).first_summary()


def training(model, dataset, task, optimizer, schedule, settings, order) -> Training:
    """Return the training of parts that no configuration has built."""
    cpu = torch.device("cpu")
    run = PreparedRun(
        config={"graphs": True},
        opening=_opening(),
        device=cpu,
        why_device="",
        precision=choose_precision("fp32", cpu),
        dataset=dataset,
        model=model,
        task=task,
        optimizer=optimizer,
        schedule=schedule,
        settings=settings,
        tracker=NoTracker(),
        order=order,
        untrained=[],
    )
    return Training(run)
