"""Starts Hydra with attnexp's configuration, and composes with it.

`hydra.main` composes twice, makes a folder before anything is checked, and prints and exits where
we want to explain. So this module drives Hydra itself. Hydra raises its own errors for most
mistakes, and Python's for the rest: here all of them become `ConfigCompositionException`.
"""

import errno
import pickle
import re
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.errors import ConfigCompositionException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.plugin import Plugin
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationValidationError

from attnexp.config.documents import read_bounded
from attnexp.config.fitting import require_fitting
from attnexp.config.groups import conf_dir, top_level
from attnexp.config.hydra_internals import (
    CachingConfigRepository,
    Callbacks,
    ConfigLoaderImpl,
    ConfigRepository,
    Hydra,
    choose_defaults,
    configure_logging,
    create_config_search_path,
    get_args_parser,
    register_resolver,
    take_messages,
)
from attnexp.config.job import Job, dirname_as, identified, override_dirname
from attnexp.config.messages import ComposeErrors, explanation
from attnexp.config.resolved import HYDRA, chosen_of, register_resolvers
from attnexp.config.schema import check_settings, check_type, import_target, lists_of
from attnexp.config.trust import search_user_modules
from attnexp.config.unknown import (
    UnknownSettingError,
    Variants,
    apart,
    merged,
    override_name,
    word_shown,
)
from attnexp.config.words import (
    NAME,
    VALUE,
    check_forms,
    check_option,
    readable,
    setting_of,
    swept_groups,
)
from attnexp.core.command import command_of
from attnexp.core.errors import CommandEnded, RequestError
from attnexp.runs.files import stamp
from attnexp.runs.origin.command_line import own_words
from attnexp.runs.place import Place
from attnexp.runs.secret import require_no_secret_typed
from attnexp.runs.settings import GROUPS

CONFIG = "config"


@dataclass(frozen=True)
class CommandLine:
    """A command line of Hydra's grammar, and Hydra, started for this command line.

    `arguments` holds the flags of Hydra and attnexp, `overrides` the settings, `command` the whole
    line as recorded.
    """

    app: "ComposingHydra"
    arguments: Any
    command: str

    @classmethod
    def read(cls, argv: Sequence[str]) -> "CommandLine":
        """Parse arguments and start Hydra. Raises RequestError for wrong flags and settings."""
        arguments, unknown = parse(argv)
        command = command_of(argv)
        if unknown:
            after = argv[argv.index(unknown[0]) + 1 :]
            arguments.overrides = [setting_of(unknown[0], after)]
            line = cls(start(arguments.config_dir, command), arguments, command)
            raise RequestError(f"{unknown[0].partition('=')[0]} is not an option{line._advice()}")
        check_forms(arguments.overrides)
        require_no_secret_typed(arguments.overrides)
        return cls(start(arguments.config_dir, command), arguments, command)

    @property
    def config_name(self) -> str:
        """The name of the primary configuration."""
        return self.arguments.config_name or CONFIG

    @property
    def overrides(self) -> list[str]:
        """The settings on the command line, quoted where Hydra needs quotes."""
        return [readable(word) for word in self.arguments.overrides]

    def answer_question(self) -> bool:
        """Answer a flag that needs no run, such as --cfg, and return whether there was one."""
        asked, name, overrides = self.arguments, self.config_name, self.overrides
        with composing():
            if asked.shell_completion:
                self.app.shell_completion(config_name=name, overrides=overrides)
            elif asked.hydra_help:
                self.app.hydra_help(config_name=name, args_parser=get_args_parser(), args=asked)
            elif asked.cfg:
                self._require_fitting()
                try:
                    self.app.show_cfg(name, overrides, asked.cfg, asked.package, asked.resolve)
                except SystemExit as error:  # Hydra has said that there is no such package
                    raise CommandEnded(error.code) from error
            elif asked.info:
                self.app.show_info(asked.info, config_name=name, overrides=overrides)
            else:
                return False
        return True

    def _require_fitting(self) -> None:
        """Raise RequestError for an architecture and data of attnexp's that do not fit."""
        asked, words = self.arguments, self.overrides
        if asked.config_dir or asked.config_name or any("_target_" in word for word in words):
            return
        config = self.app.compose_config(CONFIG, words, RunMode.RUN, with_log_configuration=False)
        require_fitting(chosen_of(config.hydra.runtime.choices))

    def compose(self) -> Job | None:
        """Return the job that the overrides describe, or None if they ask for a sweep."""
        config = self.app.compose_config(self.config_name, self.overrides, RunMode.RUN)
        if config.hydra.mode == RunMode.MULTIRUN:
            return None
        config.hydra.mode = RunMode.RUN
        settings, key, code = identified(config)
        place = Place(Path(config.hydra.run.dir).absolute(), key, code)
        return Job(config, settings, place.first_found(settings), self.command)

    def composed_sweep(self) -> tuple[HydraContext, DictConfig]:
        """Return the configuration of the sweep as a whole, and the composer of its jobs."""
        config = self.app.compose_config(self.config_name, self.overrides, RunMode.MULTIRUN)
        return HydraContext(self.app.config_loader, Callbacks(config)), config

    def sweep(self) -> None:
        """Run a job for every combination of the overrides' values, through Hydra's sweeper."""
        self._check_added()
        asked = ["hydra.sweeper.dry_run=true"] if self.arguments.dry_run else []
        self.app.multirun(
            config_name=self.config_name,
            task_function=_no_task,
            overrides=[*self.overrides, *asked],
        )

    def request_error(self, error: BaseException) -> RequestError:
        """Return an error of Hydra's as a sentence for the user."""
        typed = self.arguments.overrides
        asked = self._settings, self._apart, self._takes_list
        return RequestError(explanation(error, typed, *asked))

    def _check_added(self) -> None:
        """Raise UnknownSettingError for a setting that `+` adds to a choice of attnexp's.

        Otherwise each job of the sweep would fail. The user's classes may take any setting.
        """
        words = self.overrides
        if self.arguments.config_dir or any("_target_" in word for word in words):
            return
        added = {override_name(word) for word in words if word.startswith("+")}
        inside = sorted(path for path in added if path.partition(".")[0] in GROUPS and "." in path)
        if not inside:
            return
        known = self._settings([word for word in words if override_name(word) not in added])
        for path in inside:
            group, name = path.split(".")[:2]
            if name not in known.get(group, {}):
                raise UnknownSettingError(path, known.get(group, {}))

    def _advice(self) -> str:
        """Return the end of an error on an unknown option: the setting to write instead.

        The only override of the line is that setting. If it is wrong, return why.
        """
        (word,) = self.overrides
        try:
            if self.arguments.multirun and override_name(word) in {*GROUPS, *top_level()}:
                return f": write {word_shown(word)}"
            if not word.endswith((NAME, VALUE)):
                identified(self.app.compose_config(self.config_name, [word], RunMode.RUN))
            elif override_name(word) not in {*GROUPS, *top_level()}:
                return self._advice_on(UnknownSettingError(override_name(word), top_level()))
        except (RequestError, *ComposeErrors) as error:
            return self._advice_on(error)
        return f": write {word_shown(word)}"

    def _advice_on(self, error: BaseException) -> str:
        sentence = str(self.request_error(error))
        found = re.search(r" Did you mean '[^?]*\?", sentence)
        return f".{found[0]}" if found else f": {sentence}"

    def _apart(self, path: str) -> str | None:
        """Return the sentence for a setting that only some choices of a sweep have, or None."""
        flags = own_words(self.arguments.config_dir)
        return apart(path, self._variants, flags, self.arguments.overrides)

    def _takes_list(self, path: str) -> bool:
        """Return whether the chosen class takes a list for the setting at `path`."""
        group, _, name = path.partition(".")
        others = [word for word in self.overrides if override_name(word) != path]
        owner = self._composed(others).get(group)
        try:
            return isinstance(owner, dict) and name in lists_of(import_target(owner, group))
        except RequestError:
            return False

    def _settings(self, overrides: Sequence[str]) -> dict[str, Any]:
        """Return the nested settings that overrides compose; in a sweep, of all choices."""
        swept = [each for settings in self._variants.values() for each in settings.values()]
        return merged(swept) if swept else settings_in(self._composed(overrides))

    @cached_property
    def _variants(self) -> Variants:
        """The settings at each choice of each swept group, at the first choice of the others."""
        if not self.arguments.multirun:
            return {}
        groups = [word for word in self.overrides if override_name(word) in GROUPS]
        params = self._composed(groups).get(HYDRA, {}).get("sweeper", {}).get("params") or {}
        words = [*(f"{name}={value}" for name, value in params.items()), *groups]
        try:
            swept = swept_groups(words, self.app.config_loader)
        except ComposeErrors:
            return {}
        chosen = {override_name(word): word for word in groups}
        chosen |= {group: readable(f"{group}={names[0]}") for group, names in swept.items()}
        return {
            group: {
                name: settings_in(
                    self._composed([*{**chosen, group: readable(f"{group}={name}")}.values()])
                )
                for name in names
            }
            for group, names in swept.items()
        }

    def _composed(self, overrides: Sequence[str]) -> dict[str, Any]:
        """Return the configuration that overrides compose; empty if that fails."""
        try:
            config = self.app.compose_config(
                self.config_name, list(overrides), RunMode.MULTIRUN, validate_sweep_overrides=False
            )
        except ComposeErrors:
            return {}
        composed: Any = OmegaConf.to_container(config, resolve=False)
        return dict(composed)


def settings_in(node: Any) -> dict[str, Any]:
    """Return a composed configuration without Hydra's node and `_target_` keys."""
    return {
        str(name): settings_in(value) if isinstance(value, dict) else value
        for name, value in node.items()
        if name not in (HYDRA, "_target_")
    }


def parse(argv: Sequence[str]) -> tuple[Any, list[str]]:
    """Return the parsed arguments, with flags in any place, and the unknown flags.

    Raises RequestError for an unknown flag that is similar to a known one.
    """
    parser = make_parser()
    arguments, unknown = parser.parse_known_intermixed_args(list(argv))
    if unknown:
        options = [name for action in parser._actions for name in action.option_strings]
        check_option(unknown[0].partition("=")[0], options)
    chosen = [
        flag
        for flag in ("run", "multirun", "cfg", "info", "shell_completion")
        if getattr(arguments, flag)
    ]
    if arguments.experimental_rerun:
        raise RequestError("--experimental-rerun reads a pickled file, which attnexp never does")
    if arguments.config_path is not None:
        raise RequestError(
            "--config-path, or -cp, would put another configuration in the place of attnexp's: "
            "--config-dir FOLDER adds the files of a folder, and `attnexp show RUN` has the "
            "command that repeats a run"
        )
    if len(chosen) > 1:
        raise RequestError(f"only one of {', '.join('--' + flag for flag in chosen)} at a time")
    return arguments, unknown


def make_parser() -> ArgumentParser:
    """Return the parser of the arguments of Hydra and attnexp."""

    def refuse(message: str) -> NoReturn:
        if ambiguous := re.match(r"ambiguous option: ([^\s=]+)", message):
            check_option(ambiguous[1], ())
        raise RequestError(f"{message}. `attnexp --help` shows what there is")

    parser: ArgumentParser = get_args_parser()
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Print the finished jobs and those that would run, and run nothing",
    )
    parser.error = refuse  # type: ignore[method-assign]
    return parser


def start(config_dir: str | None, command: str | None = None) -> "ComposingHydra":
    """Start Hydra with the user's configuration folder searched before attnexp's.

    Nothing is left of an earlier command of this process: Hydra keeps the configuration that
    `--cfg` and `--info` composed.
    """
    choose_defaults()
    folder = None if config_dir is None else Path(config_dir)
    search_path = create_config_search_path(str(conf_dir()))  # finds plugins, the user's not yet
    search_user_modules(folder)
    if folder is not None:
        place = f"file://{folder.absolute()}"
        search_path.prepend("command-line", place, SearchPathQuery(provider="schema"))
    register_resolvers()
    GlobalHydra.instance().clear()
    HydraConfig.instance().cfg = None
    hydra = ComposingHydra(task_name="attnexp", config_loader=Loader(search_path, command))
    register_resolver("hydra_override_dirname", dirname_as)  # Hydra 1.4's resolves
    GlobalHydra.instance().initialize(hydra)
    return hydra


def _no_task(config: DictConfig) -> None:
    raise RequestError(
        "hydra/sweeper must be attnexp, or tuned to tune settings: others run finished jobs again"
    )


class Repository(ConfigRepository):
    """The files of a configuration, checked before they are parsed: see `documents`.

    A file is parsed again only after a change.
    """

    _parsed: ClassVar[dict[tuple[str, Path, str], tuple[tuple[int, ...], bytes]]] = {}

    def _find_object_source(
        self, config_path: str, object_type: ObjectType | None
    ) -> ConfigSource | None:
        try:
            return super()._find_object_source(config_path, object_type)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # so there is none
                return None
            raise

    def load_config(self, config_path: str) -> ConfigResult | None:
        source = self._find_object_source(config_path, ObjectType.CONFIG)
        if source is None or source.scheme() != "file":
            return super().load_config(config_path)
        path = Path(source.path, source._normalize_file_name(config_path))
        place, now = (source.provider, path, config_path), stamp(path)
        before, content = self._parsed.get(place, (None, b""))
        if before != now:
            read_bounded(path)
            content = pickle.dumps(super().load_config(config_path))
            self._parsed[place] = (now, content)
        result: ConfigResult = pickle.loads(content)  # faster than deepcopy
        return result


class Loader(ConfigLoaderImpl):
    """Composes a configuration. Raises RequestError or one of ComposeErrors, and nothing else.

    `command` is the command line to compose for.
    """

    def __init__(self, search_path: ConfigSearchPath, command: str | None) -> None:
        super().__init__(search_path)
        self.repository = Repository(search_path)
        self.command = command

    def _load_configuration_impl(self, *arguments: Any, **named: Any) -> DictConfig:
        with composing():
            config: DictConfig = super()._load_configuration_impl(*arguments, **named)
            if config.hydra.job.config_name is not None:  # --hydra-help composes without one
                _check_hydra(config.hydra)
            config.hydra.job.override_dirname = override_dirname(config.hydra)
            return config

    def repository_of(
        self, config_name: str | None, overrides: list[str]
    ) -> CachingConfigRepository:
        """Return a caching repository of the files that these overrides choose from."""
        with composing():
            return self._parse_overrides_and_create_caching_repo(config_name, overrides)[1]


class ComposingHydra(Hydra):
    """Hydra, whose composing raises RequestError or one of ComposeErrors, and nothing else."""

    def compose_config(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        with_log_configuration: bool = True,
        *arguments: Any,
        **named: Any,
    ) -> DictConfig:
        with composing():
            config: DictConfig = super().compose_config(
                config_name, overrides, run_mode, False, *arguments, **named
            )
            if with_log_configuration:
                configure_logging(config.hydra.hydra_logging, config.hydra.verbose)
                take_messages()
                self._print_debug_info(config_name, overrides, run_mode)
            return config


@contextmanager
def composing() -> Iterator[None]:
    """Turn errors of Hydra in a block into a RequestError or one of ComposeErrors."""
    try:
        yield
    except (RequestError, BrokenPipeError, *ComposeErrors):
        raise
    except RecursionError as error:
        raise RequestError(
            "the configuration is nested too deeply, or its values refer to each other"
        ) from error
    except Exception as error:
        raise ConfigCompositionException() from error


def require_plugin(name: str, target: str, kind: type[Plugin]) -> None:
    """Raise RequestError unless the target of hydra.sweeper or hydra.launcher is a plugin."""
    known = Plugins.instance().class_name_to_class.get(target)
    if known is None or not issubclass(known, kind):
        raise RequestError(
            f"hydra.{name}._target_ is {target!r:.80}, which is not an installed {name}: choose "
            f"one with hydra/{name}=NAME"
        )


OF_HYDRA: Mapping[str, Any] = {
    "verbose": bool | str | list[str],
    "job.env_set": dict[str, str],
    "job.env_copy": list[str],
    "job_logging.root": dict[str, Any] | None,
    "launcher": dict[str, Any],
    "launcher._target_": str,
    "sweeper": dict[str, Any],
    "sweeper._target_": str,
    "sweeper.params": dict[str, Any] | None,
}
"""The types of Hydra's settings that attnexp reads before Hydra checks them."""


REFUSED = {
    "callbacks": "a tracker of your own is called at the beginning, epochs and end of a run",
    "job.chdir": "a run stays in the current directory; ${hydra:runtime.output_dir} is its folder",
    "output_subdir": "summary.json in the folder of a run has the configuration and the overrides",
}
"""Settings of Hydra that have no effect here, each with its replacement."""


def _value(hydra: DictConfig, path: str) -> Any:
    try:
        node = OmegaConf.select(hydra, path)
    except InterpolationValidationError:  # OmegaConf 2.4 does not say which setting it is
        parent, _, name = path.rpartition(".")
        unresolved: Any = OmegaConf.to_container(OmegaConf.select(hydra, parent), resolve=False)
        return unresolved[name]
    return OmegaConf.to_container(node) if OmegaConf.is_config(node) else node


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _check_hydra(hydra: DictConfig) -> None:
    """Raise RequestError for invalid settings of Hydra, as in OF_HYDRA and REFUSED."""
    for path, kind in OF_HYDRA.items():
        check_type(_value(hydra, path), kind, f"hydra.{path}")
    for path, instead in REFUSED.items():
        if OmegaConf.select(hydra, path):
            raise RequestError(f"hydra.{path} has no effect: {instead}")
    require_plugin("sweeper", hydra.sweeper["_target_"], Sweeper)
    given = {name: _plain(value) for name, value in hydra.sweeper.items() if name != "params"}
    check_settings(given, import_target(given, "hydra.sweeper"), "hydra.sweeper")
