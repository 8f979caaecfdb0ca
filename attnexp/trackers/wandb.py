"""Weights & Biases."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attnexp.core import console
from attnexp.runs import files
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary
from attnexp.trackers.base import FINAL, TRAINING, Tracker, settings_of
from attnexp.trackers.project import require_project

if TYPE_CHECKING:
    from wandb import Run

PLACE = "wandb"

FINISH = 60.0
"""The most seconds of waiting for wandb's own process at the end of a run."""


class Wandb(Tracker):
    """An offline run of Weights & Biases in the folder of the run, which `wandb sync` uploads.

    Columns of metrics.csv are the history under `train/`, with the epoch as step; final metrics are
    in the summary under `final/`, pictures are images, and the settings are the configuration. The
    name is that of the run's folder. Files of an earlier attempt are removed: a run that goes on
    records the epochs of its checkpoint again. Nothing is sent anywhere, and no account is needed;
    the command line and the machine are not recorded.

    Raises ValueError for a project whose name has characters other than a-z, A-Z, 0-9, - and _.
    """

    packages = MappingProxyType({"wandb": "attnexp[wandb]"})

    def __init__(self, project: str = "attnexp") -> None:
        require_project(project)
        self.project = project
        self._run: Run | None = None
        self._last = 0

    def begin(self, folder: Path, summary: Summary) -> None:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        for old in (folder / PLACE).glob("offline-run-*"):
            shutil.rmtree(old)
        with console.status("starting wandb"):
            import wandb

            self._run = wandb.init(
                mode="offline",
                project=self.project,
                name=folder.name,
                id=summary.key,
                dir=str(folder),
                config=settings_of(summary),
                reinit="create_new",
                settings=wandb.Settings(
                    console="off",
                    silent=True,
                    finish_timeout=FINISH,
                    finish_timeout_raises=True,
                    save_code=False,
                    disable_code=True,
                    disable_git=True,
                    use_dot_wandb=False,
                    x_disable_meta=True,
                    host="",
                    x_disable_machine_info=True,
                    x_disable_stats=True,
                    x_save_requirements=False,
                ),
            )
        place = console.relative(Path(self._run.settings.sync_dir))
        console.print_line(f"wandb: written offline; to upload it: wandb sync {place}")

    def epoch(self, row: Mapping[str, Any]) -> None:
        assert self._run is not None
        self._last = int(row["epoch"])
        values = {TRAINING + name: value for name, value in row.items() if name != "epoch"}
        self._run.log(values, step=self._last)

    def end(self, folder: Path, summary: Summary) -> None:
        from wandb import Image

        assert self._run is not None
        pictures = sorted((folder / files.FIGURES).glob("*.png"))
        self._run.log({path.stem: Image(str(path)) for path in pictures}, step=self._last)
        self._run.summary.update(
            {FINAL + name: value for name, value in summary.metrics.items() if value is not None}
        )
        self._run.finish(exit_code=0 if summary.status == Status.FINISHED else 1)
