"""The plan of a sweep: its jobs, each with its key, its folder and the state of that folder.

Hydra takes about 0.1 seconds to compose a configuration, and therefore composes once for all jobs
that differ in plain values only. The values are then set as Hydra would set them.
"""

import itertools
import math
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override as ParsedOverride
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from attnexp.config.compose import Loader
from attnexp.config.hydra_internals import CachingConfigRepository
from attnexp.config.job import Job, identified, override_dirname, set_key
from attnexp.config.resolved import chosen_of
from attnexp.config.words import readable
from attnexp.core.errors import RequestError, writable
from attnexp.runs.key import run_name
from attnexp.runs.place import Found, Place
from attnexp.sweeps.overrides import Axis, Override, expand, is_plain

DEFAULT_SWEEP = {"dir": "${output_dir}", "subdir": "${run_name:}"}
"""The default of hydra.sweep, for which folders are computed without OmegaConf's resolution."""

MOST_JOBS = 1_000_000

BATCHED = "attnexp.sweeps.launchers.batched.BatchedExecutor"
"""The target of hydra/launcher=batched, whose jobs all have batched=true."""


@dataclass(frozen=True)
class PlannedJob:
    """A job of a sweep before it runs.

    `overrides` is its command line, `label` the part of it that varies in the sweep, `settings` its
    resolved configuration.
    """

    number: int
    overrides: tuple[Override, ...]
    label: str
    place: Place
    settings: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.place.folder

    @property
    def found(self) -> Found:
        """The content of the folder at the last look."""
        return self.place.found

    def refreshed(self) -> "PlannedJob":
        """Return the job with the present state of its folder. Raises as `Place.refreshed`."""
        return replace(self, place=self.place.refreshed(self.settings))


@dataclass(frozen=True)
class Plan:
    """The distinct jobs of a sweep."""

    jobs: tuple[PlannedJob, ...]

    @property
    def to_do(self) -> tuple[PlannedJob, ...]:
        """The jobs that have not finished."""
        return tuple(job for job in self.jobs if not job.found.status.counts_in_means)


@dataclass(frozen=True)
class Composition:
    """A configuration that Hydra has composed, and from which the jobs of a sweep are made.

    `default_folders` is true if hydra.sweep is DEFAULT_SWEEP.
    """

    config: DictConfig
    chosen: Mapping[str, str]
    default_folders: bool


class Composer:
    """Composes the jobs of one sweep.

    `config` is the configuration that Hydra composed for the sweep as a whole. Within a `with`
    statement the composer sets Hydra's global configuration, and restores it at the end.
    """

    def __init__(self, context: HydraContext, config: DictConfig) -> None:
        self.context = context
        self.config = config
        loader = context.config_loader
        assert isinstance(loader, Loader)
        self._loader = loader
        self.command = loader.command
        self._compositions: dict[tuple[str, ...], Composition] = {}

    @property
    def rerun(self) -> bool:
        """Whether finished jobs run again. A value that is not a boolean is refused by each job."""
        return self.config.rerun is True

    def __enter__(self) -> "Composer":
        self._before = HydraConfig.instance().cfg
        return self

    def __exit__(self, *_: object) -> None:
        HydraConfig.instance().cfg = self._before

    def axes(self, arguments: Iterable[str]) -> list[Axis]:
        """Return the axes that `name=values` arguments span, in their order.

        Raises HydraException for an argument that names no list of values, such as an interval.
        """
        return self.axes_of({name: expand(each) for name, each in self.parse(arguments).items()})

    def parse(self, arguments: Iterable[str]) -> dict[str, ParsedOverride]:
        """Return the parsed arguments by name. The last argument with a name counts.

        Raises RequestError if hydra/launcher=batched gets another value than batched=true.
        """
        parser = OverridesParser.create(config_loader=self._loader)
        words = [readable(word) for word in arguments]
        parsed = {each.get_key_element(): each for each in parser.parse_overrides(words)}
        if self.config.hydra.launcher["_target_"] == BATCHED:
            [batched] = parser.parse_overrides(["batched=true"])
            given = parsed.setdefault("batched", batched)
            if given.input_line != batched.input_line:
                raise RequestError(
                    f"hydra/launcher=batched trains with batched=true, got {given.input_line}: "
                    "leave it out, or choose another launcher"
                )
        return parsed

    def axes_of(self, overrides: Mapping[str, tuple[Override, ...]]) -> list[Axis]:
        """Return the axes with these overrides, given by name."""
        axes = [Axis(name, values, plain=False) for name, values in overrides.items()]
        settings = [axis.path for axis in axes if not self._is_group(axis.path)]
        return [replace(axis, plain=is_plain(axis.overrides, axis.path, settings)) for axis in axes]

    def all_planned(self, axes: Sequence[Axis]) -> Iterator[PlannedJob]:
        """Yield the job of each combination of the axes' values."""
        for number, each in enumerate(itertools.product(*(axis.overrides for axis in axes))):
            yield self.planned(axes, each, number)

    def planned(
        self, axes: Sequence[Axis], overrides: Sequence[Override], number: int
    ) -> PlannedJob:
        """Return the job with these overrides, one for each axis, with its key and its folder."""
        composition = self._compose(axes, overrides, number)
        settings, key, code = identified(composition.config)
        varying = [
            override.text
            for axis, override in zip(axes, overrides, strict=True)
            if len(axis.overrides) > 1
        ]
        if composition.default_folders:
            name = run_name(settings, composition.chosen, key)
            folder = Path(settings["output_dir"]).absolute() / name
        else:
            sweep = composition.config.hydra.sweep
            folder = Path(sweep.dir).absolute() / sweep.subdir
        return PlannedJob(
            number=number,
            overrides=tuple(overrides),
            label=" ".join(varying) or folder.name,
            place=Place(folder, key, code),
            settings=settings,
        )

    def job(self, axes: Sequence[Axis], planned: PlannedJob) -> Job:
        """Return the job that a worker process runs for a planned job."""
        config = self._compose(axes, planned.overrides, planned.number).config
        _set_job(config, planned.overrides, planned.number)
        copied = pickle.loads(pickle.dumps(config))  # faster than deepcopy
        set_key(copied, planned.place.key)
        place = replace(planned.place, found=Found())
        return Job(copied, planned.settings, place, self.command)

    def _compose(
        self, axes: Sequence[Axis], overrides: Sequence[Override], number: int
    ) -> Composition:
        """Return the composition of the job with these overrides. The next call may change it.

        Hydra composes the first of the jobs that differ in plain values only. For the others these
        values are set on that composition.
        """
        pairs = list(zip(axes, overrides, strict=True))
        kind = tuple(override.text for axis, override in pairs if not axis.plain)
        composition = self._compositions.get(kind)
        if composition is None:
            composition = self._compositions[kind] = self._by_hydra(overrides)
        else:
            try:
                for axis, override in pairs:
                    if axis.plain and override.value is not None:
                        OmegaConf.update(
                            composition.config,
                            axis.path,
                            *override.value,
                            force_add=axis.name.startswith("+"),
                        )
            except OmegaConfBaseException:
                composition = self._by_hydra(overrides)  # raises with Hydra's own message
        if not composition.default_folders:
            _set_job(composition.config, overrides, number)
        return composition

    def _by_hydra(self, overrides: Sequence[Override]) -> Composition:
        config = self._loader.load_sweep_config(self.config, [each.text for each in overrides])
        HydraConfig.instance().cfg = config  # type: ignore[assignment]
        if config.hydra.sweeper.params != self.config.hydra.sweeper.params:
            raise RequestError(
                "each experiment has its own axes, so run one at a time: -m experiment=NAME"
            )
        make_portable(config.hydra)
        sweep = OmegaConf.to_container(config.hydra.sweep, resolve=False)
        return Composition(config, chosen_of(config.hydra.runtime.choices), sweep == DEFAULT_SWEEP)

    def _is_group(self, path: str) -> bool:
        group = path.partition("@")[0]
        return bool(self._repository.get_group_options(group, ObjectType.CONFIG))

    @cached_property
    def _repository(self) -> CachingConfigRepository:
        hydra = self.config.hydra
        given = cast(list[str], OmegaConf.to_container(hydra.overrides.hydra, resolve=False))
        return self._loader.repository_of(hydra.job.config_name, given)


def make_plan(composer: Composer, axes: Sequence[Axis], rerun: bool) -> Plan:
    """Return the plan of all combinations of the axes. See `plan_of`.

    Raises RequestError for more than MOST_JOBS combinations.
    """
    named = math.prod(len(axis.overrides) for axis in axes)
    if named > MOST_JOBS:
        raise RequestError(f"the sweep has {named:,} jobs, expected at most {MOST_JOBS:,}")
    return plan_of(composer.all_planned(axes), rerun)


def plan_of(planned: Iterable[PlannedJob], rerun: bool) -> Plan:
    """Return the plan of these jobs, each of them once.

    Raises ComposeErrors if a job cannot be composed, and RequestError if two different jobs would
    share a folder or a folder holds the run of another configuration.
    """
    places = [(job, job.place.first_found(job.settings)) for job in distinct(planned)]
    return Plan(tuple(job if rerun else replace(job, place=place) for job, place in places))


def require_places(plan: Plan) -> None:
    """Raise RequestError if the folder of a job to do could not be written."""
    for place in dict.fromkeys(job.folder.parent for job in plan.to_do):
        with writable("output_dir", place):
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()


def distinct(jobs: Iterable[PlannedJob]) -> Iterator[PlannedJob]:
    """Yield each job once. Jobs with the same folder and the same key are the same job.

    Raises RequestError if two different jobs would share a folder.
    """
    by_folder: dict[Path, PlannedJob] = {}
    for job in jobs:
        first = by_folder.setdefault(job.folder, job)
        if first is job:
            yield job
        elif first.place.key != job.place.key:
            raise RequestError(
                f"'{first.label}' and '{job.label}' would share the folder {job.folder}: "
                "keep ${run_name:} in hydra.sweep.subdir"
            )


def make_portable(hydra: DictConfig) -> None:
    """Drop the types of the launcher's and the sweeper's settings, which pickle cannot import."""
    with read_write(hydra), open_dict(hydra):
        for name in ("launcher", "sweeper"):
            hydra[name] = OmegaConf.create(OmegaConf.to_container(hydra[name], resolve=False))


def _set_job(config: DictConfig, overrides: Sequence[Override], number: int) -> None:
    """Set the entries of Hydra's node that differ from job to job."""
    with open_dict(config.hydra):
        config.hydra.overrides.task = [override.text for override in overrides]
        config.hydra.job.override_dirname = override_dirname(config.hydra)
        config.hydra.job.num = number
        config.hydra.job.id = str(number)
