"""summary.json: the settings of a run, its end, and its results.

No other module knows the file. It is read and written through `Summary`, whose fields are its keys.
msgspec checks the types while it parses, which takes less time than parsing alone takes with the
standard library, and says which field does not fit.
"""

import codecs
import json
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from attnexp.core.errors import FULL, RequestError, refusal, with_type
from attnexp.runs import lock
from attnexp.runs.files import (
    OF_RESULTS,
    SUMMARY,
    UnreadableRunError,
    digest,
    finite,
    read_bytes,
    write_bytes,
)
from attnexp.runs.key import ADDED, MOVED, RESULTS_VERSION, as_now
from attnexp.runs.origin.provenance import GitState, host, now, processor, system, versions
from attnexp.runs.origin.provenance import code as code_state
from attnexp.runs.run_status import Status
from attnexp.runs.settings import clean

Direction = Literal["lower", "higher"]
"""Which values of a metric are better."""


DEEPEST = 50
"""The most levels of nested settings that are read: functions that walk them call themselves."""


class NoSummaryError(UnreadableRunError):
    """A folder holds no summary of a run."""


RECORDED = (Status.RUNNING, Status.FINISHED, Status.FAILED, Status.INTERRUPTED)


DIVERGED = "TrainingDivergedError: "
"""The beginning of the error of a run whose numbers became infinite or NaN, see `error_text`."""


ENDED = "training ended early: "
"""The beginning of the note that says why training ended although epochs were left."""

LENGTHS = "results count lengths in symbols of the source: "
"""The beginning of the note that says how long the sources are, in symbols, of each test length."""

NATIVE = "native"
"""The key in `versions` of the compiler of the recurrences, if a run called compiled steps."""


class Tuning(msgspec.Struct, frozen=True):
    """How settings of a run were chosen by a sweep that tunes each configuration.

    - `values` are the values that were tried of each tuned setting.
    - `metric` is the metric that decided the choice.
    - `seeds` are the seeds of the runs that were tried.
    - `tuning_run` says that the run is one of those that were tried, and is not compared itself.
    - `by_split` says that the choice was made for each compared seed by itself, on the training
      rows of its own split.
    - `beyond` is the most further numbers that were tried behind an end of the values, as long as
      the best number was at that end.
    - `finals` are further seeds, at which the two best choices and each number behind an end were
      tried too.
    - `at_end` are the settings whose best number was at an end to the last.
    """

    values: dict[str, list[str]]
    metric: str
    seeds: list[int]
    tuning_run: bool
    by_split: bool = False
    beyond: int = 0
    finals: list[int] = []
    at_end: list[str] = []

    def __str__(self) -> str:
        tried = " and ".join(f"{name} among {', '.join(v)}" for name, v in self.values.items())
        seeds = ", ".join(map(str, self.seeds))
        within = " within the training rows of each split" if self.by_split else ""
        at = f"at seed{'s' if len(self.seeds) > 1 else ''} {seeds}"
        further = f" and up to {self.beyond} beyond each end" if self.beyond else ""
        best = "the two best and those tried after them" if self.beyond else "the two best"
        finals = f", {best} at {', '.join(map(str, self.finals))} too" if self.finals else ""
        return f"{tried}{further} by {self.metric}{within} {at}{finals}"


class Attempt(msgspec.Struct, frozen=True):
    """An earlier attempt at a run, which ended after `updates` updates and was then continued."""

    updates: int
    device: str | None
    versions: dict[str, str]

    def differences(self, later: "Attempt") -> str:
        """Return in words where the versions and the device of a later attempt are others."""
        ours, theirs = ({**each.versions, "device": each.device} for each in (self, later))
        return " and ".join(
            f"{name} {theirs.get(name, 'by PyTorch')} in place of {own}"
            for name, own in ours.items()
            if theirs.get(name) != own
        )


class WrittenFile(msgspec.Struct, frozen=True):
    """The size of a file in bytes, and the SHA-256 of its content."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "WrittenFile":
        """Return the size and the digest of a file. Raises OSError if there is no file."""
        return cls(path.stat().st_size, digest(path))

    def is_changed(self, path: Path) -> bool:
        """Return whether a file has other content by now; False for a file that is gone."""
        try:
            return path.stat().st_size != self.size or digest(path) != self.sha256
        except (OSError, UnreadableRunError):
            return os.path.lexists(path)


Tried = tuple[float, float | None]
"""A width and its error, None for one that is not a finite number."""


class WidthCheck(msgspec.Struct, frozen=True):
    """How a learned width was checked after training, by trying others.

    - `row` holds other widths, with their errors over `points` of the `whole` points.
    - `trained` is the width at which training had ended, `found` the best of the others, and
      `learned` the width of the run. Their errors are over all points.
    - `epoch` is the last epoch before training started a second time, from `found`; None if it did
      not.
    - `nearest` says that the narrowest kernel of the row has the lowest error.

    A width of several dimensions is given as the root mean square of its numbers.
    """

    row: list[Tried]
    trained: Tried
    found: Tried
    learned: Tried
    points: int
    whole: int
    epoch: int | None = None
    nearest: bool = False


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The content of summary.json.

    - `schema` is the version of the files of a run folder.
    - `config` is the resolved configuration, with `${oc.env:NAME}` for a value from the
      environment; `choices` is the name chosen in each group.
    - `metrics` are the final metrics, None for one that is not a finite number; `details` are
      metrics cut into parts, such as exact match by length.
    - `primary` is the metric by which runs are compared first, `selection` the one by which a
      search selects; `better` holds the direction of each metric that ranks, `headline` the metrics
      that are shown first, `units` the unit of each metric that has one, `companions` the
      metrics that are shown next to another in tables, by the heads of their columns.
    - `floors` says, of each metric of guessing that is the best of several, which guess it is of.
    - `overlap` is n_test / n_train if other seeds are other splits of the same rows, else 0.
    - `fixed_by` is the setting by which no seed draws the data, so that seeds are of the model
      alone; None if seeds draw them.
    - `notes` are remarks that must be read with the numbers.
    - `tuning` says how settings of the run were chosen, None if no sweep has tuned them.
    - `width_check` is the check of a learned width, None if there was none.
    - `attempts` are the earlier attempts at the run, each of which continued the last.
    - `seconds` is the duration, `peak_memory_mb` the most memory in use, in units of 2^20 bytes.
    - `files` holds the size and the SHA-256 of each file of results, as the run wrote it.
    - `code` holds a digest of each module of the user's own that the run needed, by its name.
    - `command` is the command line as it was typed, for a job of a sweep that of the sweep;
      `overrides` are the overrides of the run itself, `config_dir` is the folder of --config-dir.
    - `git` is the state of the checkout that the working directory is in, `source` that of the one
      from which attnexp ran; `host`, `platform` and `processor` say on which machine.
    - `error` is the error that ended the run early, in one line.
    - `imported` says where a run comes from that attnexp has not computed, else None. Such a run
      has a `name` there, was written at `imported_at` from the source with the digest
      `imported_from`, and has recorded numbers up to `last_step`. `named` has the setting that its
      name, `run`, became. A metric that it recorded as infinite or NaN is None.
    """

    schema: Literal[1]
    status: Status
    key: str
    choices: dict[str, str]
    config: dict[str, Any]
    metrics: dict[str, float | None]
    results_version: int | None = None
    primary: str | None = None
    selection: str | None = None
    better: dict[str, Direction] = {}
    headline: list[str] = []
    units: dict[str, str] = {}
    companions: dict[str, dict[str, str]] = {}
    floors: dict[str, str] = {}
    overlap: float = 0.0
    fixed_by: str | None = None
    details: dict[str, dict[str, float | None]] = {}
    notes: list[str] = []
    tuning: Tuning | None = None
    width_check: WidthCheck | None = None
    attempts: list[Attempt] = []
    parameters: int | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    device: str | None = None
    versions: dict[str, str] = {}
    files: dict[str, WrittenFile] = {}
    git: GitState | None = None
    source: GitState | None = None
    code: dict[str, str] = {}
    command: str | None = None
    overrides: list[str] | None = None
    config_dir: str | None = None
    host: str | None = None
    platform: str | None = None
    processor: str | None = None
    started: str | None = None
    ended: str | None = None
    error: str | None = None
    imported: str | None = None
    imported_at: str | None = None
    imported_from: str | None = None
    name: str | None = None
    named: dict[str, str] = {}
    last_step: float | None = None

    def __post_init__(self) -> None:
        seed = self.config.get("seed")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"Expected a whole number, got {seed!r:.60} - at `$.config.seed`")
        if self.status not in RECORDED:
            raise ValueError(f"Invalid enum value '{self.status}' - at `$.status`")

    @property
    def seed(self) -> int:
        """The seed of the run."""
        seed: int = self.config["seed"]
        return seed

    @property
    def diverged(self) -> bool:
        """Whether a loss, a parameter or a metric became infinite or NaN."""
        return self.status is Status.FAILED and (self.error or "").startswith(DIVERGED)

    def ended_early(self, status: Status, error: str, seconds: float | None = None) -> "Summary":
        """Return the summary of the same run, failed or interrupted."""
        return msgspec.structs.replace(
            self, status=status, error=error, seconds=seconds, ended=now()
        )

    @property
    def made_by(self) -> str:
        """The results version, the version of attnexp and the commit, as far as they are known."""
        parts = [f"results version {self.results_version or 'unknown'}"]
        if version := self.versions.get("attnexp"):
            parts.append(f"attnexp {clean(version)}")
        if self.source is not None:
            parts.append(f"commit {clean(self.source.commit)[:6]}")
        return ", ".join(parts)

    def is_of(self, version: int) -> bool:
        """Return whether the numbers may be compared with those of a results version.

        An imported run may be compared with any.
        """
        return self.imported is not None or (self.results_version or 0) == version

    def write(self, folder: Path) -> None:
        """Write summary.json whole or not at all, as strict JSON.

        NaN and infinities become null, and characters that UTF-8 cannot hold become `?`.

        Raises TakenOverError if this process has lost the folder to another.
        """
        content = finite(msgspec.to_builtins(self))
        text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_bytes(folder / SUMMARY, text.encode(errors="replace"), partial(lock.confirm, folder))


def first_summary(
    key: str, config: Mapping[str, Any], choices: Mapping[str, str], **fields: Any
) -> Summary:
    """Return the summary of a run before anything of it is built.

    `config` is the configuration as it is recorded, `choices` the name chosen in each group;
    `fields` are other fields of the summary, such as `command`.
    """
    working, package = code_state()
    return Summary(
        schema=1,
        status=Status.RUNNING,
        key=key,
        results_version=RESULTS_VERSION,
        choices=dict(choices),
        config=dict(config),
        metrics={},
        versions=versions(),
        git=working.state if working else None,
        source=package.state if package else None,
        host=host(),
        platform=system(),
        processor=processor(),
        started=now(),
        **fields,
    )


def written_files(folder: Path) -> dict[str, WrittenFile]:
    """Return the size and the digest of each file of results that a run has written."""
    paths = {name: folder / name for name in OF_RESULTS}
    return {name: WrittenFile.of(path) for name, path in paths.items() if os.path.isfile(path)}


def require_computed(summary: Summary, folder: Path) -> None:
    """Raise RequestError for an imported run, and for a run of another results version."""
    if summary.imported is not None:
        raise RequestError(
            f"{folder} was imported, from {clean(summary.imported)}: it has no model and no "
            "attention"
        )
    if summary.results_version != RESULTS_VERSION:
        raise RequestError(
            f"{folder} is of {summary.made_by}, and this attnexp has results version "
            f"{RESULTS_VERSION}: run it again, or use that attnexp"
        )


def record_tuning(folder: Path, tuning: Tuning) -> None:
    """Add to the summary of a finished run how its settings were chosen.

    The caller holds the lock of the folder.
    """
    summary = read_summary(folder)
    if summary.tuning != tuning:
        msgspec.structs.replace(summary, tuning=tuning).write(folder)


def read_summary(folder: Path | str) -> Summary:
    """Return the summary of a run folder.

    Raises NoSummaryError if there is none, and UnreadableRunError, with the reason, for content
    that is not JSON, not a summary of this schema version, or nested too deeply.
    """
    path = f"{folder}/{SUMMARY}"
    try:
        summary = _DECODER.decode(read_bytes(path).removeprefix(codecs.BOM_UTF8))
        if _is_deeper(summary.config, DEEPEST):
            raise ValueError(f"its config has more than {DEEPEST} levels")
        if (ADDED or MOVED) and summary.results_version == RESULTS_VERSION:
            config, choices = as_now(summary.config, summary.choices)
            return msgspec.structs.replace(summary, config=config, choices=choices)
        return summary
    except FileNotFoundError:
        what = f"holds no {SUMMARY}"
        if not os.path.isdir(folder):
            what = "is not there: give the folder of a run"
        raise NoSummaryError(f"{folder} {what}") from None
    except msgspec.ValidationError as error:
        reason, _, field = clean(str(error)).partition(" - at `$.")
        what = f"its {field.rstrip('`')} is wrong ({reason})" if field else reason
        raise UnreadableRunError(f"{path} is not the summary of a run: {what}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error


def _is_deeper(settings: Any, levels: int) -> bool:
    level, nested = [settings], (dict, list)
    for _ in range(levels):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [value for values in inside for value in values if isinstance(value, nested)]
        if not level:
            return False
    return True


def error_text(error: BaseException) -> str:
    """Return an error in one line: its type and its message.

    A RequestError is a sentence already and loses its type. A full disk, and memory that PyTorch
    cannot allocate, have sentences of their own.
    """
    if isinstance(error, RequestError):
        return str(error)
    if isinstance(error, OSError) and error.errno in FULL:
        what = f": {error.filename} cannot be written" if error.filename else ""
        return f"{refusal(error)}{what}"
    if type(error).__name__ == "OutOfMemoryError" or "memory: you tried to" in str(error):
        size = re.search(r"tried to allocate ([\d.]+ \w+)", str(error), re.IGNORECASE)
        return (
            f"a step of training does not fit in memory{f' ({size[1]} more)' if size else ''}: "
            "choose a smaller train.batch_size, smaller sizes in arch and model, or shorter "
            "sequences"
        )
    return with_type(error).rstrip(": ")


_DECODER = msgspec.json.Decoder(Summary)
