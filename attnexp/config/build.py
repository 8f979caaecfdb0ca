"""The composition root: builds the objects of a run from its configuration, and writes nothing."""

import copy
import inspect
import math
import os
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast, get_type_hints

import torch
from omegaconf import DictConfig, OmegaConf

from attnexp.architectures.base import Architecture
from attnexp.architectures.positions import Positions
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.config.fitting import misfit
from attnexp.config.groups import choices
from attnexp.config.hydra_internals import make_partial
from attnexp.config.job import Job
from attnexp.config.model_memory import check_model_memory
from attnexp.config.schema import (
    TARGET,
    check_finite,
    check_settings,
    import_target,
    require_packages,
    with_lists,
)
from attnexp.core.batch import Points
from attnexp.core.errors import RequestError, any_error_as, choices_text
from attnexp.core.seeds import generator, seeded
from attnexp.data.base import Dataset
from attnexp.estimators.base import Estimator
from attnexp.normalizers.base import Normalizer
from attnexp.runs.summary import error_text
from attnexp.runs.user_code import changed_modules, user_code
from attnexp.scores.base import Score
from attnexp.tasks.base import Task
from attnexp.trackers.guarded import GuardedTracker
from attnexp.training.base import TrainSettings
from attnexp.training.device import choose_device, prepare_processor
from attnexp.training.early_stopping import Target
from attnexp.training.native_steps import choose_native_steps
from attnexp.training.optimizers import reads_rate_once
from attnexp.training.precision import choose_precision
from attnexp.training.prepared_run import PreparedRun, trainable
from attnexp.training.schedules import Constant

STEP_PAIRS = 2**36
"""The most pairs of points in a training step: all of 262,144 points, some two minutes a step."""

MOST_THREADS = max(256, os.cpu_count() or 1)
"""The most CPU threads of a run: more could exhaust the threads of the system."""

COMMON = {
    "normalizer": "attnexp.normalizers.softmax.Softmax",
    "estimator": "attnexp.estimators.local_constant.LocalConstant",
    "attention": "attnexp.attention.multihead.MultiHead",
    "positions": "attnexp.architectures.positions.none.NoPositions",
}
"""The choice in each group of an architecture that does not take the group as an argument."""

UNTRAINED = 5
"""The number of untrained models that estimate chance."""

GIVEN = {
    "model": ("query_dim", "key_dim"),
    "normalizer": ("heads",),
    "estimator": ("heads", "query_dim", "key_dim", "input_dim"),
    "attention": (
        *("score", "query_dim", "key_dim", "value_dim", "context_dim", "heads", "head_dim"),
        *("normalizer", "dropout", "estimator", "kv_heads"),
    ),
    "positions": ("dim", "heads", "longest"),
    "arch": ("spec", "score", *COMMON),
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
    "estimator": Estimator,
    "attention": MultiHead,
    "positions": Positions,
    "arch": Architecture,
    "data": Dataset,
    "task": Task,
    "train": TrainSettings,
}
"""The type of object that the target of a group must make."""


def prepare(job: Job) -> PreparedRun:
    """Build everything that training needs, and write nothing.

    Raises RequestError or ValueError for a configuration that cannot work, and if the user's code
    has changed since the job was composed.
    """
    run = assemble(job)
    Target(run.settings, run.task, run.dataset)  # a target that cannot be reached is refused now
    if trainable(run.model):
        _check_pairs(run.settings, run.dataset)
        first = run.optimizer(params=list(run.model.parameters()))  # or refuses its rate
        if reads_rate_once(first) and not isinstance(run.schedule, Constant):
            raise RequestError(
                f"schedule={run.chosen['schedule']} has no effect with "
                f"optim={run.chosen['optim']}, which reads its learning rate once: choose "
                "schedule=constant, or optim=adam or sgd"
            )
    return run


def assemble(job: Job) -> PreparedRun:
    """Build a run as `prepare` does, but make no optimizer.

    Making an optimizer of PyTorch imports PyTorch's compiler, which takes seconds.
    """
    plain, opening = job.settings, job.first_summary()
    seed = _checked_seed(plain)
    data_seed = _checked_data_seed(plain, seed)
    threads = plain["threads"]
    if not 1 <= threads <= MOST_THREADS:
        raise RequestError(f"threads must be at least 1 and at most {MOST_THREADS}, got {threads}")
    prepare_processor(threads)
    choose_device(plain["device"])  # refused before data are made
    made = checked_makers(job, GIVEN)
    dataset: Dataset = made["data"](generator=generator(data_seed, "data"))
    _check_draws(dataset, plain)
    device, why_device = choose_device(plain["device"], _pairs(dataset))
    precision = choose_precision(plain["precision"], device)
    if plain["batched"] and device.type == "cpu" and threads > 1:
        raise RequestError(
            f"batched=true needs threads=1 on a CPU, got threads={threads}: with more, a "
            "replica's last digits would depend on the other replicas"
        )
    task: Task = made["task"]()
    make_model = _model_maker(job, made, dataset)
    schedule = made["schedule"]()
    _check_schedule(schedule, plain["schedule"])
    with seeded(seed, "sizes"):
        check_model_memory(make_model, precision.dtype)
    with seeded(seed, "initialisation"):
        model = make_model().to(device, precision.dtype)
    parts = (part for part in model.modules() if isinstance(part, Estimator))
    _check_causal(model, any(part.causal for part in parts), job.chosen)
    if edited := changed_modules(job.place.code, user_code(plain)):
        raise RequestError(
            f"{', '.join(edited)}: the code was edited after the command began; the same command "
            "runs it as it is now"
        )
    return PreparedRun(
        config=plain,
        opening=opening,
        device=device,
        why_device=why_device,
        precision=precision,
        dataset=dataset.to(device, precision.dtype),
        model=model,
        task=task,
        optimizer=made["optim"],
        schedule=schedule,
        settings=made["train"](),
        tracker=GuardedTracker(made["tracker"]()),
        order=generator(seed, "order"),
        untrained=Untrained(make_model, seed, device, precision.dtype),
        native=choose_native_steps(model, plain),
    )


def _model_maker(
    job: Job, made: Mapping[str, Callable[..., Any]], dataset: Dataset
) -> Callable[[], Architecture]:
    """Return the function that builds the model of a job, from the makers of its parts.

    Raises RequestError for choices that do not fit each other or the data, before any part is
    built: the error of a part could advise a choice that does not fit either.
    """
    plain, chosen = job.settings, job.chosen
    architecture = import_target(plain["arch"], "arch")
    _check_fit(architecture, chosen, dataset)
    estimator = import_target(plain["estimator"], "estimator")
    _check_causal(architecture, getattr(estimator, "causal", False), chosen)
    taken = {group: made[group] for group in _groups_taken(architecture, plain, chosen)}
    return partial(made["arch"], spec=dataset.spec, score=made["model"], **taken)


def _pairs(dataset: Dataset) -> int | None:
    """Return the pairs of training points of a regression, None for other data."""
    train = dataset.train
    return train.queries.shape[1] * train.keys.shape[1] if isinstance(train, Points) else None


def check_neutral(job: Job) -> None:
    """Check the device, the tracker and the settings of training, without building a run.

    Raises RequestError or ValueError as `prepare` does.
    """
    choose_device(job.settings["device"])
    for make in checked_makers(job, ["tracker", "train"]).values():
        make()


def make_score(job: Job, query_dim: int, key_dim: int) -> Score:
    """Build the score of a job alone, untrained, for queries and keys of these sizes.

    Raises RequestError or ValueError for settings that cannot work.
    """
    return _make_alone(job, "model", query_dim=query_dim, key_dim=key_dim)


def make_normalizer(job: Job) -> Normalizer:
    """Build the normalizer of a job alone, for one head. Raises as `make_score`."""
    return _make_alone(job, "normalizer", heads=1)


def make_estimator(job: Job, query_dim: int, key_dim: int) -> Estimator:
    """Build the estimator of a job alone, for one head of keys. Raises as `make_score`."""
    sizes = {"query_dim": query_dim, "key_dim": key_dim, "input_dim": key_dim}
    return _make_alone(job, "estimator", heads=1, **sizes)


def make_attention(job: Job, dim: int) -> AttentionPooling:
    """Build the attention of a job alone: its score, normalizer and estimator in one head.

    Queries, keys and values have `dim` features. Raises as `make_score`.
    """
    return AttentionPooling(
        make_score(job, dim, dim),
        dim,
        normalizer=lambda heads: make_normalizer(job),
        estimator=lambda **sizes: make_estimator(job, dim, dim),
    )


def _make_alone(job: Job, group: str, **given: int) -> Any:
    seed = _checked_seed(job.settings)
    make = partial(checked_makers(job, [group])[group], **given)
    with seeded(seed, "sizes"):
        check_model_memory(make, torch.float32)
    with seeded(seed, "initialisation"):
        return make()


def _checked_seed(plain: Mapping[str, Any]) -> int:
    seed: int = plain["seed"]
    if seed < 0:
        raise RequestError(f"seed must be 0 or more, got {seed}")
    return seed


def _checked_data_seed(plain: Mapping[str, Any], seed: int) -> int:
    """Return the seed of the data: `data_seed`, or the run's seed if that is null."""
    own: int | None = plain.get("data_seed")
    if own is None:
        return seed
    if own < 0:
        raise RequestError(f"data_seed must be null, or 0 or more, got {own}")
    return own


def _check_draws(dataset: Dataset, plain: Mapping[str, Any]) -> None:
    """Raise RequestError for a `data_seed` of data that are not random."""
    by, own = dataset.fixed_by(plain["data"]), plain.get("data_seed")
    if by is not None and own is not None:
        raise RequestError(
            f"data_seed={own} has no effect with {by}, by which no seed draws the data: leave "
            "data_seed out"
        )


def checked_makers(job: Job, groups: Collection[str] = GIVEN) -> dict[str, Callable[..., Any]]:
    """Return the maker of each group's object, after a check of its settings.

    Raises RequestError for settings that its target does not take, and for a package that it needs
    and that is not installed.
    """
    makers: dict[str, Callable[..., Any]] = {}
    for group in groups:
        target = import_target(job.settings[group], group)
        require_packages({job.settings[group][TARGET]: job.choice_of(group)})
        plain = with_lists(job.settings[group], target)
        check_settings(plain, target, group, GIVEN[group])
        check_finite(plain, group)
        makers[group] = partial(_made, group, job.config[group], plain)
    return makers


@dataclass(frozen=True)
class Untrained:
    """Yields models of a run with other initial parameters, each built when asked for."""

    make_model: Callable[[], Architecture]
    seed: int
    device: torch.device
    dtype: torch.dtype

    def __iter__(self) -> Iterator[Architecture]:
        for draw in range(UNTRAINED):
            with seeded(self.seed, f"untrained {draw}"):
                model = self.make_model()
            yield model.to(self.device, self.dtype).eval()


def _located(error: BaseException) -> str:
    """Return the first line of an error, and the line of the file that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    why = error_text(error).partition("\n")[0]
    return f"{why:.160} ({os.path.basename(last.filename)}, line {last.lineno})"


def _made(group: str, node: DictConfig, settings: Mapping[str, Any], /, **given: Any) -> Any:
    """Return the object that the target of a group makes of its settings.

    Raises RequestError for an object of another type than the group's, and if the target raises
    anything but a RequestError or a ValueError: a class of the user's may raise anything.
    """
    with any_error_as(f"{group} cannot be built", _located, but=(RequestError, ValueError)):
        made = build(node, settings, **given)
    if not isinstance(made, MADE.get(group, object)):
        raise RequestError(
            f"{group}._target_: {settings['_target_']} makes a {type(made).__name__}, and {group} "
            f"takes a {MADE[group].__name__}"
        )
    needed = inspect.get_annotations(MADE.get(group, object))
    missing = [name for name in needed if not hasattr(made, name)]
    if missing:
        raise RequestError(
            f"{group}._target_: {settings['_target_']} sets no {', '.join(missing)}, which every "
            f"{MADE[group].__name__} has"
        )
    return made


def build(node: DictConfig, settings: Mapping[str, Any], /, **given: Any) -> Any:
    """Call the `_target_` of a node with its settings and the arguments from the run.

    `settings` is the node as plain values. Hydra finds the target, and refuses targets such as
    `os.system`; objects within the settings are Hydra's to build.
    """
    if any(_targets(list(settings.values()))):
        return make_partial(node, _targets(settings), convert="all")(**given)
    values = {name: value for name, value in settings.items() if not name.startswith("_")}
    return _callable(settings["_target_"])(**copy.deepcopy(values), **given)


@cache
def _callable(target: str) -> Callable[..., Any]:
    """Return the class or function that a target names, cached: Hydra takes 2 ms."""
    return make_partial({TARGET: target}, [target])


def _targets(value: Any) -> Iterator[str]:
    """Yield every `_target_` inside the value, at any depth."""
    if isinstance(value, Mapping):
        if TARGET in value:
            yield str(value[TARGET])
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _targets(each)


def _check_fit(
    architecture: Callable[..., Any], chosen: Mapping[str, str], dataset: Dataset
) -> None:
    if isinstance(dataset.spec, spec_type(architecture)):
        return
    targets = _shipped("arch").items()
    fitting = [name for name, target in targets if isinstance(dataset.spec, spec_type(target))]
    raise RequestError(misfit(chosen, fitting))


def _check_causal(architecture: object, needed: bool, chosen: Mapping[str, str]) -> None:
    """Raise RequestError if causal self-attention is needed and the architecture has other."""
    if getattr(architecture, "causal", False) or not needed:
        return
    targets = _shipped("arch").items()
    fitting = [name for name, target in targets if getattr(target, "causal", False)]
    raise RequestError(
        f"estimator={chosen['estimator']} is for causal self-attention alone, and "
        f"arch={chosen['arch']} has other attention: choose arch={choices_text(fitting)}"
    )


def _check_schedule(schedule: Any, settings: Mapping[str, Any]) -> None:
    """Raise RequestError unless the schedule maps updates to finite factors."""
    with any_error_as(
        f"schedule._target_: {settings['_target_']} makes a {type(schedule).__name__}, and "
        "schedule takes a function of an update, from 0, and of their number"
    ):
        factors = [float(schedule(step, 2)) for step in (0, 1)]
    if not all(map(math.isfinite, factors)):
        raise RequestError(
            f"schedule._target_: {settings['_target_']} gives the factors {factors[0]:g} and "
            f"{factors[1]:g} at the first and the second of two updates: both must be finite"
        )


def _check_pairs(settings: TrainSettings, dataset: Dataset) -> None:
    if not isinstance(dataset.train, Points):
        return
    points = dataset.train.keys.shape[1]
    queries = min(settings.batch_size or len(dataset.train), len(dataset.train))
    if queries * points > STEP_PAIRS:
        raise RequestError(
            f"a step compares {queries:,} points with {points:,}, which takes minutes: choose "
            f"train.batch_size=512, or at most {STEP_PAIRS // points:,}"
        )


def _groups_taken(
    architecture: Callable[..., Any], plain: Mapping[str, Any], chosen: Mapping[str, str]
) -> list[str]:
    """Return the groups that an architecture gets as arguments.

    An argument with the default None does not get the choice in COMMON. Raises RequestError for
    another choice than COMMON's in a group that the architecture has no argument for.
    """
    parameters = inspect.signature(architecture).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    taken = []
    for group, common in COMMON.items():
        named, own = parameters.get(group), plain[group]["_target_"] != common
        if takes_any or (named is not None and (own or named.default is not None)):
            taken.append(group)
        elif own:
            plainest = import_target({TARGET: common}, group)
            usual = [name for name, made in _shipped(group).items() if made is plainest]
            raise RequestError(
                f"arch={chosen['arch']} has no argument {group}, so it cannot use "
                f"{group}={chosen[group]}: choose {group}={choices_text(usual)}"
            )
    return taken


def _shipped(group: str) -> dict[str, Callable[..., Any]]:
    """Return the targets of attnexp's choices in a group, by name."""
    nodes = {each.name: cast(DictConfig, OmegaConf.load(each.path)) for each in choices(group)}
    return {name: import_target(node, group) for name, node in nodes.items()}


def spec_type(architecture: Callable[..., Any]) -> type:
    """Return the type of data spec that an architecture accepts: the annotation of its `spec`."""
    inside = architecture.__init__ if inspect.isclass(architecture) else architecture
    return get_type_hints(inside).get("spec", object)
