"""Everything of Hydra and OmegaConf that is not public or differs by version, in one place.

No public way exists to start Hydra without `hydra.main` (which composes twice, makes a folder
before anything is checked, and prints and exits where we explain), to look at a configuration file
before Hydra parses it, to give a launcher jobs that are composed already, or to write YAML as
OmegaConf does. Written for Hydra 1.3 with OmegaConf 2.3, and Hydra 1.4 with OmegaConf 2.4:
`tests/config/test_hydra_internals.py` fails with that sentence on any other version.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, cast

import hydra._internal.hydra
import hydra.utils
from hydra import __version__
from hydra._internal.callbacks import Callbacks as Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl as ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository as CachingConfigRepository
from hydra._internal.config_repository import ConfigRepository as ConfigRepository
from hydra._internal.hydra import Hydra as Hydra
from hydra._internal.utils import _locate
from hydra._internal.utils import create_config_search_path as create_config_search_path
from hydra._internal.utils import get_args_parser as get_args_parser
from hydra.core.utils import configure_log
from hydra.version import setbase
from omegaconf import DictConfig, OmegaConf

WRITTEN_FOR = {"hydra-core": ("1.3", "1.4"), "omegaconf": ("2.3", "2.4")}
"""The versions whose private parts these are."""

BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
"""The target of Hydra's launcher for one job at a time on this machine."""

BEFORE_1_4 = __version__.startswith("1.3.")

VERSION_BASE = {"version_base": "1.3"} if BEFORE_1_4 else {}
"""The argument that chooses the defaults of Hydra 1.3. Hydra 1.4 has these alone, and no choice."""

KNOWN = ("attnexp.*", "math.*", "numpy.*", "torch.*")
"""Packages whose functions and objects any target may return."""


def choose_defaults() -> None:
    """Choose the defaults of Hydra 1.3, which Hydra 1.4 has without asking."""
    if BEFORE_1_4:
        setbase("1.3")


def register_resolver(name: str, resolver: Callable[..., Any]) -> None:
    """Register a resolver, in place of one of the same name."""
    omegaconf: Any = OmegaConf  # each version lacks what the other has
    if BEFORE_1_4:
        omegaconf.register_new_resolver(name, resolver, replace=True)
    else:  # what does not fit an annotation is for the resolver to refuse, as in OmegaConf 2.3
        omegaconf.register_resolver(name, resolver, replace=True, annotation_validation="off")


def make_partial(node: Any, targets: Iterable[str], convert: str = "none") -> Callable[..., Any]:
    """Return the target of a node with its settings, for a call to complete.

    `targets` are all that the node names, at any depth. Hydra raises InstantiationException for
    those that it refuses, such as `os.system`.
    """
    given = {} if BEFORE_1_4 else {"_execution_whitelist_": _allowed(targets)}
    made = hydra.utils.instantiate(node, _partial_=True, _convert_=convert, **given)
    return cast(Callable[..., Any], made)


def configure_logging(config: DictConfig, verbose: Any) -> None:
    """Configure logging with a node of Hydra's, which may name any handler that Hydra allows."""
    with logging_allowed(config):
        configure_log(config, verbose)


def logging_allowed(config: DictConfig) -> AbstractContextManager[Any]:
    """Return a context in which Hydra may configure logging with a node, whoever asks it to."""
    if BEFORE_1_4:
        return nullcontext()
    named = _named_in_logging(OmegaConf.to_container(config, resolve=True))
    utils: Any = hydra.utils  # that of 1.3 lacks it
    allowed: AbstractContextManager[Any] = utils.execution_whitelist(_allowed(named))
    return allowed


def take_messages() -> None:
    """Set the logger of Hydra's messages, which is missing if Hydra did not configure logging."""
    hydra._internal.hydra.log = logging.getLogger(hydra._internal.hydra.__name__)


def _allowed(names: Iterable[str]) -> list[str]:
    """Return the names that Hydra 1.4 may import for a configuration.

    Each name is allowed, and its package, since a function may return an object of another class in
    the package; names that Hydra refuses are not. The configuration is the user's own: names in run
    folders were checked before, see `trust`.
    """
    allowed = list(KNOWN)
    for name in dict.fromkeys(names):
        package = name.partition(".")[0]
        if "*" not in name and not _is_refused(name):  # `os.*` would allow `os.remove`
            allowed.append(name)
            if package not in sys.stdlib_module_names:
                allowed.append(f"{package}.*")
    return allowed


def _is_refused(name: str) -> bool:
    """Return whether Hydra 1.4 refuses a name, or the own name of the named object, by default."""
    from hydra._internal.execution_policy import (
        _get_resolved_target_name_for_check,
        _is_blacklisted_target,
    )

    if _is_blacklisted_target(name):
        return True
    with suppress(Exception):  # Hydra explains what cannot be imported
        return bool(_is_blacklisted_target(_get_resolved_target_name_for_check(_locate(name))))
    return False


def _named_in_logging(node: Any) -> Iterator[str]:
    """Yield the classes, factories and objects that a configuration of logging names."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if isinstance(value, str) and key in ("class", "()"):
                yield value
            else:
                yield from _named_in_logging(value)
    elif isinstance(node, list):
        for value in node:
            yield from _named_in_logging(value)
    elif isinstance(node, str) and node.startswith("ext://"):
        yield node.removeprefix("ext://")
