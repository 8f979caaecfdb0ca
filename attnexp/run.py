"""The composition root: seed, build, fit, evaluate, record.

The only place that turns configuration into objects.
"""

import hashlib
import inspect
import logging
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from attnexp import record, screen
from attnexp.architectures.architecture import Architecture
from attnexp.catalogue import choices
from attnexp.data.dataset import Dataset
from attnexp.device import choose_device, device_name
from attnexp.errors import RequestError, choices_text
from attnexp.job import resolved
from attnexp.settings import check_settings
from attnexp.summary import ended_early, error_text, now, opened
from attnexp.tasks.task import Attended, Evaluation, Task
from attnexp.train import (
    Epoch,
    OptimizerFactory,
    Schedule,
    TrainSettings,
    fit,
    without_compiler,
)

log = logging.getLogger(__name__)

Measured = TypeVar("Measured")

MILESTONE = 0.9
"""A validation metric above this has been learned."""


@dataclass(frozen=True)
class Settings:
    """The settings at the top level of a run. Groups are checked against what they name."""

    model: dict[str, Any]
    arch: dict[str, Any]
    data: dict[str, Any]
    task: dict[str, Any]
    optim: dict[str, Any]
    schedule: dict[str, Any]
    train: dict[str, Any]
    device: str
    threads: int
    seed: int
    figures: bool
    rerun: bool
    fail_fast: bool
    output_dir: str


GIVEN = {
    "model": ("query_dim", "key_dim"),
    "arch": ("spec", "score"),
    "data": ("generator",),
    "task": (),
    "optim": ("params",),
    "schedule": (),
    "train": (),
}
"""Each group of settings, and the arguments of its target that come from the run."""


@dataclass(frozen=True)
class Run:
    """A run that is built and has not begun."""

    config: Mapping[str, Any]
    chosen: Mapping[str, str]
    device: torch.device
    why_device: str
    dataset: Dataset
    model: Architecture
    task: Task
    optimizer: OptimizerFactory
    schedule: Schedule
    settings: TrainSettings
    order: torch.Generator


@dataclass(frozen=True)
class Training:
    """What training itself measured, and remarks on it."""

    metrics: dict[str, float]
    notes: list[str]


def prepare(config: DictConfig, chosen: Mapping[str, str]) -> Run:
    """Build everything that a run needs, and write nothing.

    `chosen` holds the names of the choices, a group each. Raises RequestError or ValueError for a
    configuration that cannot work.
    """
    plain = resolved(config)
    check_settings(plain, Settings, "")
    if plain["seed"] < 0:
        raise RequestError(f"seed must be 0 or more, got {plain['seed']}")
    if plain["threads"] < 1:
        raise RequestError(f"threads must be 1 or more, got {plain['threads']}")
    torch.set_num_threads(plain["threads"])
    device, why_device = choose_device(plain["device"])
    for group, given in GIVEN.items():
        check_settings(plain[group], _target(plain[group], group), group, given)
    seed = plain["seed"]
    dataset: Dataset = build(config.data, generator=generator(seed, "data"))
    task: Task = build(config.task)
    _check_fit(plain, chosen, dataset)
    with seeded(seed, "initialisation"):
        model = build(config.arch, spec=dataset.spec, score=partial(build, config.model))
    optimizer = partial(build, config.optim)
    if trainable(model):
        without_compiler(optimizer, list(model.parameters()))  # a rate it refuses is refused now
    return Run(
        config=plain,
        chosen=chosen,
        device=device,
        why_device=why_device,
        dataset=dataset.to(device),
        model=model.to(device),
        task=task,
        optimizer=optimizer,
        schedule=build(config.schedule),
        settings=build(config.train),
        order=generator(seed, "order"),
    )


def build(node: DictConfig, **given: Any) -> Any:
    """Call the `_target_` of a node with its settings and with what the run gives it."""
    return instantiate(node, _partial_=True, _convert_="all")(**given)


def generator(seed: int, stream: str) -> torch.Generator:
    """A generator for one purpose: streams of one seed are independent of each other."""
    return torch.Generator().manual_seed(stream_seed(seed, stream))


def stream_seed(seed: int, stream: str) -> int:
    """A seed of 63 bits, made of the run's seed and the name of a stream."""
    digest = hashlib.sha256(f"{seed} {stream}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


@contextmanager
def seeded(seed: int, stream: str) -> Iterator[None]:
    """Within the block PyTorch's global generator follows a stream; afterwards it is as before.

    Modules draw their first parameters from the global generator, those of users included. Models
    are built on the CPU, so that the first parameters are the same on every device.
    """
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(stream_seed(seed, stream))
    try:
        yield
    finally:
        torch.default_generator.set_state(before)


def execute(run: Run, folder: Path) -> dict[str, Any]:
    """Train, evaluate and record a run in its folder, and return its summary.

    Whatever ends the run early is written into the summary and into the log, and raised again.
    """
    start = time.perf_counter()
    record.clear(folder)
    summary = first_summary(run)
    record.write_json(folder / record.SUMMARY, summary)
    opening = (
        f"{run.chosen['model']} on {run.chosen['data']}, seed {run.config['seed']}, "
        f"device {run.device} ({run.why_device})"
    )
    screen.say(opening)
    log.info(opening)
    try:
        trained = train(run, folder)
        evaluation = measure(run, run.task.evaluate)
        write_results(run, evaluation, folder)
        summary |= {
            "status": record.FINISHED,
            "metrics": {
                **evaluation.metrics,
                **trained.metrics,
                **learned_scalars(run.model),
            },
            "details": evaluation.details,
            "notes": [*trained.notes, *evaluation.notes],
            "seconds": time.perf_counter() - start,
            "peak_memory_mb": peak_memory_mb(run.device),
            "ended": now(),
        }
        if run.config["figures"]:
            from attnexp.pictures import figures

            figures.draw_run(folder, summary)
    except BaseException as error:
        record_end(folder, summary, error, time.perf_counter() - start)
        raise
    record.write_json(folder / record.SUMMARY, summary)
    for note in summary["notes"]:
        log.info("note: %s", note)
    log.info("metrics %s", summary["metrics"])
    return summary


def record_end(
    folder: Path, summary: Mapping[str, Any], error: BaseException, seconds: float | None = None
) -> None:
    """Record what ended a run early: the traceback in its log, the error in its summary."""
    log.info("the run ended early", exc_info=error)
    status = record.INTERRUPTED if isinstance(error, KeyboardInterrupt) else record.FAILED
    ending = ended_early(summary, status, error_text(error), seconds)
    record.write_json(folder / record.SUMMARY, ending)


def first_summary(run: Run) -> dict[str, Any]:
    """What is known of a run before it begins."""
    return opened(run.config, run.chosen) | {
        "primary": run.task.primary,
        "better": dict(run.task.better),
        "details": {},
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "device": device_name(run.device),
    }


def train(run: Run, folder: Path) -> Training:
    """Fit the model while writing metrics.csv."""
    metrics = record.MetricsFile(folder)
    rows: list[Epoch] = []
    snapshots: dict[int, Attended] = {}
    every = run.settings.attention_every
    try:
        if not trainable(run.model):
            screen.say(f"model={run.chosen['model']} has no parameters: nothing to train")
            return Training({}, ["nothing was trained: no parameters"])
        if every is not None:
            snapshots[0] = measure(run, run.task.attend)
        with screen.progress(f"seed {run.config['seed']}: epoch", run.settings.max_epochs) as show:
            for row in fit(
                run.model,
                run.dataset,
                run.task,
                run.optimizer,
                run.schedule,
                run.settings,
                run.order,
            ):
                rows.append(row)
                metrics.append(columns(row))
                log.info("epoch %d %s", row.epoch, headline(row))
                show(row.epoch, headline(row))
                if every is not None and row.epoch % every == 0:
                    snapshots[row.epoch] = measure(run, run.task.attend)
    finally:
        metrics.close()
        if snapshots:
            write_snapshots(snapshots, folder)
    ended = rows[-1].ended
    return Training(
        {"train_loss": rows[-1].loss, "steps": rows[-1].step, **milestones(rows)},
        [f"training ended early: {ended}"] if ended else [],
    )


def columns(row: Epoch) -> dict[str, object]:
    """A row of metrics.csv: validation metrics stand behind the others as `val_...`."""
    own = {name: value for name, value in vars(row).items() if name not in ("validation", "ended")}
    return own | {f"val_{name}": value for name, value in row.validation.items()}


def headline(row: Epoch) -> str:
    """The part of a row that a person watches."""
    watched = ("loss", "exact_match", "alignment_accuracy")
    shown = [f"val {name} {row.validation[name]:.3g}" for name in watched if name in row.validation]
    return ", ".join([f"loss {row.loss:.4g}", *shown])


def milestones(rows: Sequence[Epoch]) -> dict[str, float]:
    """The step at which a validation metric first passed 90 per cent, for those that did."""
    passed: dict[str, float] = {}
    for row in rows:
        for name in ("exact_match", "token_accuracy", "alignment_accuracy"):
            if row.validation.get(name, 0.0) > MILESTONE:
                passed.setdefault(f"{name}_90_step", row.step)
    return passed


def measure(run: Run, how: Callable[[Architecture, Dataset], Measured]) -> Measured:
    """Measure the model as it is, without gradients, and leave it in the mode it was in."""
    training = run.model.training
    run.model.eval()
    try:
        with torch.no_grad():
            return how(run.model, run.dataset)
    finally:
        run.model.train(training)


def write_results(run: Run, evaluation: Evaluation, folder: Path) -> None:
    """Write predictions, attention and parameters."""
    record.write_rows(folder / record.PREDICTIONS, evaluation.rows)
    attended = measure(run, run.task.attend)
    weights = named_weights(attended)
    record.write_tensors(
        folder / record.ATTENTION,
        arrays(shown_batch(attended) | weights),
        {**vars(run.dataset.spec), **axes(weights)},
    )
    record.write_tensors(folder / record.MODEL, arrays(run.model.state_dict()), {})


def write_snapshots(snapshots: Mapping[int, Attended], folder: Path) -> None:
    """Write the attention of several epochs: as the attention file, but with an axis of epochs."""
    several = list(snapshots.values())
    weights = {
        name: torch.stack([named_weights(attended)[name] for attended in several])
        for name in named_weights(several[0])
    }
    record.write_tensors(
        folder / record.SNAPSHOTS,
        arrays(shown_batch(several[0]) | weights | {"epochs": torch.tensor(list(snapshots))}),
        axes(weights, "epochs"),
    )


def shown_batch(attended: Attended) -> dict[str, Tensor]:
    """The examples whose attention is kept, by the names of their fields."""
    return {k: v for k, v in vars(attended.shown).items() if isinstance(v, Tensor)}


def named_weights(attended: Attended) -> dict[str, Tensor]:
    """The attention under the names that it has on disk."""
    return {f"weights.{name}": tensor for name, tensor in attended.weights.items()}


def axes(weights: Mapping[str, Tensor], *leading: str) -> dict[str, object]:
    """The metadata that names the axes of the weights."""
    names = [*leading, "batch", "layers", "heads", "queries", "keys"]
    return {"axes": dict.fromkeys(weights, names)}


def arrays(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Tensors as NumPy arrays that lie in one piece."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def learned_scalars(model: Architecture) -> dict[str, float]:
    """The parameters that are one number, such as a kernel's width, by their path in the model."""
    return {name: p.item() for name, p in model.named_parameters() if p.dim() == 0}


def trainable(model: Architecture) -> bool:
    """Whether there is a parameter to train."""
    return any(parameter.requires_grad for parameter in model.parameters())


def peak_memory_mb(device: torch.device) -> float:
    """Most memory in use so far, in units of 2^20 bytes: of the GPU, else of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


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


def spec_type(architecture: Callable[..., Any]) -> type:
    """The kind of data that an architecture is for, from the annotation of its `spec`."""
    inside = architecture.__init__ if inspect.isclass(architecture) else architecture
    return get_type_hints(inside).get("spec", object)
