"""The composition root: seed, build, fit, evaluate, record.

The only place that turns configuration into objects.
"""

import hashlib
import inspect
import logging
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast, get_type_hints

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
from attnexp.tasks.task import Evaluation, Task
from attnexp.train import OptimizerFactory, Schedule, TrainSettings, fit, without_compiler

log = logging.getLogger(__name__)


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


def prepare(config: DictConfig, chosen: Mapping[str, str]) -> Run:
    """Build everything that a run needs, and write nothing.

    `chosen` holds the names of the choices, a group each. Raises RequestError or ValueError for a
    configuration that cannot work.
    """
    plain = resolved(config)
    check_settings(plain, Settings, "")
    if plain["seed"] < 0:
        raise RequestError(f"seed must be 0 or more, got {plain['seed']}")
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
        evaluation = evaluate(run)
        write_results(run, evaluation, folder)
        summary |= {
            "status": record.FINISHED,
            "metrics": trained | dict(evaluation.metrics) | learned_scalars(run.model),
            "notes": notes(run, evaluation),
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
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "device": device_name(run.device),
    }


def train(run: Run, folder: Path) -> dict[str, float]:
    """Fit the model while writing metrics.csv, and return what training itself measured."""
    metrics = record.MetricsFile(folder)
    try:
        if not trainable(run.model):
            screen.say(f"model={run.chosen['model']} has no parameters: nothing to train")
            return {}
        rows = fit(
            run.model, run.dataset, run.task, run.optimizer, run.schedule, run.settings, run.order
        )
        with screen.progress(f"seed {run.config['seed']}: epoch", run.settings.max_epochs) as show:
            for row in rows:
                metrics.append(asdict(row))
                log.info("epoch %d loss %.6g", row.epoch, row.loss)
                show(row.epoch, f"loss {row.loss:.4g}")
        return {"train_loss": row.loss}
    finally:
        metrics.close()


def evaluate(run: Run) -> Evaluation:
    """Measure the model as it is, without gradients."""
    run.model.eval()
    with torch.no_grad():
        return run.task.evaluate(run.model, run.dataset)


def write_results(run: Run, evaluation: Evaluation, folder: Path) -> None:
    """Write predictions, attention and parameters."""
    record.write_rows(folder / record.PREDICTIONS, evaluation.rows)
    shown = {
        name: tensor
        for name, tensor in vars(evaluation.shown).items()
        if isinstance(tensor, Tensor)
    }
    weights = {f"weights.{name}": tensor for name, tensor in evaluation.weights.items()}
    record.write_tensors(
        folder / record.ATTENTION,
        arrays(shown | weights),
        {"axes": {name: ["batch", "layers", "heads", "queries", "keys"] for name in weights}},
    )
    record.write_tensors(folder / record.MODEL, arrays(run.model.state_dict()), {})


def arrays(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Tensors as NumPy arrays that lie in one piece."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def notes(run: Run, evaluation: Evaluation) -> list[str]:
    """What a reader of the numbers should know."""
    untrained = () if trainable(run.model) else ("nothing was trained: no parameters",)
    return [*untrained, *evaluation.notes]


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
