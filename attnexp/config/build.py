"""The composition root: builds the objects of a run from its configuration, and writes nothing."""

import copy
import hashlib
import inspect
import math
import os
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_type_hints

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from attnexp.architectures.base import Architecture
from attnexp.batch import Points
from attnexp.config.groups import choices
from attnexp.config.job import register_resolvers, resolved
from attnexp.config.room import require_room, require_room_for_step
from attnexp.config.schema import check_finite, check_settings
from attnexp.config.trust import VARIABLE, Trust, checked_config
from attnexp.data.base import Dataset
from attnexp.errors import RequestError, choices_text
from attnexp.normalizers.base import Normalizer
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.key import ADDED, run_key
from attnexp.runs.summary import Summary, error_text
from attnexp.scores.base import Score
from attnexp.tasks.base import Task
from attnexp.trackers.guarded import GuardedTracker
from attnexp.training.base import TrainSettings
from attnexp.training.device import choose_device, prepare_processor
from attnexp.training.early_stopping import Target
from attnexp.training.optimizers import reads_rate_once
from attnexp.training.precision import choose_precision
from attnexp.training.prepared import PreparedRun, trainable
from attnexp.training.schedules import Constant
from attnexp.training.tensors import read_parameters

STEP_PAIRS = 2**36
"""Pairs of points up to which a step is taken: all of 262,144 points, some two minutes a step."""

PAIR_SECONDS = 1.5e-9
"""About the time of a pair in a step of the cheapest score that learns, on one core."""

MOST_THREADS = max(256, os.cpu_count() or 1)
"""CPU threads of a run: far more than processors would exhaust what the system can start."""

UNTRAINED = 5
"""Untrained models by which chance is estimated."""

GIVEN = {
    "model": ("query_dim", "key_dim"),
    "normalizer": ("heads",),
    "arch": ("spec", "score", "normalizer"),
    "data": ("generator",),
    "task": (),
    "optim": ("params",),
    "schedule": (),
    "train": (),
    "tracker": (),
}
"""Each group of settings, and the arguments of its target that come from the run."""

MADE: Mapping[str, type] = {
    "model": Score,
    "normalizer": Normalizer,
    "arch": Architecture,
    "data": Dataset,
    "task": Task,
    "train": TrainSettings,
}
"""What the target of a group must make."""

FINITE = ("model", "normalizer", "arch", "data")
"""Groups in whose formulas an infinite number has no meaning."""


def prepare(
    config: DictConfig, chosen: Mapping[str, str], command: str | None = None
) -> PreparedRun:
    """Build everything that a run needs, and write nothing.

    `chosen` holds the names of the choices, a group each, `command` is what was typed. Raises
    RequestError or ValueError for a configuration that cannot work.
    """
    plain = resolved(config)
    _check_seed(plain["seed"])
    if plain["threads"] < 1:
        raise RequestError(f"threads must be 1 or more, got {plain['threads']}")
    if plain["threads"] > MOST_THREADS:
        raise RequestError(f"threads must be at most {MOST_THREADS}, got {plain['threads']}")
    prepare_processor(plain["threads"])
    device, why_device = choose_device(plain["device"])
    precision = choose_precision(plain["precision"], device)
    if plain["batched"] and device.type == "cpu" and plain["threads"] > 1:
        raise RequestError(
            f"batched=true needs threads=1 on a CPU, got threads={plain['threads']}: with more, a "
            "replica's last digits would depend on the replicas beside it"
        )
    seed = plain["seed"]
    made = _checked_makers(config, plain, GIVEN)
    dataset: Dataset = made["data"](generator=generator(seed, "data"))
    task: Task = made["task"]()
    _check_fit(plain, chosen, dataset)
    make_model = partial(
        made["arch"], spec=dataset.spec, score=made["model"], **_normalizer(plain, chosen, made)
    )
    settings: TrainSettings = made["train"]()
    with seeded(seed, "room"):
        empty = require_room(make_model, precision.dtype)
    if empty is not None and trainable(empty) and device.type == "cpu":
        itemsize = 2 if plain["precision"] == "bf16" else precision.dtype.itemsize
        require_room_for_step(empty, dataset.train, settings.batch_size, itemsize)
    with seeded(seed, "initialisation"):
        model = make_model().to(device, precision.dtype)
    Target(settings, task, dataset)  # a target that cannot be reached is refused now
    optimizer, schedule = made["optim"], made["schedule"]()
    if trainable(model):
        _check_pairs(settings, dataset)
        first = optimizer(params=list(model.parameters()))  # a rate it refuses is refused now
        if reads_rate_once(first) and not isinstance(schedule, Constant):
            raise RequestError(
                f"schedule={chosen['schedule']} has no effect with optim={chosen['optim']}, which "
                "reads its learning rate once: choose schedule=constant, or optim=adam or sgd"
            )
    return PreparedRun(
        config=plain,
        chosen=chosen,
        device=device,
        why_device=why_device,
        precision=precision,
        dataset=dataset.to(device, precision.dtype),
        model=model,
        task=task,
        optimizer=optimizer,
        schedule=schedule,
        settings=settings,
        tracker=GuardedTracker(made["tracker"]()),
        order=generator(seed, "order"),
        untrained=Untrained(make_model, seed, device, precision.dtype),
        command=command,
    )


def make_score(config: DictConfig, query_dim: int, key_dim: int) -> Score:
    """Build the score of a configuration alone, untrained, for queries and keys of these sizes.

    Raises RequestError or ValueError for settings that cannot work.
    """
    return _make_alone(config, "model", query_dim=query_dim, key_dim=key_dim)


def make_normalizer(config: DictConfig) -> Normalizer:
    """Build the normalizer of a configuration alone, for one head. Raises as `make_score`."""
    return _make_alone(config, "normalizer", heads=1)


def dataset_maker(config: DictConfig) -> Callable[[torch.Generator], Dataset]:
    """Return what makes a configuration's data set of a generator. Raises as `make_score`."""
    make = _checked_makers(config, resolved(config), ["data"])["data"]
    return lambda generator: make(generator=generator)


def _make_alone(config: DictConfig, group: str, **given: int) -> Any:
    plain = resolved(config)
    seed = plain["seed"]
    _check_seed(seed)
    make = partial(_checked_makers(config, plain, [group])[group], **given)
    with seeded(seed, "room"):
        require_room(make, torch.float32)
    with seeded(seed, "initialisation"):
        return make()


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise RequestError(f"seed must be 0 or more, got {seed}")


def _checked_makers(
    config: DictConfig, plain: Mapping[str, Any], groups: Collection[str]
) -> dict[str, Callable[..., Any]]:
    """Return what makes the object of each group, whose settings have been checked.

    Raises RequestError for settings that its target does not take.
    """
    for group in groups:
        check_settings(plain[group], _target(plain[group], group), group, GIVEN[group])
    for group in FINITE:
        if group in groups:
            check_finite(plain[group], group)
    return {group: partial(_made, group, config[group], plain[group]) for group in groups}


@dataclass(frozen=True)
class Untrained:
    """The models of a run with other first parameters, each built when it is asked for."""

    make_model: Callable[[], Architecture]
    seed: int
    device: torch.device
    dtype: torch.dtype

    def __iter__(self) -> Iterator[Architecture]:
        for draw in range(UNTRAINED):
            with seeded(self.seed, f"untrained {draw}"):
                model = self.make_model()
            yield model.to(self.device, self.dtype).eval()


def _made(group: str, node: DictConfig, settings: Mapping[str, Any], /, **given: Any) -> Any:
    """Return what the target of a group makes of its settings.

    Raises RequestError for anything but what the group is for, and where the target raises what is
    neither that nor a ValueError: a class of the user's may raise anything.
    """
    try:
        made = build(node, settings, **given)
    except (RequestError, ValueError):
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}, line {last.lineno}"
        why = error_text(error).partition("\n")[0]
        raise RequestError(f"{group} cannot be built: {why:.160} ({where})") from error
    if not isinstance(made, MADE.get(group, object)):
        raise RequestError(
            f"{group}._target_: {settings['_target_']} makes a {type(made).__name__}, and {group} "
            f"takes a {MADE[group].__name__}"
        )
    return made


def build(node: DictConfig, settings: Mapping[str, Any], /, **given: Any) -> Any:
    """Call the `_target_` of a node with its settings and with what the run gives it.

    `settings` is the node as plain values. Hydra builds it, and refuses targets such as
    `os.system`. That takes 15 ms a run, a quarter of the time of a sweep over 64 seeds of the
    default, and the runs of a sweep share most of their settings: Hydra is asked once for settings
    that hold no objects.
    """
    if _holds_objects(list(settings.values())):
        return _maker(node)(**given)
    text = repr(settings)
    if text not in _makers:
        if len(_makers) == MAKERS:
            _makers.clear()
        _makers[text] = _maker(node)
    return copy.deepcopy(_makers[text])(**given)


_makers: dict[str, partial[Any]] = {}
"""The partial calls that Hydra has made of settings in this process, by the text of these."""

MAKERS = 64
"""The number of partial calls that are kept."""


def _maker(node: DictConfig) -> partial[Any]:
    made: partial[Any] = instantiate(node, _partial_=True, _convert_="all")
    return made


def _holds_objects(value: Any) -> bool:
    """Whether a `_target_` is anywhere inside the value."""
    if isinstance(value, Mapping):
        return "_target_" in value or _holds_objects(list(value.values()))
    return isinstance(value, list) and any(map(_holds_objects, value))


def generator(seed: int, stream: str) -> torch.Generator:
    """Return a generator for one purpose. The streams of a seed are independent of each other."""
    return torch.Generator().manual_seed(stream_seed(seed, stream))


def stream_seed(seed: int, stream: str) -> int:
    """Return 63 bits of the SHA-256 of the run's seed and the name of a stream."""
    digest = hashlib.sha256(f"{seed} {stream}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


@contextmanager
def seeded(seed: int, stream: str) -> Iterator[None]:
    """Seed PyTorch's global generator for a block, and restore its state afterwards.

    Modules draw their first parameters from the global generator, those of users included. Models
    are built on the CPU, so that the first parameters are the same on every device.
    """
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(stream_seed(seed, stream))
    try:
        yield
    finally:
        torch.default_generator.set_state(before)


REPEATED = {
    "figures": False,
    "checkpoint_every": None,
    "output_dir": "outputs",
    "tracker": {"_target_": "attnexp.trackers.none.NoTracker"},
}
"""Settings that a repeated run has whatever its folder says. They change no number."""

RESTORED = {**REPEATED, "device": "cpu", "batched": False}
"""Settings that a restored run has whatever its folder says."""


def restore(summary: Summary, folder: Path, trust: Trust) -> PreparedRun:
    """Build a finished run as it was after training, on the CPU, from what its folder holds.

    The folder may be somebody else's: it can name attnexp's own classes, the optimizers of PyTorch,
    and what `trust` covers.

    Raises RequestError where it names anything else, where its settings cannot be built, and where
    it holds no parameters that fit.
    """
    run = _prepared_again(summary, folder, trust, RESTORED)
    try:
        run.model.load_state_dict(read_parameters(folder))
    except (FileNotFoundError, RuntimeError, UnreadableRunError) as error:
        why = " ".join(str(error).split())
        raise RequestError(f"{folder} holds no parameters of its model: {why}") from error
    run.model.eval()
    return run


def rebuild(summary: Summary, folder: Path, trust: Trust) -> PreparedRun:
    """Build the run of a folder anew, to be trained once more, without pictures and tracker.

    Raises RequestError as `restore` does.
    """
    return _prepared_again(summary, folder, trust, REPEATED)


def _prepared_again(
    summary: Summary, folder: Path, trust: Trust, instead: Mapping[str, Any]
) -> PreparedRun:
    """Build what a folder describes, with some settings in place of its own."""
    stored = {name: value for name, value in summary.config.items() if name not in REPEATED}
    register_resolvers()
    try:
        checked = checked_config(stored, trust)
        if variables := sorted(set(VARIABLE.findall(str(checked)))):
            _require_variables(variables, {**checked, **REPEATED}, summary)
        return prepare(OmegaConf.create({**checked, **instead}), summary.choices)
    except RequestError:
        raise
    except ValueError as error:
        why = " ".join(str(error).split())
        raise RequestError(f"{folder} holds a run that cannot be built again: {why}") from error
    except Exception as error:  # what is in the folder may be of any kind
        why = " ".join(error_text(error).split())
        raise RequestError(f"{folder} holds a run that cannot be built again: {why}") from error


def _require_variables(names: Sequence[str], config: dict[str, Any], summary: Summary) -> None:
    """Raise ValueError unless the environment has what a run read from it.

    Its key says so, which a folder that only names a variable of ours cannot know.
    """
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise ValueError(f"it needs {choices_text(missing)} in the environment, which is not set")
    if run_key(resolved(OmegaConf.create(config)), summary.results_version) != summary.key:
        raise ValueError(
            f"{choices_text(names)} in the environment has another value than for the run"
        )


def _target(node: Mapping[str, Any] | DictConfig, group: str) -> Callable[..., Any]:
    name = node.get("_target_")
    if name is None:
        raise RequestError(f"{group} has no _target_: choose one with {group}=NAME")
    try:
        module, _, attribute = str(name).rpartition(".")
        found = getattr(import_module(module), attribute)
    except Exception as error:  # a module of the user's may raise anything
        raise RequestError(f"{group}._target_: '{name}' cannot be imported: {error}") from error
    if not callable(found):
        raise RequestError(f"{group}._target_: '{name}' is not a class or a function")
    return found


def _check_fit(plain: Mapping[str, Any], chosen: Mapping[str, str], dataset: Dataset) -> None:
    """Raise RequestError unless the architecture is for this kind of data."""
    needed = spec_type(_target(plain["arch"], "arch"))
    if isinstance(dataset.spec, needed):
        return
    fitting = [
        choice.name
        for choice in choices("arch")
        if isinstance(
            dataset.spec, spec_type(_target(cast(DictConfig, OmegaConf.load(choice.path)), "arch"))
        )
    ]
    raise RequestError(
        f"arch={chosen['arch']} is not for data={chosen['data']}: "
        f"choose arch={choices_text(fitting)}"
    )


def _check_pairs(settings: TrainSettings, dataset: Dataset) -> None:
    """Raise RequestError for steps that compare more than `STEP_PAIRS` pairs of points."""
    if not isinstance(dataset.train, Points):
        return
    points = dataset.train.keys.shape[1]
    queries = min(settings.batch_size or len(dataset.train), len(dataset.train))
    pairs = queries * points
    if pairs > STEP_PAIRS:
        size = "null" if settings.batch_size is None else f"{settings.batch_size:,}"
        raise RequestError(
            f"train.batch_size={size} compares {queries:,} points with {points:,} at each step: "
            f"{pairs:.2g} pairs, at least {pairs * PAIR_SECONDS / 60:,.0f} minutes a step on one "
            f"core; choose train.batch_size=512, or at most {STEP_PAIRS // points:,}, or "
            f"at most {math.isqrt(STEP_PAIRS):,} training points"
        )


def _normalizer(
    plain: Mapping[str, Any], chosen: Mapping[str, str], made: Mapping[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """Return the argument `normalizer` of the architecture, where it has one.

    Raises RequestError where it has none and the softmax, which it computes, was not chosen.
    """
    parameters = inspect.signature(_target(plain["arch"], "arch")).parameters
    if "normalizer" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return {"normalizer": made["normalizer"]}
    if plain["normalizer"] != ADDED["normalizer"]:
        raise RequestError(
            f"arch={chosen['arch']} has no argument normalizer, so it cannot use "
            f"normalizer={chosen['normalizer']}: choose normalizer=softmax"
        )
    return {}


def spec_type(architecture: Callable[..., Any]) -> type:
    """Return the type of data spec that an architecture accepts: the annotation of its `spec`."""
    inside = architecture.__init__ if inspect.isclass(architecture) else architecture
    return get_type_hints(inside).get("spec", object)
