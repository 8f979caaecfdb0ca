"""The words of a command line that a file may hold: choices of groups, and plain settings.

Composing a word may import and call code: a `_target_` is called, a group of Hydra's names a
plugin, a choice is found by its path. A card, a claim or an exercise may be somebody else's, so
each word of such a file is checked here before anything is composed.
"""

import re

from attnexp.config.groups import top_level
from attnexp.config.schema import TARGET
from attnexp.config.unknown import word_shown
from attnexp.core.errors import RequestError
from attnexp.runs.settings import GROUPS

CHOSEN = tuple(group for group in GROUPS if group != "tracker")
"""The groups from which a file may choose, and whose settings it may give."""

SETTING = re.compile(r"([A-Za-z]\w*)((?:\.[A-Za-z0-9]\w*)*)", re.ASCII)
"""A group or a setting, without Hydra's signs and names."""

ELSEWHERE = re.compile(r"^/|\.\.|:")
"""Parts of a choice that lead out of the folder of its group."""


def require_plain(word: str, where: object) -> None:
    """Raise RequestError for a word that a file may not hold.

    It may hold choices such as `model=dot`, and plain values of settings such as `model.width=2` or
    `seed=1`. Refused are a group or a setting that is not attnexp's, those of trackers and of
    Hydra, `_target_`, the signs `+` and `~`, interpolations, and a choice outside of its group's
    folder. A class of one's own is a choice in the folder of --config-dir. `where` is the file.
    """
    name, sign, value = word.partition("=")
    plain = value.replace("\\", "")  # Hydra reads `$\{` as `${`
    found = SETTING.fullmatch(name)
    known = found and (found[1] in CHOSEN or name in top_level())
    is_choice = found and not found[2] and found[1] in CHOSEN
    hidden = "${" in plain or TARGET in plain or (is_choice and ELSEWHERE.search(plain))
    if not (known and sign) or hidden:
        raise RequestError(
            f"{where}: {word_shown(word)!r} is refused: a file may choose from "
            f"{', '.join(CHOSEN)}, and set plain values such as model.width=2"
        )
