"""Whatever code a run folder names, no verb imports it, calls it or unpickles anything."""

import ast
import builtins
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from command_outcome import run_here

from attnexp.config.trust import shipped_targets

STORED = Path(__file__).parents[1] / "runs" / "stored"
RUN = STORED / "additive-reverse-transformer-seed0-29f3c1eebb"
HARM = "harmed"
CANARY = f"""
open({HARM!r}, "w").close()
class Score:
    def __init__(self, *_, **__):
        open({HARM!r}, "w").close()
"""

ALARMING = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class")
"""Events of Python that no verb causes on such a folder."""

DRAWN = 12
"""Targets of a fast run."""

ears: list[list[str]] = []


def listen(event: str, _: tuple) -> None:
    if event in ALARMING:
        for ear in ears:
            ear.append(event)


sys.addaudithook(listen)


@contextmanager
def hearing() -> Iterator[list[str]]:
    """The alarming events of a block."""
    ears.append([])
    try:
        yield ears[-1]
    finally:
        ears.pop()


@cache
def targets() -> list[str]:
    """Public names of all installed packages and of the standard library, from their source."""
    found = [f"builtins.{name}" for name in dir(builtins) if name.islower()]
    for module in sorted({*packages_distributions(), *sys.stdlib_module_names}):
        try:
            spec = PathFinder.find_spec(module) if module.isidentifier() else None
            tree = ast.parse(Path(spec.origin).read_text())
        except (AttributeError, ImportError, OSError, SyntaxError, TypeError, ValueError):
            continue
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                found += [f"{module}.{alias.asname or alias.name}" for alias in node.names]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.append(f"{module}.{node.name}")
    return found


def put(draw: random.Random, folder: Path, node: dict) -> tuple[str, str]:
    """Put a node somewhere into what a run folder says, and return the file and the place."""
    if draw.random() < 0.2:
        name = draw.choice(("config.yaml", "hydra.yaml", "overrides.yaml"))
        content = [f"+model={json.dumps(node)}"] if name[0] == "o" else {"model": node, **node}
        (folder / ".hydra" / name).write_text(yaml.safe_dump(content))
        return name, "all"
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    config = summary["config"]
    group = draw.choice(sorted(name for name in config if isinstance(config[name], dict)))
    place = draw.choice(("group", "setting", "list", "top", "choices"))
    if place == "group":
        config[group] = node
    elif place == "setting":
        config[group][draw.choice([*config[group], "other"])] = node
    elif place == "list":
        config[group][draw.choice([*config[group], "other"])] = [1, {"a": [node]}]
    elif place == "top":
        config[draw.choice(("seed_too", "hydra", "_target_", "callbacks"))] = node
    else:
        config[group] = node
        summary["choices"][group] = draw.choice((node["_target_"], "../../x", "/etc", "a.b"))
    path.write_text(json.dumps(summary))
    ignored = group == "tracker" and place != "top"
    return "the tracker" if ignored else "summary.json", f"{group} {place}"


def verbs(told: str) -> list[list[str]]:
    """The command lines for a folder: `verify` where it is refused before it trains."""
    verify = [["verify", "run"]] if told == "summary.json" else []
    reading = [["results", "run"], ["show", "run"], ["report", "run"], ["decode", "run", "3 1"]]
    return [*reading, *verify, ["plot", "run", "--kind", "loss"]]


def check(seeds: range, place: Path) -> None:
    """Craft a folder for each seed, and hold every verb against what it may not do."""
    shutil.copytree(RUN, place / "warm")
    __import__("attnexp.training.run")
    for told in ("as it is", "summary.json"):
        for words in verbs(told):
            run_here(["warm" if word == "run" else word for word in words], 60)
        path = place / "warm" / "summary.json"
        summary = json.loads(path.read_text())
        summary["config"]["task"]["_target_"] = "canary.Score"
        path.write_text(json.dumps(summary))
    (place / "canary.py").write_text(CANARY)
    for seed in seeds:
        draw = random.Random(f"target {seed}")
        target = draw.choice((draw.choice(targets()), "canary.Score", "canary.Score.x"))
        if any(target in shipped_targets(group) for group in ("optim", "model", "arch")):
            continue
        shutil.rmtree(place / "run", ignore_errors=True)
        shutil.copytree(RUN, place / "run")
        node = {"_target_": target, "_args_": [HARM], "path": HARM, "command": f"touch {HARM}"}
        told, where = put(draw, place / "run", dict(list(node.items())[: draw.randrange(1, 5)]))
        before = {
            module for module in sys.modules if module.partition(".")[0] == target.split(".")[0]
        }
        content = sorted(place.iterdir())
        for words in verbs(told):
            with hearing() as heard:
                outcome = run_here(words, 60)
            what = f"seed {seed}: {target} in {told}, {where}: attnexp {' '.join(words)}"
            assert not heard, f"{what} caused {heard}"
            assert not outcome.faults(), f"{what}: {outcome.faults()}"
            assert "canary" not in sys.modules, what
            if not before:
                assert target.split(".")[0] not in sys.modules, what
            after = set(place.iterdir()) - set(content)
            assert not after - {place / "report.html"}, f"{what} wrote {after}"
            if words[0] in ("decode", "verify") and told == "summary.json":
                assert outcome.code != 0, what


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def test_targets_of_all_packages_are_drawn():
    assert len(targets()) > 2000
    assert {"os.popen", "subprocess.Popen", "builtins.eval"} <= set(targets())


def test_no_verb_runs_what_a_folder_names(place):
    check(range(DRAWN), place)


@pytest.mark.slow
def test_no_verb_runs_any_of_thousands(place):
    check(range(DRAWN, DRAWN + 3000), place)


def test_the_canary_would_be_seen(place):
    """The test can fail: what is imported leaves a file and an event."""
    (place / "canary.py").write_text(CANARY)
    __import__("canary")
    sys.modules.pop("canary")
    assert (place / HARM).exists()
    with hearing() as heard:
        os.system("true")
    assert heard == ["os.system"]
