"""The arguments by which cards and claims tune each row alike."""

import json
from collections.abc import Sequence
from contextlib import suppress

from attnexp.sweeps.search import numbers_beyond

TUNED_AT = 1000
"""The seed at which settings are tuned. It is not compared."""

FINALS = (1001, 1002)
"""The further seeds at which the two best choices are tried."""

BEYOND = 2
"""The most values that are tried on each side while the best one is at an end."""


def tuning_words(tune: Sequence[str], metric: str | None = None) -> list[str]:
    """Return the arguments that tune settings, each given as `NAME=VALUE,...`; empty for none.

    `metric` decides, by default the task's.
    """
    if not tune:
        return []
    finals = ",".join(map(str, FINALS))
    words = ["hydra/sweeper=tuned", f"hydra.sweeper.tune={json.dumps(list(tune))}"]
    words += [f"hydra.sweeper.seeds=[{TUNED_AT}]", f"hydra.sweeper.finals=[{finals}]"]
    if any(numbers_beyond(_numbers(each), BEYOND) for each in tune):
        words.append(f"hydra.sweeper.beyond={BEYOND}")
    return words if metric is None else [*words, f"hydra.sweeper.metric={metric}"]


def _numbers(tuned: str) -> list[float]:
    """Return the values of `NAME=VALUE,...`; empty unless all are numbers."""
    values = tuned.partition("=")[2].split(",")
    with suppress(ValueError):
        return [int(value) if value.isdecimal() else float(value) for value in values]
    return []
