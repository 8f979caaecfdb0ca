"""The words that complete a setting, as Hydra finds them."""

import re
from collections.abc import Sequence

from hydra.plugins.completion_plugin import DefaultCompletionPlugin

from attnexp.config.compose import CONFIG, start
from attnexp.config.words import readable

NOT_OF_A_RUN = ("attend", "claim", "law", "trial")
"""The folders of conf/ that are not groups of a run."""


def settings(
    prefix: str, overrides: Sequence[str], config_dir: str | None, config_name: str | None
) -> list[str]:
    """Return groups, choices and settings that begin with a prefix, given other overrides.

    The last of several values, such as `model=dot,add`, is completed.
    """
    name, sign, values = prefix.partition("=")
    before, comma, last = values.rpartition(",")
    before_it = [readable(word) for word in overrides]
    plugin = DefaultCompletionPlugin(start(config_dir).config_loader)

    def query(word: str) -> list[str]:
        found: list[str] = plugin._query(config_name or CONFIG, " ".join([*before_it, word]))
        return found

    found = query(f"{name}{sign}{last}")
    while len(found) == 1 and found[0].endswith("."):  # the shell would add a space
        found = query(found[0])
    if comma:
        return [f"{name}={before},{word.partition('=')[2]}" for word in found]
    return [word for word in found if re.split("[=/]", word)[0] not in NOT_OF_A_RUN]
