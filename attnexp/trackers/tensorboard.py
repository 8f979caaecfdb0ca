"""TensorBoard."""

import io
import threading
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attnexp.runs import files
from attnexp.runs.summary import Summary
from attnexp.trackers.base import FINAL, TRAINING, Tracker, settings_of

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

PLACE = "tensorboard"


class TensorBoard(Tracker):
    """Event files in the folder of the run, so that `tensorboard --logdir outputs` shows all runs.

    Columns of metrics.csv are scalars by epoch under `train/`, final metrics are under `final/`,
    pictures are images, and the settings are in the HParams tab. Event files of an earlier attempt
    are removed.
    """

    packages = MappingProxyType({"tensorboard": "attnexp[tensorboard]"})

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._last = 0

    def begin(self, folder: Path, summary: Summary) -> None:
        from torch.utils.tensorboard import SummaryWriter

        for old in (folder / PLACE).glob("events.out.tfevents.*"):
            old.unlink()
        threading.excepthook = _say_nothing_of_writers
        self._writer = SummaryWriter(str(folder / PLACE))

    def epoch(self, row: Mapping[str, Any]) -> None:
        assert self._writer is not None
        self._last = int(row["epoch"])
        for name, value in row.items():
            if name != "epoch":
                self._writer.add_scalar(TRAINING + name, value, self._last)

    def end(self, folder: Path, summary: Summary) -> None:
        assert self._writer is not None
        settings = {
            name: value if isinstance(value, str | bool | Real) else str(value)
            for name, value in settings_of(summary).items()
        }
        final = {FINAL + name: value for name, value in summary.metrics.items()}
        self._writer.add_hparams(settings, final, run_name=".", global_step=self._last)
        self._writer.add_text("status", summary.status)
        for path in sorted((folder / files.FIGURES).glob("*.png")):
            self._writer.add_image(path.stem, _pixels(path), self._last, dataformats="HWC")
        self._writer.flush()  # to close it would not say that something could not be written
        self._writer.close()


def _say_nothing_of_writers(failure: threading.ExceptHookArgs) -> None:
    """Print how a thread has ended, unless it writes event files.

    An error that has ended such a thread is raised by the next call of the writer.
    """
    if not type(failure.thread).__module__.startswith("tensorboard."):
        threading.__excepthook__(failure)


def _pixels(path: Path) -> Any:
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(files.read_bytes(path))) as image:
        return np.asarray(image.convert("RGB"))
