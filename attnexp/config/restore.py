"""Builds a run again from its folder."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from attnexp.config.build import assemble, prepare
from attnexp.config.documents import read_bounded
from attnexp.config.groups import choices
from attnexp.config.job import Job
from attnexp.config.resolved import HYDRA, register_resolvers, resolved
from attnexp.config.trust import VARIABLE, Trust, checked_config
from attnexp.core import console
from attnexp.core.errors import RequestError, any_error_as, choices_text
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.key import run_key
from attnexp.runs.place import Place
from attnexp.runs.summary import NATIVE, Summary, error_text, require_computed
from attnexp.runs.user_code import changed_modules, user_code
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record.stored_tensors import read_parameters

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
    """Build a finished run from its folder as it was after training, on the CPU.

    The folder may be somebody else's: it can name attnexp's own classes, the optimizers of PyTorch,
    and the code that `trust` covers.

    Raises RequestError if it names anything else, if its settings cannot be built, or if it holds
    no parameters that fit.
    """
    run = rebuild(summary, folder, trust, RESTORED, assemble)
    try:
        run.model.load_state_dict(read_parameters(folder))
    except (FileNotFoundError, RuntimeError, UnreadableRunError) as error:
        why = " ".join(str(error).split())
        raise RequestError(f"{folder} holds no parameters of its model: {why}") from error
    run.model.eval()
    return run


def check_choices(summary: Summary, folder: Path, config_dir: Path | None) -> None:
    """Raise RequestError if the file of a choice names another class than the stored settings.

    Groups whose `_target_` was typed are not checked. Raises RequestError, too, for an imported
    run, which has no classes.
    """
    require_computed(summary, folder)
    typed = [word.partition("=")[0].lstrip("+") for word in summary.overrides or ()]
    for group, name in summary.choices.items():
        stored = OmegaConf.select(OmegaConf.create(summary.config), f"{group}._target_")
        for choice in choices(group, config_dir):
            if choice.name == name and f"{group}._target_" not in typed:
                ours = OmegaConf.create(read_bounded(choice.path).decode())
                target = OmegaConf.select(ours, "_target_")
                if target not in (None, stored):
                    raise RequestError(
                        f"{folder} says {group}={name}, which is {target}, and its settings are "
                        f"for {stored!s:.80}"
                    )


def rebuild(
    summary: Summary,
    folder: Path,
    trust: Trust,
    instead: Mapping[str, Any] = REPEATED,
    make: Callable[[Job], PreparedRun] = prepare,
) -> PreparedRun:
    """Build the run of a folder again by `make`, with the settings `instead` in place of its own.

    By default the run can be trained again, without pictures and tracker. Raises RequestError as
    `restore` does.
    """
    require_computed(summary, folder)
    stored = {name: value for name, value in summary.config.items() if name not in REPEATED}
    register_resolvers()
    with any_error_as(f"{folder} holds a run that cannot be built again", _in_a_line, RequestError):
        checked = checked_config(stored, trust)
        code = user_code(checked)
        if changed := changed_modules(summary.code, code):
            console.warn(f"{', '.join(changed)}: the code has changed since {folder} was computed")
        if variables := sorted(set(VARIABLE.findall(str(checked)))):
            _check_variables(variables, {**checked, **REPEATED}, summary)
        runtime = {"choices": summary.choices, "config_sources": []}
        hydra = {"runtime": runtime, "overrides": {"task": []}}
        native = "auto" if NATIVE in summary.versions else False
        config = OmegaConf.create({**checked, **instead, "native": native, HYDRA: hydra})
        settings = resolved(config)
        return make(Job(config, settings, Place(folder, run_key(settings, code), code)))


def _in_a_line(error: BaseException) -> str:
    why = str(error) if isinstance(error, ValueError) else error_text(error)
    return " ".join(why.split())


def _check_variables(names: Sequence[str], config: dict[str, Any], summary: Summary) -> None:
    """Raise ValueError unless environment variables have the values that a run read.

    The run's key proves that. A foreign folder that names a variable to read it cannot know the
    key.
    """
    if missing := [name for name in names if name not in os.environ]:
        raise ValueError(f"it needs {choices_text(missing)} in the environment, which is not set")
    if summary.key != run_key(resolved(OmegaConf.create(config)), summary.code):
        raise ValueError(
            f"{choices_text(names)} in the environment has another value than for the run"
        )
