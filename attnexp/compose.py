"""Hydra's part: compose the configuration, run one job or many, and say what is wrong in words.

`hydra.main` composes twice, makes a folder before anything is checked, and prints and exits where
we want to explain. So this module drives Hydra itself.
"""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import RunMode
from hydra.version import setbase
from omegaconf import DictConfig, OmegaConf

from attnexp import record, screen
from attnexp.catalogue import conf_dir
from attnexp.errors import RequestError, RunFailedError
from attnexp.explain import ComposeErrors, explain
from attnexp.job import HYDRA, Job, at_work, finished_before, register_resolvers
from attnexp.key import run_key
from attnexp.lock import hold
from attnexp.sweeps.outcome import look, old_folders
from attnexp.sweeps.report import STATES, warn_of_old

if TYPE_CHECKING:
    from attnexp.build import Run

CONFIG = "config"
"""Name of the primary configuration file."""


def main(argv: Sequence[str]) -> None:
    """Everything that is not a verb of ours: runs, sweeps, and Hydra's own questions.

    Raises RequestError for a wrong request and RunFailedError for a run that failed.
    """
    arguments = _parse(argv)
    app = _start(arguments.config_dir)
    name = arguments.config_name or CONFIG
    overrides = arguments.overrides
    try:
        if arguments.shell_completion:
            app.shell_completion(config_name=name, overrides=overrides)
        elif arguments.hydra_help:
            app.hydra_help(config_name=name, args_parser=get_args_parser(), args=arguments)
        elif arguments.cfg:
            app.show_cfg(name, overrides, arguments.cfg, arguments.package, arguments.resolve)
        elif arguments.info:
            app.show_info(arguments.info, config_name=name, overrides=overrides)
        elif arguments.multirun:
            run_many(app, name, overrides, arguments.dry_run)
        else:
            run_once(app, name, overrides, arguments.dry_run)
    except ComposeErrors as error:
        raise RequestError(explain(error, overrides, _siblings(app, name))) from error


def run_once(app: Hydra, name: str, overrides: list[str], dry: bool) -> None:
    """Run the one job that the overrides describe, unless the same job has finished before.

    Nothing is written before everything is built.
    """
    config = app.compose_config(name, overrides, RunMode.RUN)
    if config.hydra.mode == RunMode.MULTIRUN:
        run_many(app, name, overrides, dry)
        return
    config.hydra.mode = RunMode.RUN
    job = Job(config, Path(config.hydra.run.dir).absolute())
    if not config.rerun:
        found = look(job.folder, run_key(job.settings), job.settings)
        warn_of_old(old_folders(job.folder, job.settings))
    if dry:
        state = "new" if config.rerun else found.state
        screen.say(f"{STATES[state]}: {screen.near(job.folder)}")
        return
    if config.hydra.sweeper.get("params"):
        axes = ", ".join(config.hydra.sweeper.params)
        screen.say(f"This is one run of an experiment; -m runs it for all values of {axes}.")
    if _shown_before(job):
        return

    from attnexp import build

    try:
        prepared = build.prepare(config, job.chosen)
    except ValueError as error:
        raise RequestError(str(error)) from error
    callbacks = Callbacks(config)
    callbacks.on_run_start(config=config, config_name=name)
    returned = JobReturn()
    try:
        with hold(job.folder, tell=_waiting):
            if _shown_before(job):
                return
            summary = at_work(job, lambda: _executed(prepared, job.folder))
            returned.return_value, returned.status = summary, JobStatus.COMPLETED
    except OSError as error:
        raise RequestError(
            f"output_dir: {job.folder} cannot be written: {error.strerror}"
        ) from error
    except RunFailedError as error:
        returned.return_value, returned.status = error, JobStatus.FAILED
        raise
    finally:
        callbacks.on_run_end(config=config, config_name=name, job_return=returned)
    screen.show_run(summary, job.folder)


def run_many(app: Hydra, name: str, overrides: list[str], dry: bool) -> None:
    """Run a job for every combination of the overrides' values, through Hydra's sweeper."""
    asked = ["hydra.sweeper.dry_run=true"] if dry else []
    app.multirun(config_name=name, task_function=_no_task, overrides=[*overrides, *asked])


def _no_task(config: DictConfig) -> None:
    raise RequestError("hydra/sweeper must be attnexp or optuna: others forget what they have done")


def _executed(prepared: "Run", folder: Path) -> dict[str, Any]:
    from attnexp import run

    try:
        return run.execute(prepared, folder)
    except (Exception, SystemExit) as error:
        raise RunFailedError(_failure(folder)) from error


def _shown_before(job: Job) -> bool:
    """Show the run of a job where it has finished before, and return whether it has."""
    summary = finished_before(job)
    if summary is not None:
        screen.say("This run has finished before; rerun=true runs it again.")
        screen.show_run(summary, job.folder)
    return summary is not None


def _waiting(holder: str) -> None:
    screen.say(f"{holder} is at work on this run; waiting for it")


def _parse(argv: Sequence[str]) -> Any:
    """Hydra's arguments, flags in any place."""

    def refuse(message: str) -> NoReturn:
        raise RequestError(f"{message}. `attnexp --help` shows what there is")

    parser = get_args_parser()
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Say what is done and what would run, and run nothing",
    )
    parser.error = refuse  # type: ignore[method-assign]
    arguments = parser.parse_intermixed_args(list(argv))
    chosen = [
        flag
        for flag in ("run", "multirun", "cfg", "info", "shell_completion")
        if getattr(arguments, flag)
    ]
    if len(chosen) > 1:
        raise RequestError(f"only one of {', '.join('--' + flag for flag in chosen)} at a time")
    return arguments


def _start(config_dir: str | None) -> Hydra:
    """Hydra with our configuration, the user's folder in front of it, and the current directory.

    The current directory goes on the import path, so that `_target_: mine.MyScore` finds mine.py,
    in this process and in workers.
    """
    setbase("1.3")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    workers = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in workers:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, workers)])
    search_path = create_config_search_path(str(conf_dir()))
    if config_dir is not None:
        folder = Path(config_dir).absolute()
        if not folder.is_dir():
            raise RequestError(f"--config-dir: there is no folder {folder}")
        search_path.prepend("command-line", f"file://{folder}", SearchPathQuery(provider="schema"))
    register_resolvers()
    GlobalHydra.instance().clear()
    return Hydra.create_main_hydra2(task_name="attnexp", config_search_path=search_path)


def _failure(folder: Path) -> str:
    try:
        error = record.read_summary(folder).get("error")
    except record.UnreadableRunError as unreadable:
        error = unreadable
    return f"the run failed: {error}. The traceback is in {folder / 'attnexp.log'}"


def _siblings(app: Hydra, name: str) -> Callable[[str, Sequence[str]], Collection[str]]:
    """Looks up which settings stand beside a path in the configuration that the rest composes."""

    def siblings(path: str, others: Sequence[str]) -> Collection[str]:
        try:
            config = app.compose_config(
                name, list(others), RunMode.MULTIRUN, validate_sweep_overrides=False
            )
        except ComposeErrors:
            return ()
        where = path.rpartition(".")[0]
        node = OmegaConf.select(config, where) if where else config
        if not isinstance(node, DictConfig):
            return ()
        return [str(key) for key in node if key not in (HYDRA, "_target_")]

    return siblings
