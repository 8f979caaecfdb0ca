"""Where the tests import attnexp from, for processes of their own: the checkout or a wheel."""

from importlib.util import find_spec
from pathlib import Path

IMPORTED = str(Path(find_spec("attnexp").origin or "").parents[1])
