"""The composition root: seed, build, fit, evaluate, record.

The only place that turns configuration into objects.
"""

import hashlib
import inspect
import logging
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.metadata import version
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
from attnexp.key import run_key
from attnexp.settings import check_settings
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
    threads: int
    seed: int
    figures: bool
    rerun: bool
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


def resolved(config: DictConfig) -> dict[str, Any]:
    """The configuration as plain values, interpolations resolved."""
    plain = cast(
        dict[str, Any], OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    )
    return {name: value for name, value in plain.items() if name != "hydra"}


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
        stopped = isinstance(error, KeyboardInterrupt)
        log.info("the run ended early", exc_info=True)
        summary |= {
            "status": record.INTERRUPTED if stopped else record.FAILED,
            "error": f"{type(error).__name__}: {error}".rstrip(": "),
            "seconds": time.perf_counter() - start,
            "ended": now(),
        }
        record.write_json(folder / record.SUMMARY, summary)
        raise
    record.write_json(folder / record.SUMMARY, summary)
    for note in summary["notes"]:
        log.info("note: %s", note)
    log.info("metrics %s", summary["metrics"])
    return summary


def first_summary(run: Run) -> dict[str, Any]:
    """What is known of a run before it begins."""
    return {
        "schema": record.SCHEMA,
        "status": record.RUNNING,
        "key": run_key(run.config),
        "choices": dict(run.chosen),
        "config": run.config,
        "metrics": {},
        "primary": run.task.primary,
        "better": dict(run.task.better),
        "notes": [],
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "seconds": None,
        "peak_memory_mb": None,
        "device": device_name(run.device),
        "versions": {
            "attnexp": version("attnexp"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "git": git_state(),
        "started": now(),
        "ended": None,
        "error": None,
    }


def train(run: Run, folder: Path) -> dict[str, float]:
    """Fit the model while writing metrics.csv, and return what training itself measured."""
    metrics = record.MetricsFile(folder)
    snapshots: dict[int, Evaluation] = {}
    every = run.settings.attention_every
    try:
        if not trainable(run.model):
            screen.say(f"model={run.chosen['model']} has no parameters: nothing to train")
            return {}
        if every is not None:
            snapshots[0] = evaluate(run)
        rows = fit(
            run.model, run.dataset, run.task, run.optimizer, run.schedule, run.settings, run.order
        )
        with screen.progress(f"seed {run.config['seed']}: epoch", run.settings.max_epochs) as show:
            for row in rows:
                metrics.append(asdict(row))
                log.info("epoch %d loss %.6g", row.epoch, row.loss)
                show(row.epoch, f"loss {row.loss:.4g}")
                if every is not None and row.epoch % every == 0:
                    snapshots[row.epoch] = evaluate(run)
        return {"train_loss": row.loss}
    finally:
        metrics.close()
        if snapshots:
            write_snapshots(snapshots, folder)


def evaluate(run: Run) -> Evaluation:
    """Measure the model as it is, without gradients, and leave it in the mode it was in."""
    training = run.model.training
    run.model.eval()
    try:
        with torch.no_grad():
            return run.task.evaluate(run.model, run.dataset)
    finally:
        run.model.train(training)


def write_results(run: Run, evaluation: Evaluation, folder: Path) -> None:
    """Write predictions, attention and parameters."""
    record.write_rows(folder / record.PREDICTIONS, evaluation.rows)
    weights = named_weights(evaluation)
    record.write_tensors(
        folder / record.ATTENTION, arrays(shown_batch(evaluation) | weights), axes(weights)
    )
    record.write_tensors(folder / record.MODEL, arrays(run.model.state_dict()), {})


def write_snapshots(snapshots: Mapping[int, Evaluation], folder: Path) -> None:
    """Write the attention of several epochs: as the attention file, but with an axis of epochs."""
    evaluations = list(snapshots.values())
    weights = {
        name: torch.stack([named_weights(evaluation)[name] for evaluation in evaluations])
        for name in named_weights(evaluations[0])
    }
    record.write_tensors(
        folder / record.SNAPSHOTS,
        arrays(shown_batch(evaluations[0]) | weights | {"epochs": torch.tensor(list(snapshots))}),
        axes(weights, "epochs"),
    )


def shown_batch(evaluation: Evaluation) -> dict[str, Tensor]:
    """The examples whose attention is kept, by the names of their fields."""
    return {k: v for k, v in vars(evaluation.shown).items() if isinstance(v, Tensor)}


def named_weights(evaluation: Evaluation) -> dict[str, Tensor]:
    """The attention of an evaluation, under the names that it has on disk."""
    return {f"weights.{name}": tensor for name, tensor in evaluation.weights.items()}


def axes(weights: Mapping[str, Tensor], *leading: str) -> dict[str, object]:
    """The metadata that names the axes of the weights."""
    names = [*leading, "batch", "layers", "heads", "queries", "keys"]
    return {"axes": dict.fromkeys(weights, names)}


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


def git_state() -> dict[str, Any] | None:
    """Commit and dirtiness of the working directory, or None where there is no git."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "-uno"))}


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git(*arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ("git", *arguments), capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


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
