"""Everything of Hydra and OmegaConf that is not public, in one place.

No public way exists to start Hydra without `hydra.main` (which composes twice, makes a folder
before anything is checked, and prints and exits where we explain), to look at a configuration file
before Hydra parses it, to give a launcher jobs that are composed already, or to write YAML as
OmegaConf does. Written for Hydra 1.3 and OmegaConf 2.3:
`tests/config/test_hydra_internals.py` fails with that sentence on any other version.
"""

from hydra._internal.callbacks import Callbacks as Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl as ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository as CachingConfigRepository
from hydra._internal.config_repository import ConfigRepository as ConfigRepository
from hydra._internal.hydra import Hydra as Hydra
from hydra._internal.utils import create_config_search_path as create_config_search_path
from hydra._internal.utils import get_args_parser as get_args_parser

WRITTEN_FOR = {"hydra-core": "1.3", "omegaconf": "2.3"}
"""The versions whose private parts these are."""

BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
"""The target of Hydra's launcher for one job at a time on this machine."""
