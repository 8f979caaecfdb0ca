"""Hydra's composing of a configuration, held within bounds.

Hydra raises its own errors for most of what is wrong, and for the rest whatever Python raises where
it happens. Here all of that becomes `ConfigCompositionException`, and a file is looked at before it
is loaded.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.errors import ConfigCompositionException
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.plugin import Plugin
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig, OmegaConf

from attnexp.config.hydra_internals import (
    ConfigLoaderImpl,
    Hydra,
    HydraFileConfigSource,
    SourcesRegistry,
)
from attnexp.config.messages import ComposeErrors
from attnexp.errors import RequestError
from attnexp.redaction import recorded
from attnexp.runs.documents import DEEPEST, check_settings_file
from attnexp.runs.files import UnreadableRunError

LONGEST_WORD = 20_000
"""Letters of one override. Hydra's parser takes a second for ten times as many."""


def create_hydra(search_path: ConfigSearchPath, command: str | None) -> Hydra:
    """Return Hydra with our loader, and have it read files through ours."""
    SourcesRegistry.instance().types["file"] = FileConfigSource
    return ComposingHydra(task_name="attnexp", config_loader=Loader(search_path, command))


class FileConfigSource(HydraFileConfigSource):
    """A folder of YAML files, of which none is larger, deeper or of another kind than settings.

    It has the name of Hydra's, because a launcher's process that finds another name registered for
    files refuses to start.
    """

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the content of a file. Raises RequestError for one that cannot be settings."""
        if self.provider != "main":  # those are our own
            path = Path(self.path, self._normalize_file_name(config_path))
            try:
                check_settings_file(path)
            except FileNotFoundError:
                pass  # Hydra says so
            except UnreadableRunError as error:
                raise RequestError(str(error)) from error
        return super().load_config(config_path)


class Loader(ConfigLoaderImpl):
    """Composes a configuration. Raises RequestError or one of ComposeErrors, and nothing else.

    `command` is the command line that it composes for.
    """

    def __init__(self, search_path: ConfigSearchPath, command: str | None) -> None:
        super().__init__(search_path)
        self.command = command

    def load_configuration(self, *arguments: Any, **named: Any) -> DictConfig:
        with composing():
            config: DictConfig = super().load_configuration(*arguments, **named)
            _check_hydra(config.hydra)
            dirname = config.hydra.job._get_node("override_dirname")
            config.hydra.job.override_dirname = as_folder(dirname._value())
            return config


def as_folder(overrides: str) -> str:
    """Return overrides as the name of a folder: without secrets, and resolving to itself."""
    text: str = recorded(overrides)
    return text.replace("${", "{")


class ComposingHydra(Hydra):
    """Hydra, whose composing raises RequestError or one of ComposeErrors, and nothing else."""

    def compose_config(self, *arguments: Any, **named: Any) -> DictConfig:
        with composing():
            config: DictConfig = super().compose_config(*arguments, **named)
            return config


@contextmanager
def composing() -> Iterator[None]:
    """Make whatever Hydra raises in a block one of ComposeErrors."""
    try:
        yield
    except (RequestError, *ComposeErrors):
        raise
    except RecursionError as error:
        raise RequestError(
            "the configuration is nested too deeply, or its values refer to each other"
        ) from error
    except Exception as error:
        raise ConfigCompositionException() from error


def check_words(words: Sequence[str]) -> None:
    """Raise RequestError for an override that the parser of overrides could not follow."""
    for word in words:
        name = word.partition("=")[0]
        if len(word) > LONGEST_WORD:
            raise RequestError(
                f"{name:.60} is given {len(word):,} letters: at most {LONGEST_WORD:,} can be read"
            )
        depth = deepest = 0
        for bracket in re.findall(r"[(\[{]|[)\]}]", word):
            depth += 1 if bracket in "([{" else -1
            deepest = max(deepest, depth)
        if deepest > DEEPEST:
            raise RequestError(f"{name:.60} is nested deeper than {DEEPEST} brackets")


def require_plugin(name: str, target: str, kind: type[Plugin]) -> None:
    """Raise RequestError for the target of hydra.sweeper or hydra.launcher that is none."""
    known = Plugins.instance().class_name_to_class.get(target)
    if known is None or not issubclass(known, kind):
        raise RequestError(
            f"hydra.{name}._target_ is {target!r:.80}, which is not an installed {name}: choose "
            f"one with hydra/{name}=NAME"
        )


def _check_hydra(hydra: DictConfig) -> None:
    """Raise RequestError for settings of Hydra's that we read before Hydra does."""
    verbose = hydra.get("verbose")
    named = OmegaConf.is_list(verbose) and all(isinstance(name, str) for name in verbose)
    if not (named or isinstance(verbose, bool | str)):
        raise RequestError(
            "hydra.verbose must be true, false, the name of a logger or a list of names, "
            f"got {verbose}"
        )
    for name in ("sweeper", "launcher"):
        node = hydra.get(name)
        if not (OmegaConf.is_dict(node) and isinstance(node.get("_target_"), str)):
            raise RequestError(
                f"hydra.{name} must be settings with a _target_: choose one with hydra/{name}=NAME"
            )
    require_plugin("sweeper", hydra.sweeper["_target_"], Sweeper)
    params = hydra.sweeper.get("params")
    by_name = OmegaConf.is_dict(params) and all(isinstance(name, str) for name in params)
    if not (params is None or by_name):
        raise RequestError(
            f"hydra.sweeper.params must be settings with their values as name: values, got {params}"
        )
