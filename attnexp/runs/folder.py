"""A run on disk. Reading it needs NumPy, but neither torch nor the code of the run."""

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError, any_error_as
from attnexp.core.language import Text, said, translate
from attnexp.runs import files
from attnexp.runs.attention import StoredAttention, as_attention, as_snapshots
from attnexp.runs.files import is_finite
from attnexp.runs.key import NEUTRAL
from attnexp.runs.place import status_of
from attnexp.runs.probed import Probed, read_probed
from attnexp.runs.run_status import Status
from attnexp.runs.settings import Value, cells, clean
from attnexp.runs.summary import Summary, error_text, read_summary, require_computed

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, NDArray[Any]]
Content = TypeVar("Content")

NOT_COMPARED = NEUTRAL | {"seed", "batched"}
"""Settings by which runs are not compared: those that change no number, or only how it is rounded,
and the seed."""

OF_SEED = frozenset({"seed"})
"""The settings by which imported runs are not compared: the seed alone."""


@dataclass(frozen=True)
class Run:
    """The path of a run folder, and its summary. Other files are read when a property needs them.

    Text from the folder is cleaned for display in `choices`, `settings` and `title`. Each property
    that reads a file raises RequestError if the file cannot be read.
    """

    path: str
    summary: Summary = field(repr=False)

    @cached_property
    def folder(self) -> Path:
        """The run folder."""
        return Path(self.path)

    @cached_property
    def status(self) -> Status:
        """The status of the run."""
        return status_of(self.path, self.summary.status)

    @property
    def finished(self) -> bool:
        """Whether the run has ended well."""
        return self.status is Status.FINISHED

    @property
    def has_ended(self) -> bool:
        """Whether the run has finished, or has diverged, which counts as the worst value."""
        return self.finished or self.summary.diverged

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration, nested."""
        return self.summary.config

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.summary.seed

    @cached_property
    def choices(self) -> Mapping[str, str]:
        """The name chosen in each group. Runs of one configuration share the mapping."""
        return _cleaned(tuple(self.summary.choices.items()))

    @cached_property
    def settings(self) -> Mapping[str, Value]:
        """The settings by dotted path, without those by which runs are not compared.

        Of an imported run only the seed is left out: nothing says which of its settings change no
        number.
        """
        left_out = NOT_COMPARED if self.summary.imported is None else OF_SEED
        return cells(self.summary.config, left_out)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The final metrics that are finite numbers."""
        return {
            clean(name): value
            for name, value in self.summary.metrics.items()
            if value is not None and is_finite(value)
        }

    def is_headline(self, metric: str) -> bool:
        """Return whether a metric is among those that are shown first.

        If the summary names no such metrics, all metrics are shown first but those of single heads.
        """
        return metric in self.summary.headline if self.summary.headline else "." not in metric

    @property
    def model(self) -> str:
        """The name of the scoring function."""
        return self.choices.get("model", "?")

    @property
    def data(self) -> str:
        """The name of the data set."""
        return self.choices.get("data", "?")

    @property
    def title(self) -> str:
        """Model, data and seed, as in `additive on reverse, seed 0`."""
        return translate(self.heading)

    @property
    def heading(self) -> Text:
        """The title in both languages."""
        named = {"model": self.model, "data": self.data, "seed": self.seed}
        return said("{model} on {data}, seed {seed}", **named)

    @property
    def primary(self) -> str:
        """The primary metric and its value as text; empty if it was not measured."""
        name = self.summary.primary
        return "" if name not in self.metrics else f"{name} {self.metrics[name]:.3g}"

    @cached_property
    def epochs(self) -> dict[str, NDArray[np.float64]]:
        """metrics.csv by column; empty if nothing was trained."""
        rows = files.read_metrics(self.folder)
        return {key: np.array([row[key] for row in rows]) for key in rows[0]} if rows else {}

    @cached_property
    def history(self) -> "pd.DataFrame":
        """metrics.csv as a DataFrame, one row per epoch; empty if nothing was trained."""
        import pandas as pd

        return pd.DataFrame(self.epochs)

    @cached_property
    def prediction_rows(self) -> list[dict[str, str]]:
        """The rows of predictions.csv as text."""
        return files.read_rows(self.folder / files.PREDICTIONS)

    @cached_property
    def response_rows(self) -> list[dict[str, str]]:
        """The rows of response.csv as text; none if the data are not a table."""
        return files.read_rows(self.folder / files.RESPONSE)

    @cached_property
    def predictions(self) -> "pd.DataFrame":
        """predictions.csv as a DataFrame: numbers as numbers, text (`null`, `NA`) unchanged."""
        import pandas as pd

        if not self.prediction_rows:
            return pd.DataFrame()
        content = io.BytesIO(files.read_bytes(self.folder / files.PREDICTIONS))
        return pd.read_csv(content, keep_default_na=False, encoding="utf-8-sig")

    @cached_property
    def interventions(self) -> list[Probed]:
        """The results of `attnexp probe`; empty if it was not called."""
        return read_probed(self.folder)

    @property
    def has_attention(self) -> bool:
        """Whether the folder has an entry named as the attention file, readable or not."""
        return os.path.lexists(self.folder / files.ATTENTION)

    @cached_property
    def attention(self) -> StoredAttention:
        """The attention weights of the kept test examples, and these examples.

        `run.attention["pooling"]` is an array of weights (batch, layers, heads, queries, keys).
        Raises RequestError if the run stored none, or was imported.
        """
        attention = self._tensors(files.ATTENTION, as_attention)
        if attention is None:
            require_computed(self.summary, self.folder)
            raise RequestError(f"{self.folder} holds no {files.ATTENTION}")
        return attention

    @cached_property
    def snapshots(self) -> dict[int, StoredAttention]:
        """The attention after each of some epochs, by epoch; empty if none was kept."""
        return self._tensors(files.SNAPSHOTS, as_snapshots) or {}

    @cached_property
    def parameters(self) -> Mapping[str, NDArray[Any]]:
        """The parameters of the trained model by name; empty if none were stored."""
        return self._tensors(files.MODEL, lambda arrays, metadata: arrays) or {}

    def _tensors(
        self, name: str, read: Callable[[Arrays, dict[str, Any]], Content]
    ) -> Content | None:
        path = self.folder / name
        try:
            arrays, metadata = files.read_tensors(path)
        except FileNotFoundError:
            return None
        with any_error_as(f"{path}", error_text):
            return read(arrays, metadata)

    @property
    def changed_files(self) -> list[str]:
        """The names of the result files whose content is no longer what the run wrote.

        Only files whose digest the summary holds can be told.
        """
        written = self.summary.files
        return [
            name
            for name in files.OF_RESULTS
            if name in written and written[name].is_changed(self.folder / name)
        ]

    def check_files(self) -> None:
        """Read the files that pictures are drawn from. Raises RequestError for damaged files."""
        _ = self.epochs, self.prediction_rows, self.response_rows, self.snapshots
        _ = self.interventions
        if self.has_attention:
            _ = self.attention

    def group(self, name: str) -> Mapping[str, Any]:
        """Return the settings of a group, none if the summary holds something else there."""
        settings = self.summary.config.get(name)
        return settings if isinstance(settings, Mapping) else {}


@lru_cache(maxsize=4096)
def _cleaned(choices: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return {clean(group): clean(name) for group, name in choices}


def load_run(folder: Path | str) -> Run:
    """Return the run in a folder. Raises RequestError if there is none."""
    return Run(os.fspath(folder), read_summary(folder))


def not_as_written(names: Sequence[str]) -> str:
    """Return a clause that says that these files have other content than their run wrote."""
    are = "are not as the run wrote them" if len(names) > 1 else "is not as the run wrote it"
    return f"{' and '.join(names)} {are}, by the SHA-256 in {files.SUMMARY}"
