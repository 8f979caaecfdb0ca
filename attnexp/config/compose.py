"""Starts Hydra with attnexp's configuration, and composes with it.

`hydra.main` composes twice, makes a folder before anything is checked, and prints and exits where
we want to explain. So this module drives Hydra itself.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from hydra.version import setbase
from omegaconf import DictConfig, OmegaConf

from attnexp.config.composition import check_words, composing, create_hydra
from attnexp.config.groups import conf_dir
from attnexp.config.hydra_internals import Hydra, create_config_search_path, get_args_parser
from attnexp.config.job import HYDRA, Job, register_resolvers
from attnexp.config.messages import ComposeErrors, explanation
from attnexp.config.trust import search_user_modules
from attnexp.config.workers import register_workers
from attnexp.errors import RequestError
from attnexp.redaction import recorded, remember_words

CONFIG = "config"
"""Name of the primary configuration file."""


@dataclass(frozen=True)
class CommandLine:
    """A command line that is Hydra's to answer, and Hydra, started for it.

    `arguments` holds Hydra's own flags and ours, `overrides` the words that are settings, `command`
    the whole line as it is recorded.
    """

    app: Hydra
    arguments: Any
    command: str

    @classmethod
    def read(cls, argv: Sequence[str]) -> "CommandLine":
        """Raises RequestError for flags that make no sense, and settings that cannot be parsed."""
        arguments = parse(argv)
        check_words(arguments.overrides)
        remember_words(arguments.overrides)
        command = shlex.join(recorded(["attnexp", *argv]))
        return cls(start(arguments.config_dir, command), arguments, command)

    @property
    def config_name(self) -> str:
        """The name of the primary configuration."""
        return self.arguments.config_name or CONFIG

    @property
    def overrides(self) -> list[str]:
        """The words that are settings."""
        return list(self.arguments.overrides)

    @property
    def secrets(self) -> list[str]:
        """The names of the settings that are given a secret."""
        return [word.partition("=")[0] for word in self.overrides if recorded(word) != word]

    def answer_question(self) -> bool:
        """Answer a question to Hydra that needs no run, and return whether there was one."""
        with composing():
            return self._answer()

    def _answer(self) -> bool:
        arguments, name, overrides = self.arguments, self.config_name, self.overrides
        if arguments.shell_completion:
            self.app.shell_completion(config_name=name, overrides=overrides)
        elif arguments.hydra_help:
            self.app.hydra_help(config_name=name, args_parser=get_args_parser(), args=arguments)
        elif arguments.cfg:
            self.app.show_cfg(name, overrides, arguments.cfg, arguments.package, arguments.resolve)
        elif arguments.info:
            self.app.show_info(arguments.info, config_name=name, overrides=overrides)
        else:
            return False
        return True

    def compose(self) -> Job | None:
        """The one job that the overrides describe, or None where they ask for a sweep."""
        config = self.app.compose_config(self.config_name, self.overrides, RunMode.RUN)
        if config.hydra.mode == RunMode.MULTIRUN:
            return None
        config.hydra.mode = RunMode.RUN
        return Job(config, Path(config.hydra.run.dir).absolute(), self.command)

    def sweep(self) -> None:
        """Run a job for every combination of the overrides' values, through Hydra's sweeper."""
        asked = ["hydra.sweeper.dry_run=true"] if self.arguments.dry_run else []
        self.app.multirun(
            config_name=self.config_name,
            task_function=_no_task,
            overrides=[*self.overrides, *asked],
        )

    def request_error(self, error: BaseException) -> RequestError:
        """Return an error of Hydra's as a sentence for the user."""
        return RequestError(explanation(error, self.overrides, self._settings))

    def _settings(self, overrides: Sequence[str]) -> dict[str, Any]:
        """The settings that overrides compose, nested, or none where they cannot be composed."""
        try:
            config = self.app.compose_config(
                self.config_name, list(overrides), RunMode.MULTIRUN, validate_sweep_overrides=False
            )
        except ComposeErrors:
            return {}
        return settings_in(OmegaConf.to_container(config, resolve=False))


def settings_in(node: Any) -> dict[str, Any]:
    """A composed configuration without what is Hydra's."""
    return {
        str(name): settings_in(value) if isinstance(value, dict) else value
        for name, value in node.items()
        if name not in (HYDRA, "_target_")
    }


def parse(argv: Sequence[str]) -> Any:
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
    if arguments.experimental_rerun:
        raise RequestError("--experimental-rerun reads a pickled file, which attnexp never does")
    if len(chosen) > 1:
        raise RequestError(f"only one of {', '.join('--' + flag for flag in chosen)} at a time")
    return arguments


def start(config_dir: str | None, command: str | None = None) -> Hydra:
    """Hydra with our configuration, and the user's folder in front of it."""
    setbase("1.3")
    folder = None if config_dir is None else Path(config_dir).absolute()
    search_path = create_config_search_path(str(conf_dir()))  # finds plugins, the user's not yet
    search_user_modules(folder)
    if folder is not None:
        search_path.prepend("command-line", f"file://{folder}", SearchPathQuery(provider="schema"))
    register_resolvers()
    GlobalHydra.instance().clear()
    hydra = create_hydra(search_path, command)
    register_workers()
    GlobalHydra.instance().initialize(hydra)
    return hydra


def _no_task(config: DictConfig) -> None:
    raise RequestError(
        "hydra/sweeper must be attnexp, tuned or optuna: others forget what they have done"
    )
