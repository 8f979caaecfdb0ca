"""Pretends GPUs in every process that is started with this folder on its path: see `pretended`."""

import os
import sys
from pathlib import Path

if "PRETENDED_GPUS" in os.environ:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import pretended

    kind, _, count = os.environ["PRETENDED_GPUS"].partition(":")
    _stay = pretended.devices(int(count), kind)
    _stay.__enter__()
