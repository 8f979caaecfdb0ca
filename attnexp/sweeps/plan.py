"""The jobs of a sweep, each composed, with its key, its folder and what that holds.

Hydra composes in about a tenth of a second, which is long for a thousand jobs. So it composes once
for all jobs that differ only in plain values; the values are then set as Hydra sets them.
"""

import itertools
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString, Transformer
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from attnexp.config.job import Job, chosen_of, resolved
from attnexp.errors import RequestError
from attnexp.runs.key import run_key, run_name
from attnexp.runs.state import Found, look, old_folders

PLAIN = (bool, int, float, str, type(None))
"""Types of values that can be set on a composed configuration without composing it again."""


USUAL = {"dir": "${output_dir}", "subdir": "${run_name:}"}
"""Where the runs of a sweep go unless somebody has set hydra.sweep: known without resolving it."""


@dataclass(frozen=True)
class Word:
    """One `name=value` of a job's command line. `value` is None where it is not plain."""

    text: str
    value: tuple[Any] | None


@dataclass(frozen=True)
class Axis:
    """One name of the command line with all its values in the sweep."""

    name: str
    words: tuple[Word, ...]
    plain: bool

    @property
    def path(self) -> str:
        """Where in the configuration it points."""
        return _path(self.name)

    @property
    def adds(self) -> bool:
        """Whether the setting need not be there before."""
        return self.name.startswith("+")


@dataclass(frozen=True)
class Planned:
    """A job of a sweep before it runs.

    `words` is its command line, `label` the part of it that varies, `settings` its resolved
    configuration.
    """

    number: int
    words: tuple[Word, ...]
    label: str
    folder: Path
    key: str
    settings: Mapping[str, Any]
    found: Found


@dataclass(frozen=True)
class Plan:
    """The jobs of a sweep, each once, and how many more the command line named."""

    jobs: tuple[Planned, ...]
    repeated: int
    old_versions: tuple[Path, ...]

    @property
    def to_do(self) -> tuple[Planned, ...]:
        """The jobs that have not finished."""
        return tuple(job for job in self.jobs if job.found.state != "finished")


@dataclass(frozen=True)
class Base:
    """A configuration that Hydra has composed, and what all the jobs made of it share.

    `usual` says that their folders are those of USUAL.
    """

    config: DictConfig
    chosen: Mapping[str, str]
    usual: bool


class Composer:
    """Composes the jobs of one sweep.

    `master` is the configuration that Hydra composed for the sweep as a whole.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader = loader
        self._master = master
        self._bases: dict[tuple[str, ...], Base] = {}
        self._groups: dict[str, bool] = {}

    def axes(self, arguments: Iterable[str]) -> list[Axis]:
        """The axes that `name=values` words span, in their order.

        Raises HydraException for a word that spans no list of values, such as an interval.
        """
        return self.axes_of({name: listed(word) for name, word in self.parse(arguments).items()})

    def parse(self, arguments: Iterable[str]) -> dict[str, Override]:
        """The words of a command line by their names; the last one of a name counts."""
        parser = OverridesParser.create(config_loader=self._loader)
        return {word.get_key_element(): word for word in parser.parse_overrides(list(arguments))}

    def axes_of(self, words: Mapping[str, tuple[Word, ...]]) -> list[Axis]:
        """The axes with these words, by their names."""
        settings = [path for path in map(_path, words) if not self.is_group(path)]
        return [Axis(name, words[name], _is_plain(words[name], name, settings)) for name in words]

    def compose(self, axes: Sequence[Axis], words: Sequence[Word], number: int) -> Base:
        """The configuration of the job with these words, one for each axis.

        It belongs to the composer and is good until the next call. The first of a kind is composed
        by Hydra, the others are made of it.
        """
        fixed = tuple(word.text for axis, word in zip(axes, words, strict=True) if not axis.plain)
        base = self._bases.get(fixed)
        if base is None:
            base = self._bases[fixed] = self._by_hydra(words)
        else:
            try:
                for axis, word in zip(axes, words, strict=True):
                    if axis.plain and word.value is not None:
                        OmegaConf.update(base.config, axis.path, *word.value, force_add=axis.adds)
            except OmegaConfBaseException:
                base = self._by_hydra(words)  # for Hydra's words about what is wrong
        if not base.usual:
            _number(base.config, axes, words, number)
        return base

    def planned(self, axes: Sequence[Axis], words: Sequence[Word], number: int) -> Planned:
        """The job with these words, with its key and its folder."""
        base = self.compose(axes, words, number)
        settings = resolved(base.config)
        varying = [word.text for axis, word in zip(axes, words, strict=True) if len(axis.words) > 1]
        if base.usual:
            folder = Path(settings["output_dir"]).absolute() / run_name(settings, base.chosen)
        else:
            folder = folder_of(base.config)
        return Planned(
            number=number,
            words=tuple(words),
            label=" ".join(varying) or folder.name,
            folder=folder,
            key=run_key(settings),
            settings=settings,
            found=Found("new"),
        )

    def job(self, axes: Sequence[Axis], planned: Planned) -> Job:
        """A job of the plan as a process needs it to run."""
        config = self.compose(axes, planned.words, planned.number).config
        _number(config, axes, planned.words, planned.number)
        return Job(pickle.loads(pickle.dumps(config)), planned.folder)  # a copy, quickly

    def _by_hydra(self, words: Sequence[Word]) -> Base:
        config = self._loader.load_sweep_config(self._master, [word.text for word in words])
        HydraConfig.instance().cfg = config  # type: ignore[assignment]
        if config.hydra.sweeper.params != self._master.hydra.sweeper.params:
            raise RequestError(
                "experiments bring axes of their own, so run one at a time: -m experiment=NAME"
            )
        make_portable(config.hydra)
        places = OmegaConf.to_container(config.hydra.sweep, resolve=False)
        return Base(config, chosen_of(config.hydra.runtime.choices), places == USUAL)

    def is_group(self, path: str) -> bool:
        """Whether a path names a group of choices, and not a setting."""
        if path not in self._groups:
            options = self._loader.get_group_options(
                path.partition("@")[0],
                ObjectType.CONFIG,
                config_name=self._master.hydra.job.config_name,
                overrides=_texts(self._master.hydra.overrides.hydra),
            )
            self._groups[path] = bool(options)
        return self._groups[path]


def make_plan(
    composer: Composer, axes: Sequence[Axis], rerun: bool, expect: Callable[[Planned], None]
) -> Plan:
    """Every combination of the axes as a job, each once, and what its folder holds.

    `expect` is called at every job that has to be run, while others are still being planned.

    Raises ComposeErrors where a combination cannot be composed, and RequestError where two jobs
    would share a folder or a folder holds the run of another configuration.
    """
    jobs: dict[Path, Planned] = {}
    repeated, old = 0, []
    for number, words in enumerate(itertools.product(*(axis.words for axis in axes))):
        job = composer.planned(axes, words, number)
        other = jobs.get(job.folder)
        if other is not None:
            if other.key != job.key:
                raise RequestError(
                    f"'{other.label}' and '{job.label}' would share the folder {job.folder}: "
                    "keep ${run_name:} in hydra.sweep.subdir"
                )
            repeated += 1
            continue
        if not rerun:
            job = replace(job, found=look(job.folder, job.settings))
        if job.found.state != "finished":
            expect(job)
        jobs[job.folder] = job
        old += old_folders(job.folder, job.settings)
    return Plan(tuple(jobs.values()), repeated, tuple(old))


def folder_of(config: DictConfig) -> Path:
    """The folder of a job of a sweep."""
    return Path(config.hydra.sweep.dir).absolute() / config.hydra.sweep.subdir


def make_portable(hydra: DictConfig) -> None:
    """Drop the classes of launchers' and sweepers' settings, which pickle would not find again."""
    with read_write(hydra), open_dict(hydra):
        for name in ("launcher", "sweeper"):
            hydra[name] = OmegaConf.create(OmegaConf.to_container(hydra[name], resolve=False))


def _number(config: DictConfig, axes: Sequence[Axis], words: Sequence[Word], number: int) -> None:
    """Set what Hydra's node says of one job alone."""
    texts = [word.text for word in words]
    form = config.hydra.job.config.override_dirname
    named = zip(axes, texts, strict=True)
    lines = sorted(text for axis, text in named if axis.path not in form.exclude_keys)
    with open_dict(config.hydra):
        config.hydra.overrides.task = texts
        config.hydra.job.override_dirname = re.sub("=", form.kv_sep, form.item_sep.join(lines))
        config.hydra.job.num = number
        config.hydra.job.id = str(number)


def _texts(overrides: ListConfig) -> list[str]:
    """The words of a command line as they were written; they may hold `${...}`."""
    return cast(list[str], OmegaConf.to_container(overrides, resolve=False))


def listed(override: Override) -> tuple[Word, ...]:
    """The words that a word of the command line stands for: one for each of its values."""
    name = override.get_key_element()
    if not override.is_sweep_override():
        assert override.input_line is not None
        return (Word(override.input_line, _plain_value(override.value())),)
    if not override.is_discrete_sweep():
        raise HydraException(
            f"{override.input_line} names no list of values: hydra/sweeper=optuna searches it"
        )
    values = cast(Iterable[Any], override.sweep_iterator())
    return tuple(_word(name, value) for value in values)


def _word(name: str, value: Any) -> Word:
    return Word(f"{name}={Transformer.str(value)}", _plain_value(value))


def _plain_value(value: Any) -> tuple[Any] | None:
    """A value in a tuple, where it is plain and means the same after composing as before."""
    text = value.text if isinstance(value, QuotedString) else value
    if not isinstance(text, PLAIN) or (isinstance(text, str) and ("${" in text or text == "???")):
        return None
    return (text,)


def _path(name: str) -> str:
    return name.lstrip("+~")


def _is_plain(words: Sequence[Word], name: str, settings: Sequence[str]) -> bool:
    """Whether the values of an axis can be set on a configuration that is composed already.

    They must vary, be plain, be of a setting and not of a group, and touch nothing that another
    word touches.
    """
    path = _path(name)
    return (
        len(words) > 1
        and path in settings
        and all(word.value is not None for word in words)
        and sum(_overlap(path, other) for other in settings) == 1
    )


def _overlap(one: str, other: str) -> bool:
    """Whether one of two paths is the other, or inside it."""
    first, second = one.split("."), other.split(".")
    return all(left == right for left, right in zip(first, second, strict=False))
