"""Hydra's part: compose the configuration, make the run's folder, and say what is wrong in words.

`hydra.main` composes twice, makes a folder before anything is checked, and prints and exits where
we want to explain. So this module drives Hydra itself; no other module does.
"""

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import run_job
from hydra.types import HydraContext, RunMode
from hydra.version import setbase
from omegaconf import DictConfig, OmegaConf, open_dict

from attnexp import record, screen
from attnexp.catalogue import conf_dir
from attnexp.errors import RequestError, RunFailedError
from attnexp.explain import ComposeErrors, explain
from attnexp.key import identity, run_key, run_name

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
            app.multirun(config_name=name, task_function=run_job_of_sweep, overrides=overrides)
        else:
            run_once(app, name, overrides)
    except ComposeErrors as error:
        raise RequestError(explain(error, overrides, _siblings(app, name))) from error


def run_once(app: Hydra, name: str, overrides: list[str]) -> None:
    """Run the one job that the overrides describe, unless the same job has finished before.

    Nothing is written before everything is built.
    """
    config = app.compose_config(name, overrides, RunMode.RUN)
    if config.hydra.mode == RunMode.MULTIRUN:
        app.multirun(config_name=name, task_function=run_job_of_sweep, overrides=overrides)
        return
    config.hydra.mode = RunMode.RUN
    folder = Path(config.hydra.run.dir).absolute()
    finished = _finished_before(config, folder)
    if finished is not None:
        screen.say("This run has finished before; rerun=true runs it again.")
        screen.show_run(finished, folder)
        return
    own, chosen = _own(config), _chosen(config)

    from attnexp import run

    try:
        prepared = run.prepare(own, chosen)
    except ValueError as error:
        raise RequestError(str(error)) from error
    outcome: list[Any] = []
    context = HydraContext(config_loader=app.config_loader, callbacks=Callbacks(config))
    context.callbacks.on_run_start(config=config, config_name=name)
    try:
        returned = run_job(
            task_function=lambda _: outcome.append(run.execute(prepared, folder)),
            config=config,
            job_dir_key="hydra.run.dir",
            job_subdir_key=None,
            hydra_context=context,
        )
    except OSError as error:
        raise RequestError(f"output_dir: {folder} cannot be written: {error.strerror}") from error
    context.callbacks.on_run_end(config=config, config_name=name, job_return=returned)
    if not outcome:
        raise RunFailedError(_failure(folder))
    screen.show_run(outcome[0], folder)


def run_job_of_sweep(config: DictConfig) -> None:
    """One job of a sweep, in whichever process a launcher has put it."""
    from attnexp import run

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    prepared = run.prepare(config, _chosen_of(hydra.runtime.choices))
    screen.show_run(run.execute(prepared, folder), folder)


def _parse(argv: Sequence[str]) -> Any:
    """Hydra's arguments, flags in any place."""

    def refuse(message: str) -> NoReturn:
        raise RequestError(f"{message}. `attnexp --help` shows what there is")

    parser = get_args_parser()
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
    OmegaConf.register_new_resolver("run_name", _resolve_run_name, replace=True)
    GlobalHydra.instance().clear()
    return Hydra.create_main_hydra2(task_name="attnexp", config_search_path=search_path)


def _resolve_run_name(*, _root_: DictConfig) -> str:
    return run_name(_plain(_root_), _chosen(_root_))


def _own(config: DictConfig) -> DictConfig:
    """The configuration without Hydra's node."""
    own = config.copy()
    with open_dict(own):
        own.pop("hydra", None)
    return own


def _plain(config: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(_own(config), resolve=True))


def _chosen(config: DictConfig) -> dict[str, str]:
    return _chosen_of(config.hydra.runtime.choices)


def _chosen_of(choices: Mapping[str, Any]) -> dict[str, str]:
    """The name chosen in each group of ours, without Hydra's groups."""
    return {
        str(group): str(name)
        for group, name in choices.items()
        if name is not None and not str(group).startswith("hydra/")
    }


def _finished_before(config: DictConfig, folder: Path) -> dict[str, Any] | None:
    """The summary of the same run, where it has finished and is not asked for again."""
    if config.rerun:
        return None
    try:
        summary = record.read_summary(folder)
    except record.UnreadableRunError:
        return None
    plain = _plain(config)
    same = summary.get("key") == run_key(plain) and identity(summary["config"]) == identity(plain)
    return summary if same and summary.get("status") == record.FINISHED else None


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
        node = OmegaConf.select(_own(config), where) if where else _own(config)
        return (
            [str(key) for key in node if key != "_target_"] if isinstance(node, DictConfig) else ()
        )

    return siblings
