"""Whatever code a run folder names, no verb imports it, calls it or unpickles anything."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_outcome import run_here
from stored_runs import change_summary

STORED = Path(__file__).parents[1] / "runs" / "stored" / "v2"
RUN = STORED / "additive-reverse"
HARM = "harmed"
CANARY = f"""
open({HARM!r}, "w").close()
class Score:
    def __init__(self, *_, **__):
        open({HARM!r}, "w").close()
"""
NODE = {"_target_": "canary.Score", "_args_": [HARM], "command": f"touch {HARM}"}

ALARMING = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class")
"""Events of Python that no verb causes on such a folder."""

listeners: list[list[str]] = []


def listen(event: str, args: tuple) -> None:
    copied = event == "pickle.find_class" and args[0] in sys.modules  # sweeps copy their plans so
    commit = event == "subprocess.Popen" and args[0] == "git"  # pictures name the commit
    if event in ALARMING and not copied and not commit:
        for events in listeners:
            events.append(event)


sys.addaudithook(listen)


@contextmanager
def alarming_events() -> Iterator[list[str]]:
    listeners.append([])
    try:
        yield listeners[-1]
    finally:
        listeners.pop()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a module that does harm when it is imported, on the import path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "canary.py").write_text(CANARY)
    return tmp_path


def check(place: Path, *words: str) -> int | None:
    """Carry out a command line that must do no harm, and return its exit code."""
    with alarming_events() as events:
        outcome = run_here(words, 60)
    assert outcome.faults() == []
    assert events == []
    assert "canary" not in sys.modules
    assert not (place / HARM).exists()
    return outcome.code


PLACES = {
    "a group": lambda config: config.update(model=NODE),
    "a setting": lambda config: config["model"].update(hidden_dim=NODE),
    "a list": lambda config: config["optim"].update(betas=[0.9, {"a": [NODE]}]),
    "the top": lambda config: config.update(callbacks=NODE),
}


@pytest.mark.first(2)
@pytest.mark.parametrize("put", PLACES.values(), ids=PLACES)
def test_no_verb_runs_what_a_summary_names(place, put):
    shutil.copytree(RUN, place / "run")
    change_summary(place / "run", lambda summary: put(summary["config"]))
    __import__("attnexp.training.execute")  # imports what verify imports, also to refuse
    for verb in ("results", "show", "report", "status", "plot"):
        check(place, verb, "run")
    assert check(place, "decode", "run", "3 1") == 2
    assert check(place, "verify", "run") == 2


SMALL = ("figures=false", "data.num_train=20", "data.num_test=10", "model=gaussian")


def test_no_sweep_runs_what_a_folder_of_sweeps_names(place):
    plans = place / "outputs" / ".plans"
    plans.mkdir(parents=True)
    (plans / "a.json").write_text(json.dumps({"jobs": [NODE["_target_"], "../x", "/etc"]}))
    for words in (["status"], ["-m", *SMALL, "model.width=1,2"]):
        check(place, *words)


def test_the_canary_would_be_seen(place):
    """The tests can fail: what is imported leaves a file and an event."""
    __import__("canary")
    sys.modules.pop("canary")
    assert (place / HARM).exists()
    with alarming_events() as events:
        os.system("true")
    assert events == ["os.system"]
