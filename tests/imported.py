"""Where the tests import attnexp from, the checkout or a wheel, and processes that do so too."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

IMPORTED = str(Path(find_spec("attnexp").origin or "").parents[1])


def python(
    *words: object, cwd: Path | None = None, timeout: float = 120, **variables: str
) -> subprocess.CompletedProcess[Any]:
    """Run Python with these words, in an environment with these variables besides ours."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": IMPORTED, **variables},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
