"""The jobs of a sweep's command line, composed and not run."""

from collections.abc import Sequence
from typing import cast

from omegaconf import OmegaConf

from attnexp.config.compose import CommandLine
from attnexp.config.messages import ComposeErrors
from attnexp.sweeps.plan import Composer, PlannedJob, distinct


def jobs_of(words: Sequence[str]) -> list[PlannedJob]:
    """Return the jobs that `attnexp -m WORDS` names now, each with its key and its folder.

    The values that `hydra/sweeper=tuned` tries are values of an axis here. No folder of a run is
    read, and no code of the user's is run. Raises RequestError for words that make no sweep.
    """
    line = CommandLine.read(["-m", *words])
    try:
        context, config = line.composed_sweep()
        sweeper = config.hydra.sweeper
        typed = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
        params = [f"{name}={value}" for name, value in (sweeper.get("params") or {}).items()]
        with Composer(context, config) as composer:
            axes = composer.axes([*params, *(sweeper.get("tune") or []), *cast(list[str], typed)])
            return list(distinct(composer.all_planned(axes)))
    except ComposeErrors as error:
        raise line.request_error(error) from error
