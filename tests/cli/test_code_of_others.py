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
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from command_outcome import run_here

from attnexp.config.trust import shipped_targets
from attnexp.runs import lease
from attnexp.training.checkpoint import write_checkpoint

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

needs_optuna = pytest.mark.skipif(find_spec("optuna") is None, reason="Optuna is not installed")

DRAWN, SWEPT = 6, 1
"""Targets of a fast run, for runs and for sweeps."""

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
    found += [f"os.{name}" for name in dir(os) if callable(getattr(os, name))]
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


def verbs(draw: random.Random, told: str) -> list[list[str]]:
    """Command lines that read a folder; `verify` where it is refused before it trains."""
    reading = [["results", "run"], ["show", "run"], ["report", "run"], ["status", "."]]
    drawing = [["plot", "run", "--kind", "loss"]] if draw.random() < 0.05 else []
    verify = [["verify", "run"]] if told == "summary.json" else []
    return [["decode", "run", "3 1"], *verify, draw.choice(reading), *drawing]


def drawn(draw: random.Random) -> tuple[str, dict]:
    """A target, and a node of settings that names it."""
    target = draw.choice((draw.choice(targets()), "canary.Score", "canary.Score.x"))
    node = {"_target_": target, "_args_": [HARM], "path": HARM, "command": f"touch {HARM}"}
    return target, dict(list(node.items())[: draw.randrange(1, 5)])


def check(lines: list[list[str]], target: str, what: str, place: Path) -> list[int | None]:
    """Hold each command line against what it may not do with a target, and return the codes."""
    top = target.partition(".")[0]
    before = {module for module in sys.modules if module.partition(".")[0] == top}
    content = set(place.iterdir())
    codes = []
    for words in lines:
        with hearing() as heard:
            outcome = run_here(words, 60)
        told = f"{what}: {target}: attnexp {' '.join(words)}"
        assert not heard, f"{told} caused {heard}"
        assert not outcome.faults(), f"{told}: {outcome.faults()}"
        assert "canary" not in sys.modules, told
        assert before or top not in sys.modules, told
        assert set(place.iterdir()) - content <= {place / "report.html"}, told
        codes.append(outcome.code)
    return codes


def warm(place: Path) -> None:
    """Have every verb import what it needs, also to refuse."""
    shutil.copytree(RUN, place / "run")
    __import__("attnexp.training.run")
    for told in ("as it is", "summary.json"):
        for name in ("results", "show", "report", "status", "decode", "plot", "verify")[
            : 6 if told == "as it is" else 7
        ]:
            run_here([name, "run", *(["3 1"] if name == "decode" else [])], 60)
        path = place / "run" / "summary.json"
        summary = json.loads(path.read_text())
        summary["config"]["task"]["_target_"] = "canary.Score"
        path.write_text(json.dumps(summary))
    (place / "canary.py").write_text(CANARY)


def check_runs(seeds: range, place: Path) -> None:
    """Craft a run for each seed, and check the verbs that read it."""
    warm(place)
    shipped = set().union(*(shipped_targets(group) for group in ("optim", "model", "arch")))
    for seed in seeds:
        draw = random.Random(f"target {seed}")
        target, node = drawn(draw)
        if target in shipped:
            continue
        shutil.rmtree(place / "run")
        shutil.copytree(RUN, place / "run")
        told, where = put(draw, place / "run", node)
        lines = verbs(draw, told)
        codes = check(lines, target, f"seed {seed}: {told}, {where}", place)
        if told == "summary.json":
            assert 0 not in codes[:2], f"seed {seed}: {target} in {told}, {where}"


SMALL = ("figures=false", "data.num_train=20", "data.num_test=10")
KERNEL = ("model=gaussian", *SMALL)
LEARNED = ("model=gaussian_learned", "train.max_epochs=2", *SMALL)
SWEEP = ["-m", *KERNEL, "model.width=1,2", "seed=0,1000"]
TUNED = ["-m", "hydra/sweeper=tuned", "hydra.sweeper.tune=['model.width=1,2']", *KERNEL, "seed=0"]
SEARCH = ["-m", "hydra/sweeper=optuna", *KERNEL, "model.width=1,2", "hydra.sweeper.n_trials=2"]
KINDS = ("summary", "plan", "journal", "best", "lease", "checkpoint")


def inside(draw: random.Random, value: object, node: object) -> object:
    """JSON in which something has been replaced by a node."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.2:
        return draw.choice((node, json.dumps(node), [node], -1, None, True, "nan", 1e999))
    key = draw.choice(list(value)) if isinstance(value, dict) else draw.randrange(len(value))
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[key] = inside(draw, value[key], node)
    return changed


def craft(draw: random.Random, outputs: Path, node: dict) -> tuple[str, list[list[str]]]:
    """Put a node into a folder of sweeps; return where, and the command lines that meet it."""
    kind = draw.choice(KINDS)
    runs = sorted(path.parent for path in outputs.glob("*/summary.json"))
    (search,) = outputs.glob("search-*")
    sweeps = [SWEEP, TUNED, SEARCH]
    if kind == "summary":
        return f"{kind} {put(draw, draw.choice(runs), node)}", sweeps
    if kind == "plan":
        jobs = draw.choice(({"jobs": [node["_target_"], "../x", "/etc"]}, {"jobs": node}, [node]))
        (outputs / ".plans").mkdir()
        (outputs / ".plans" / "a.json").write_text(json.dumps(jobs))
        return kind, [["status"], SWEEP]
    if kind == "journal":
        path = search / "trials.journal"
        lines = path.read_text().splitlines()
        place = draw.randrange(len(lines))
        lines[place] = json.dumps(inside(draw, json.loads(lines[place]), node))
        path.write_text("".join(f"{line}\n" for line in lines))
        return f"{kind} {lines[place]}", [SEARCH, [*SEARCH, "--dry-run"]]
    if kind == "best":
        text = yaml.safe_dump({"model": node, "hydra": {"callbacks": {"a": node}}})
        (search / "experiment" / "best.yaml").write_text(f"# @package _global_\n{text}")
        return kind, sweeps
    owner = {"token": "a", "process": -1, "host": node["_target_"], "boot": "\x1b[2J"}
    owner |= {"namespace": "", "locked": draw.random() < 0.5}
    (learned,) = outputs.glob("gaussian_learned*")
    if kind == "lease":
        for folder in (search, learned):
            content = draw.choice((owner, inside(draw, owner, node)))
            (folder / ".lease").write_text(json.dumps(content))
        return kind, [SEARCH, [*LEARNED, "rerun=true"], ["status"]]
    summary = json.loads((learned / "summary.json").read_text())
    attempt = {"updates": 1, "started": "a", "ended": "b", "device": "cpu", "versions": {}}
    state = {"key": summary["key"], "attempts": [attempt], "rows": [], "snapshots": {}}
    state |= {"seconds": 1.0, "training": {"step": 1, "model": node, "optimizer": [node]}}
    name = draw.choice(sorted(set(state) - {"key"}))
    write_checkpoint(learned, {**state, name: inside(draw, state[name], node)})
    (learned / "summary.json").write_text(json.dumps(summary | {"status": "running"}))
    return f"{kind} {name}", [["status"], list(LEARNED)]


def check_sweeps(seeds: range, place: Path) -> None:
    """Craft what sweeps and searches have left for each seed, and go on with them."""
    for width in (1, 2):
        for seed in (0, 1000):
            assert run_here([*KERNEL, f"model.width={width}", f"seed={seed}"], 60).code == 0
    for words in (list(LEARNED), [*LEARNED, "rerun=true"], SWEEP, TUNED, SEARCH, ["status"]):
        outcome = run_here(words, 60)
        assert outcome.code == 0, outcome
    shutil.move(place / "outputs", place / "sound")
    (place / "canary.py").write_text(CANARY)
    for seed in seeds:
        draw = random.Random(f"sweep {seed}")
        target, node = drawn(draw)
        shutil.rmtree(place / "outputs", ignore_errors=True)
        shutil.copytree(place / "sound", place / "outputs")
        where, lines = craft(draw, place / "outputs", node)
        check(lines, target, f"seed {seed}: {where}", place)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def test_targets_of_all_packages_are_drawn():
    assert len(targets()) > 2000
    assert {"os.system", "subprocess.Popen", "builtins.eval"} <= set(targets())


def test_no_verb_runs_what_a_folder_names(place):
    check_runs(range(DRAWN), place)


@pytest.mark.slow
def test_no_verb_runs_any_of_thousands(place):
    check_runs(range(DRAWN, DRAWN + 3000), place)


@needs_optuna
def test_no_sweep_runs_what_a_folder_names(place, monkeypatch):
    monkeypatch.setattr(lease, "EXPIRY", 0.0)
    check_sweeps(range(SWEPT), place)


@needs_optuna
@pytest.mark.slow
def test_no_sweep_runs_any_of_hundreds(place, monkeypatch):
    monkeypatch.setattr(lease, "EXPIRY", 0.0)
    check_sweeps(range(SWEPT, SWEPT + 300), place)


@needs_optuna
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_journal_elsewhere_is_not_written(place, more):
    """Neither through a link, nor where it only is to be looked at."""
    assert run_here([*KERNEL, "model.width=1"], 60).code == 0
    assert run_here([*KERNEL, "model.width=2"], 60).code == 0
    assert run_here(SEARCH, 60).code == 0
    (journal,) = place.glob("outputs/search-*/trials.journal")
    elsewhere = journal.rename(place / "elsewhere")
    elsewhere.write_bytes(elsewhere.read_bytes() + b'{"op')
    before = elsewhere.read_bytes()
    journal.symlink_to(elsewhere)
    outcome = run_here([*SEARCH, *more], 60)
    assert outcome.faults() == []
    assert outcome.code == (0 if more else 2)
    assert elsewhere.read_bytes() == before


def test_the_canary_would_be_seen(place):
    """The test can fail: what is imported leaves a file and an event."""
    (place / "canary.py").write_text(CANARY)
    __import__("canary")
    sys.modules.pop("canary")
    assert (place / HARM).exists()
    with hearing() as heard:
        os.system("true")
    assert heard == ["os.system"]
