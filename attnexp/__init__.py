"""Runs and compares attention mechanisms, from the command line and from Python.

`attnexp docs python` shows the Python interface with examples. A name is imported when it is
first used, so that reading a table of runs does not wait for PyTorch.
"""

import os
from typing import TYPE_CHECKING

from attnexp.core.lazy import names_in
from attnexp.version import __version__

if TYPE_CHECKING:
    from attnexp import normalizers, scores
    from attnexp.attention.multihead import MultiHead
    from attnexp.attention.pooling import AttentionPooling
    from attnexp.imported.adding import add_run
    from attnexp.normalizers.softmax import masked_softmax
    from attnexp.notebooks.notebook_run import load_run
    from attnexp.notebooks.running import run, sweep
    from attnexp.notebooks.runs import load_runs
    from attnexp.select.frame import load_results
else:
    __getattr__, __dir__ = names_in(
        __name__,
        {
            "AttentionPooling": "attnexp.attention.pooling:AttentionPooling",
            "MultiHead": "attnexp.attention.multihead:MultiHead",
            "add_run": "attnexp.imported.adding:add_run",
            "load_results": "attnexp.select.frame:load_results",
            "load_run": "attnexp.notebooks.notebook_run:load_run",
            "load_runs": "attnexp.notebooks.runs:load_runs",
            "masked_softmax": "attnexp.normalizers.softmax:masked_softmax",
            "normalizers": "attnexp.normalizers",
            "run": "attnexp.notebooks.running:run",
            "scores": "attnexp.scores",
            "sweep": "attnexp.notebooks.running:sweep",
        },
    )

# MKL reads this at its first call. Its products then do not depend on where operands lie in memory.
os.environ.setdefault("MKL_CBWR", "AUTO")

__all__ = [
    "AttentionPooling",
    "MultiHead",
    "__version__",
    "add_run",
    "load_results",
    "load_run",
    "load_runs",
    "masked_softmax",
    "normalizers",
    "run",
    "scores",
    "sweep",
]
