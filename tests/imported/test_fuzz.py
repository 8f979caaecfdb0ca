"""Drawn runs, written here byte by byte: each reader returns these runs, or refuses the file.

What is expected is known from what was drawn. No test asks attnexp what a file means.
"""

import csv
import io
import json
import math
import random
import shutil
import sqlite3
import struct
import sys
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from wire_messages import entry, varint

from attnexp.core.errors import RequestError
from attnexp.imported import csv_table, mlflow, tensorboard, trackio, wandb
from attnexp.imported.outside import ImportRequest
from attnexp.imported.selection import select
from attnexp.imported.write import Imports

pytestmark = pytest.mark.check

INPUTS, WRITTEN = 2000, 40
"""The inputs of a test, and how many of them are also written as folders and read back."""

RANKS = ("test_accuracy", "val/acc", "loss", "best")
"""The metrics that are drawn, in the order in which they rank by default."""

TEXTS = (
    *(
        "007",
        "00e1",
        "1_000",
        "1234e56",
        "0x10",
        "1,5",
        "a, b",
        'say "x"',
        "'",
        "null",
        "-",
        "=1+1",
    ),
    *("line\nbreak", "tab\there", "naïve café", "模型", "\N{GRINNING FACE}", "inf", "nan", "1e999"),
    *("x" * 3000, "9" * 400, "1\N{ARABIC-INDIC DIGIT TWO}", "a;b", "a|b", "--", "#", "\N{BELL}a"),
)
"""Texts of settings that are no numbers, although some look like one."""

CHOICES = ("model", "data")
"""The settings that are choices in a group, whose values are text."""

NAMES = ("dot", "mlp", "naïve", "模型", "a, b", "x - y")

MISSING = object()


@dataclass
class Drawn:
    """A run as it was drawn: what it should come out as, and all that is recorded of it."""

    name: str
    written: dict[str, Any]
    settings: dict[str, Any]
    points: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    kept: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    begins: int = 0
    trained_twice: bool = False
    final: dict[str, float] = field(default_factory=dict)
    status: str = "finished"
    seed: int | None = None
    seed_of_name: int | None = None

    @property
    def metrics(self):
        last = {name: value for _, values in self.kept for name, value in values.items()}
        return {**last, **self.final}

    @property
    def curve(self):
        found = {}
        for step, values in self.kept:
            if abs(step) < 2**53:
                found.setdefault(step, {}).update(values)
        return found if len(found) > 1 else {}


def whole(rng):
    return rng.choice([0, 1, -1, 32, rng.randrange(10**6), rng.randrange(-(10**17), 10**17)])


def real(rng):
    return rng.choice([rng.uniform(-9, 9), 10 ** rng.uniform(-300, 18), 0.1, 2.5e-05, -3e-7])


def typed(rng):
    """A setting as JSON has it, and as it should come out."""
    value = rng.choice(
        [
            whole(rng),
            2**62 + rng.randrange(1000),
            10**25 + rng.randrange(1000),
            real(rng),
            1e300,
            rng.random() < 0.5,
            rng.choice(TEXTS),
            " blank ",
            "",
        ]
    )
    if rng.random() < 0.1:
        value = rng.choice([None, "None", {}])
        return value, MISSING
    if rng.random() < 0.1:
        return [1, 2, "a"], "[1, 2, a]"
    return value, str(value) if is_number(value) and abs(value) > 2**63 - 1 else value


def lettered(rng):
    """A setting as text, and as it should come out."""
    number = rng.choice([whole(rng), 2**62 + rng.randrange(1000), real(rng)])
    large = 10**25 + rng.randrange(1000)
    return rng.choice(
        [
            (str(number), number),
            (f" {number} ", number),
            (str(large), str(large)),
            ("1e5", 1e5),
            ("2.5E+3", 2500.0),
            ("+5", 5.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("-0", 0),
            ("True", True),
            ("false", False),
            *[(text, text) for text in rng.sample(TEXTS, 8)],
            (" a b ", "a b"),
            ("None", MISSING),
            ("", MISSING),
        ]
    )


def doubled(rng):
    """A setting of the HParams tab, and as it should come out."""
    value = rng.choice([float(rng.randrange(1000)), real(rng), rng.random() < 0.5, *TEXTS[:16]])
    return value, value


def measured(rng):
    if rng.random() < 0.1:
        return rng.choice([math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.0, sys.float_info.max])
    return rng.choice([rng.uniform(-5, 5), float(rng.randrange(100)), 10 ** rng.uniform(-9, 9)])


def single(rng):
    """A number as 4 bytes hold it."""
    value = measured(rng)
    value = value if not 1e38 < abs(value) < math.inf else 1e38
    return struct.unpack("<f", struct.pack("<f", value))[0]


def recorded(rng, run, measure):
    """Draw the points of a run: once, restarted at a later step, or trained twice."""
    steps = sorted(rng.sample(range(rng.choice([0, 1, 100]), 400), rng.randrange(0, 9)))
    steps += [2**60] * (rng.random() < 0.02)
    names = [name for name in RANKS[:3] if rng.random() < 0.6] or ["loss"]

    def attempt(begin):
        return [
            (step, {name: measure(rng) for name in (names if place % 2 == 0 else names[:1])})
            for place, step in enumerate(steps)
            if place >= begin
        ]

    first = attempt(0)
    run.points = run.kept = first
    luck = rng.random()
    if luck < 0.15 and len(steps) > 2:
        place = rng.randrange(1, len(steps) - 1)
        second = attempt(place)[: rng.randrange(1, 9)]
        run.points, run.kept, run.begins = first + second, first[:place] + second, len(first)
    elif luck < 0.2 and len(steps) > 1:
        earlier = [(steps[0] - rng.randrange(3), {names[0]: measure(rng)})]
        run.points, run.trained_twice, run.begins = first + earlier, True, len(first)


WRONG_SEEDS = (-1, 0.5, "first", 2**63, 1e30, True)
RIGHT_SEEDS = (0, 1, 2, 3, 7, 2**31, 10**18 + 7, 2**63 - 1)


def drawn_runs(rng, setting, measure=measured, seeds=RIGHT_SEEDS, wrong=WRONG_SEEDS, as_text=False):
    """Draw runs with a seed each, in some, at the ends of the names, or in none."""
    kind = rng.choice(["seeds", "seeds", "some", "names", "none"])
    names = ["model", "lr", "optim.lr", "width", "run", "run_name", "größe", "a b", "data", "id"]
    names = rng.sample(names, rng.randrange(6))

    def own_settings():
        own = {name: setting(rng) for name in names if rng.random() < 0.9}
        return own | {name: (text := rng.choice(TEXTS), text) for name in own if name in CHOICES}

    shared = own_settings() if rng.random() < 0.4 else None
    runs = []
    for number in range(rng.randrange(1, 6)):
        own = own_settings() if shared is None else dict(shared)
        name = f"{rng.choice(NAMES)}{rng.choice('+#')}{number}"
        run = Drawn(name, {}, {}, seed_of_name=None)
        if kind == "names":
            run.seed_of_name = rng.choice([0, 1, 2, 17])
            run.name += rng.choice(["-seed{}", "_s{}", " seed={}"]).format(run.seed_of_name)
        if kind == "seeds" or (kind == "some" and rng.random() < 0.7):
            seed = rng.choice(seeds)
            run.seed = int(seed)
            own["seed"] = (seed, seed)
        elif kind == "some" and rng.random() < 0.7:
            seed = rng.choice(wrong)
            own["seed"] = (seed, seed)
        for key, (written, expected) in own.items():
            run.written[key] = str(written) if as_text else written
            if expected is not MISSING:
                run.settings[key] = expected
        recorded(rng, run, measure)
        runs.append(run)
    return runs


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value):
    """A value, as text without characters that cannot be printed."""
    if not isinstance(value, str):
        return value
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)


def plain(value):
    """A setting so that 1 and 1.0 are one number, which is neither true nor the text 1."""
    if is_number(value):
        return "number", int(value) if value == int(value) else value
    if isinstance(value, str):
        return "text", shown(value)
    return "truth", value


def number_texts(values):
    return sorted((name, repr(float(value))) for name, value in values.items())


def described(seed, status, settings, metrics, curve):
    chosen = sorted((name, plain(v)) for name, v in settings.items() if name != "seed")
    rows = [(float(step), number_texts(values)) for step, values in curve.items()]
    return repr((seed, status, chosen, number_texts(metrics), rows))


def mixes(sentence, runs):
    """Whether a setting is refused for true next to 1, and the drawn runs have it so."""
    name, found, _ = sentence.partition(" is true or false in some runs and 1 or 0 in others")
    texts = {str(run.settings.get(name)).strip().lower() for run in runs}
    bits = {"0", "1", "0.0", "1.0", "-0.0", "0.", "1.", "-0"}
    return bool(found and texts & {"true", "false"} and texts & bits)


def judge(reader, path, runs, request=None, root=None, refusable=False):
    """Hold what a reader makes of a file against the runs that were drawn. Return whether it did.

    A refusal is right if no run is left, or if the file is damaged.
    """
    request = request or ImportRequest()
    good = [run for run in runs if not run.trained_twice]
    if not any("seed" in run.settings for run in good):
        in_names = bool(good) and all(run.seed_of_name is not None for run in good)
        good = [replace(run, seed=run.seed_of_name if in_names else 0) for run in good]
    left = [run for run in good if run.seed is not None]
    try:
        found, notes = reader.read(path, request)
        selection, decided = select(found, request) if found else (None, [])
    except RequestError as error:
        if "\n" in str(error) or (left and not refusable and not mixes(str(error), good)):
            raise
        return False
    if selection is None:
        assert not good
        return False
    assert len(found) == len(good)
    notes = [*notes, *decided]
    chosen = list(selection)
    names = {*selection.telling.values()}
    assert not names & {name for run in good for name in run.settings}
    got = [
        described(
            each.seed,
            each.run.status.value,
            {name: value for name, value in each.settings.items() if name not in names},
            each.metrics,
            {
                row["epoch"]: {n: v for n, v in row.items() if n != "epoch"}
                for row in each.run.epochs
            },
        )
        for each in chosen
    ]
    due = [described(run.seed, run.status, run.settings, run.metrics, run.curve) for run in left]
    assert [each for each in got if each not in due] == [each for each in due if each not in got]
    assert sorted(got) == sorted(due)
    told = [repr((each.seed, sorted(each.settings.items(), key=repr))) for each in chosen]
    assert len({*told}) == len(told), "two runs are one"
    if not refusable:
        for what, number in (
            ("holds two trainings", sum(run.trained_twice for run in runs)),
            ("was restarted", sum(1 for run in good if run.begins)),
            (
                "left out 1 run:" if len(good) - len(left) == 1 else "left out",
                len(good) != len(left),
            ),
        ):
            assert sum(what in note for note in notes) >= number, (what, notes)
    if root is not None:
        ranks = request.metrics or RANKS
        measured_names = {name for run in good for name in run.metrics}
        primary = next((name for name in ranks if name in measured_names), None)
        read_back(root, path, selection, left, primary)
    return True


def read_back(root, path, selection, left, primary):
    """Hold the folders against the runs that were drawn."""
    from attnexp import load_results

    imports = Imports(root, "tool", path)
    assert [imports.write(each, selection) for each in selection] == ["new"] * len(left)
    if not left:
        return

    def finite(value):
        return None if value is None or not abs(value) < sys.float_info.max else float(value)

    due = [
        (
            run.seed,
            "failed" if finite(run.metrics.get(primary, 0.0)) is None else run.status,
            [repr(finite(run.metrics.get(name))) for name in RANKS],
        )
        for run in left
    ]
    rows = load_results(root).to_dict("records")
    got = [
        (row["seed"], row["status"], [repr(finite(row.get(name))) for name in RANKS])
        for row in rows
    ]
    assert sorted(map(repr, got)) == sorted(map(repr, due))
    assert [row["primary"] for row in rows] == [primary] * len(rows)


@pytest.fixture
def place():
    """A folder in memory if there is one: some disks take milliseconds to remove a folder."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


sized = pytest.mark.parametrize("inputs", [40, pytest.param(INPUTS, marks=pytest.mark.slow)])


def each_input(place, seed, inputs=INPUTS):
    """Yield a generator for each input, and the folder to write its runs to, in some cases."""
    for number in range(inputs):
        root = place / "imported" / str(number) if number % (inputs // WRITTEN) == 0 else None
        yield random.Random(f"{seed} {number}"), root


def put(path, content):
    """Write a file anew: to truncate one waits for the disk."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


# ---- Trackio ----------------------------------------------------------------------------------

TRACKIO = {
    "old": "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, project_name TEXT,"
    " run_name TEXT, step INTEGER, metrics TEXT);"
    "CREATE TABLE configs (id INTEGER PRIMARY KEY, project_name TEXT, run_name TEXT, config TEXT);",
    "new": "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_id TEXT,"
    " run_name TEXT, step INTEGER, metrics TEXT);"
    "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT);",
}


def nested(settings):
    """Settings with those below `optim` in a group of their own."""
    found = {name: value for name, value in settings.items() if "." not in name}
    below = {n.removeprefix("optim."): v for n, v in settings.items() if "." in n}
    return {**found, "optim": below} if below else found


def json_number(rng, value):
    """A number as trackers write it: whole numbers of any size, and words for NaN and infinity."""
    if math.isfinite(value):
        return int(value) if value.is_integer() and rng.random() < 0.5 else value
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return words[repr(value)] if rng.random() < 0.7 else value


def json_rows(rng, points):
    """The points as objects, some with a line for each number, among others that are none."""
    for place, (step, values) in enumerate(points):
        objects = [{name: json_number(rng, v)} for name, v in values.items()]
        if rng.random() < 0.7:
            objects = [{name: v for each in objects for name, v in each.items()}]
        for each in objects:
            odd = {
                "note": "1.5",
                "ok": True,
                "none": None,
                "_runtime": 3,
                "map": {"_type": "i", "w": 9},
            }
            yield place, step, {**each, **{n: odd[n] for n in rng.sample([*odd], rng.randrange(3))}}


def shuffled(rng, sequences):
    """Draw an order of elements that keeps the order of each sequence."""
    queues = [list(sequence) for sequence in sequences]
    while queues := [queue for queue in queues if queue]:
        yield rng.choice(queues).pop(0)


@sized
def test_trackio(place, inputs):
    read = 0
    for rng, root in each_input(place, "trackio", inputs):
        runs = drawn_runs(rng, typed)
        version = rng.choice([*TRACKIO])
        if version == "new" and rng.random() < 0.2:
            runs = [replace(run, name=runs[0].name) for run in runs]  # they have ids
            runs = [replace(run, seed_of_name=runs[0].seed_of_name) for run in runs]
        column = "project_name" if version == "old" else "run_id"
        with sqlite3.connect(":memory:") as base:
            base.executescript(TRACKIO[version])
            rows = [
                [(i, r, *each) for each in json_rows(rng, r.points)] for i, r in enumerate(runs)
            ]
            for i, run, _, step, values in shuffled(rng, rows):
                own = "p" if version == "old" else f"id{i}"
                text = json.dumps(values)
                base.execute(
                    f"INSERT INTO metrics ({column}, run_name, step, metrics) VALUES (?, ?, ?, ?)",
                    (own, run.name, step, text.encode() if rng.random() < 0.5 else text),
                )
            for i, run in enumerate(runs):
                base.execute(
                    f"INSERT INTO configs ({column}, run_name, config) VALUES (?, ?, ?)",
                    (
                        "p" if version == "old" else f"id{i}",
                        run.name,
                        json.dumps(nested(run.written)),
                    ),
                )
            put(place / "p.db", base.serialize())
        base.close()
        read += judge(trackio, place / "p.db", runs, root=root)
    assert read > 0.8 * inputs


# ---- MLflow -----------------------------------------------------------------------------------

MLFLOW = """
CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time BIGINT,
  end_time BIGINT, lifecycle_stage TEXT, experiment_id INTEGER);
CREATE TABLE experiments (experiment_id INTEGER, name TEXT);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE metrics (key TEXT, value FLOAT NOT NULL, timestamp BIGINT, run_uuid TEXT,
  step BIGINT, is_nan BOOLEAN);
"""
ENDS = {
    "FINISHED": "finished",
    "FAILED": "failed",
    "KILLED": "interrupted",
    "RUNNING": "interrupted",
}
NUMBERED = ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")
TEXT_SEEDS = ("-1", "0.5", "first", str(2**63), "1e30", "true", "1_0", "007")


def of_mlflow(rng):
    """Runs of MLflow, how each ended, and a run that was deleted and one that contains others."""
    runs = drawn_runs(rng, lettered, wrong=TEXT_SEEDS, as_text=True)
    ends = [rng.choice([*ENDS]) for _ in runs]
    runs = [replace(run, status=ENDS[end]) for run, end in zip(runs, ends, strict=True)]
    more = {kind: rng.random() < 0.2 for kind in ("deleted", "parent")}
    return runs, ends, more


@sized
def test_mlflow_database(place, inputs):
    read = 0
    for rng, root in each_input(place, "mlflow", inputs):
        runs, ends, more = of_mlflow(rng)
        with sqlite3.connect(":memory:") as base:
            base.executescript(MLFLOW)
            base.execute("INSERT INTO experiments VALUES (1, 'e')")
            others = [replace(runs[0], name=kind) for kind, there in more.items() if there]
            for i, run in enumerate([*runs, *others]):
                stage = "deleted" if run.name == "deleted" else "active"
                own = f"{run.name if run in others else i:0>32}"
                end = [*ends, *ends][i % len(ends)]
                base.execute(
                    "INSERT INTO runs VALUES (?,?,?,?,?,?,1)", (own, run.name, end, 0, 1, stage)
                )
                for key, value in run.written.items():
                    base.execute("INSERT INTO params VALUES (?, ?, ?)", (key, value, own))
                if more["parent"] and run.name not in more:
                    tag = ("mlflow.parentRunId", f"{'parent':0>32}", own)
                    base.execute("INSERT INTO tags VALUES (?, ?, ?)", tag)
                lines = []
                for when, (step, values) in enumerate(run.points):
                    for key, value in values.items():
                        nan = math.isnan(value)
                        stored = (
                            0.0
                            if nan
                            else max(min(value, 1.7976931348623157e308), -1.7976931348623157e308)
                        )
                        lines.append((key, stored, when, own, step, nan))
                rng.shuffle(lines)
                base.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", lines)
            put(place / "m.db", base.serialize())
        base.close()
        read += judge(mlflow, place / "m.db", [clipped(run) for run in runs], root=root)
    assert read > 0.8 * inputs


def clipped(run):
    """A run as MLflow's database holds it: the largest number in place of infinity."""

    def held(values):
        most = sys.float_info.max
        return {n: v if math.isnan(v) else max(min(v, most), -most) for n, v in values.items()}

    return replace(run, kept=[(step, held(values)) for step, values in run.kept])


@sized
def test_mlflow_store_of_files(place, inputs):
    read = 0
    for rng, root in each_input(place, "mlruns", inputs):
        runs, ends, more = of_mlflow(rng)
        shutil.rmtree(place / "mlruns", ignore_errors=True)
        others = [replace(runs[0], name=kind) for kind, there in more.items() if there]
        for i, run in enumerate([*runs, *others]):
            own = f"{run.name if run in others else i:0>32}"
            folder = place / "mlruns" / "1" / own
            for part in ("params", "metrics", "tags"):
                (folder / part).mkdir(parents=True)
            meta = {
                "run_name": run.name,
                "status": NUMBERED.index([*ends, *ends][i % len(ends)]) + 1,
                "lifecycle_stage": "deleted" if run.name == "deleted" else "active",
                "start_time": 1000,
            }
            (folder / "meta.yaml").write_text(json.dumps(meta, ensure_ascii=False))
            for key, value in run.written.items():
                (folder / "params" / key).write_text(value, newline="")
            if more["parent"] and run.name not in more:
                (folder / "tags" / "mlflow.parentRunId").write_text(f"{'parent':0>32}")
            for when, (step, values) in enumerate(run.points):
                for key, value in values.items():
                    (folder / "metrics" / key).parent.mkdir(exist_ok=True)
                    with (folder / "metrics" / key).open("a") as file:
                        file.write(f"{when} {value} {step}\n")
        read += judge(mlflow, place / "mlruns", runs, root=root)
    assert read > 0.8 * inputs


# ---- Weights & Biases -------------------------------------------------------------------------


def items(values):
    """Messages with values by name; a name with a point is that of a setting in a group."""
    return b"".join(
        entry(
            1,
            b"".join(entry(2, part) for part in name.split(".")) * ("." in name)
            + entry(1, name) * ("." not in name)
            + entry(16, json.dumps(value)),
        )
        for name, value in values.items()
    )


def log_file(records):
    """Return a file of records in pieces, and the ends of the records in it."""
    content, ends = b":W&B" + bytes([0xE1, 0xBE, 0]), []
    for record in records:
        first, rest = True, record
        while first or rest:
            left = 32768 - len(content) % 32768
            if left < 7:
                content += bytes(left)
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            check = zlib.crc32(bytes([kind]) + piece)
            content += struct.pack("<IHB", check, len(piece), kind) + piece
            first = False
        ends.append(len(content))
    return content, ends


@sized
def test_wandb(place, inputs):
    read = 0
    for rng, root in each_input(place, "wandb", inputs):
        runs = drawn_runs(rng, typed)
        shutil.rmtree(place / "wandb", ignore_errors=True)
        (place / "wandb").mkdir()
        for i, run in enumerate(runs):
            code = rng.choice([0, 0, 1, None])
            run.status = {0: "finished", 1: "failed", None: "interrupted"}[code]
            run.final = {"best": rng.uniform(0, 1)} if rng.random() < 0.3 else {}
            told, config = entry(1, f"id{i}") + entry(8, run.name), items(run.written)
            late = rng.random() < 0.5
            head = [entry(17, told if late else told + entry(4, config))]
            head += [entry(5, config)] * late
            rows = [*json_rows(rng, run.points)]
            long = {"long": "x" * 40_000} if rng.random() < 0.01 else {}
            history = [
                entry(2, items(values | long) + entry(2, entry(1, step)))
                for _, step, values in rows
            ]
            parts = [history]
            if run.begins and rng.random() < 0.5:
                cut = next(k for k, row in enumerate(rows) if row[0] >= run.begins)
                parts = [history[:cut], history[cut:]]
            tail = [entry(3, items(run.final))] if run.final else []
            tail += [] if code is None else [entry(18, entry(1, code))]
            for number, part in enumerate(parts):
                is_last = number == len(parts) - 1
                content, ends = log_file([*head, *part, *tail * is_last])
                if is_last and code is not None and rng.random() < 0.1:
                    content = content[: rng.randrange(ends[-2], ends[-1])]
                    run.status = "interrupted"
                (place / "wandb" / f"run-{i}-{number}.wandb").write_bytes(content)
        read += judge(wandb, place / "wandb", runs, root=root)
    assert read > 0.8 * inputs


# ---- TensorBoard ------------------------------------------------------------------------------


def checksum_table():
    for value in range(256):
        turned = value
        for _ in range(8):
            turned = turned >> 1 ^ 0x82F63B78 * (turned & 1)
        yield turned


CHECKSUMS = [*checksum_table()]


def checked(content):
    """Bytes, and their CRC-32C in the masked form of TensorFlow's records."""
    value = 0xFFFFFFFF
    for byte in content:
        value = CHECKSUMS[(value ^ byte) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    turned = (value >> 15 | value << 17) & 0xFFFFFFFF
    return content + struct.pack("<I", (turned + 0xA282EAD8) & 0xFFFFFFFF)


def event(step, *values, begins=False):
    message = entry(1, 1.0) + entry(2, step)
    message += entry(5, b"".join(entry(1, value) for value in values)) if values else b""
    message += entry(7, entry(1, 1)) if begins else b""
    return checked(struct.pack("<Q", len(message))) + checked(message)


def scalar(rng, tag, value):
    four = struct.pack("<f", value)
    tensor = {0: entry(4, four), 1: entry(5, four), 2: entry(6, struct.pack("<d", value))}
    way = rng.choice([None, None, 0, 1, 2])
    if way is None:
        return entry(1, tag) + varint(2 * 8 + 5) + four
    return entry(1, tag) + entry(8, entry(1, 2 if way == 2 else 1) + tensor[way])


def hparams(settings):
    def value(own):
        number = 4 if isinstance(own, bool) else 3 if isinstance(own, str) else 2
        return entry(number, own)

    pairs = (entry(1, entry(1, n) + entry(2, value(v))) for n, v in settings.items())
    plugin = entry(1, "hparams") + entry(2, entry(3, b"".join(pairs)))
    return entry(1, "_hparams_/session_start_info") + entry(9, entry(1, plugin))


def events_of(rng, points):
    for step, values in points:
        scalars = [scalar(rng, tag, value) for tag, value in values.items()]
        yield from (
            [event(step, *scalars)] if rng.random() < 0.7 else [event(step, s) for s in scalars]
        )


@sized
def test_tensorboard(place, inputs):
    read = 0
    for rng, root in each_input(place, "tensorboard", inputs):
        wrong = (-1.0, 0.5, "first", 1e30, True, math.nan)
        runs = drawn_runs(rng, doubled, single, (0.0, 1.0, 2.0, 7.0, 2.0**31), wrong)
        shutil.rmtree(place / "logs", ignore_errors=True)
        for run in runs:
            folder = place / "logs" / rng.choice(["", "deep/er"]) / run.name
            folder.mkdir(parents=True)
            where = rng.choice(["same", "session", "none"])
            if run.seed is not None or run.settings:
                where = "same" if where == "none" else where
            start = [event(0, hparams(run.written))] if run.written else []
            if where == "session" and start:
                run.final = {"best": single(rng)}
                (folder / "1795576148.29").mkdir()
                session = [*start, *events_of(rng, [(0, run.final)])]
                path = folder / "1795576148.29" / "events.out.tfevents.9"
                path.write_bytes(b"".join(session))
                start = []
            cut = run.begins if run.begins and rng.random() < 0.5 else len(run.points)
            parts = [run.points[:cut], run.points[cut:]]
            first = [event(0), *start, *events_of(rng, parts[0])]
            second = [*events_of(rng, parts[1])]
            if second and rng.random() < 0.5:  # a session that begins voids all from its step on
                run.kept = parts[1] if run.trained_twice else run.kept
                run.trained_twice = False
                second = [event(parts[1][0][0], begins=True), *second]
            if rng.random() < 0.1:
                whole_one = event(9, scalar(rng, "loss", 1.0))
                (second or first).append(whole_one[: rng.randrange(len(whole_one))])
            (folder / "events.out.tfevents.1").write_bytes(b"".join(first))
            if second:
                (folder / "events.out.tfevents.2").write_bytes(b"".join(second))
        read += judge(tensorboard, place / "logs", runs, root=root)
    assert read > 0.8 * inputs


# ---- CSV --------------------------------------------------------------------------------------

WORDS = {
    "finished": "finished",
    "Crashed": "failed",
    "killed": "interrupted",
    " RUNNING": "interrupted",
}
NO_NUMBERS = ("low", "1_000", "1,5", "--", "0x10", "1 2")


def number_cell(rng, value):
    if not math.isfinite(value):
        return rng.choice([str(value), str(value).upper(), f" {value}"])
    return rng.choice(
        [
            repr(value),
            f" {value!r} ",
            f"{value:+.17e}",
            f"0{value!r}" if value >= 0 else repr(value),
        ]
    )


def encoded(rng, lines):
    """Return lines of cells as bytes, and whether they are a table in UTF-8."""
    end = rng.choice(["\n", "\r\n", "\r"])
    minimal = csv.QUOTE_MINIMAL if end != "\r" else csv.QUOTE_ALL  # it would not quote \n then
    quoting = rng.choice([minimal, csv.QUOTE_ALL])
    text = ""
    for cells in lines:
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator=end, quoting=quoting).writerow(cells)
        text += line.getvalue() + end * (rng.random() < 0.05)
    if rng.random() < 0.1 and not text.endswith(end * 2):
        text = text.removesuffix(end)
    encoding = rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-16-le", "gbk", "latin-1"])
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        content = text.encode()
    try:
        return content, content.decode("utf-8-sig") == text and b"\0" not in content
    except UnicodeDecodeError:
        return content, False


def refused(reader, path, request):
    with pytest.raises(RequestError) as error:
        select(reader.read(path, request)[0], request)
    assert "\n" not in str(error.value)


@sized
def test_csv(place, inputs):
    read, path = 0, place / "runs.csv"
    for rng, root in each_input(place, "csv", inputs):
        runs = drawn_runs(rng, lettered, wrong=TEXT_SEEDS, as_text=True)
        settings = [*dict.fromkeys(name for run in runs for name in run.written if name != "seed")]
        has_seed = any("seed" in run.written for run in runs)
        metrics = rng.sample(RANKS, rng.randrange(1, 3))
        named = rng.random() < 0.7
        words = rng.random() < 0.4
        columns = [*settings, *metrics, *["seed"] * has_seed, *["Name"] * named, *["State"] * words]
        columns += rng.sample(["other", "Runtime", "step"], rng.randrange(3))
        faulty = rng.choice(["cell", "width", "twice", "word"]) if rng.random() < 0.1 else None
        rows = []
        for number, run in enumerate(runs):
            word = rng.choice([*WORDS])
            run.status = WORDS[word] if words else "finished"
            run.points, run.kept, run.begins, run.trained_twice = [], [], 0, False
            run.final = {name: measured(rng) for name in metrics if rng.random() < 0.9}
            if not named:
                run.seed_of_name = None
            cells = {name: number_cell(rng, value) for name, value in run.final.items()}
            cells |= {name: rng.choice(["", " ", "None"]) for name in metrics if name not in cells}
            cells |= {"Name": run.name, "State": word, "other": rng.choice(TEXTS), **run.written}
            cells |= {"Runtime": str(number)}
            if faulty == "cell":
                cells[metrics[0]] = rng.choice(NO_NUMBERS)
            rows.append(cells)
        rng.shuffle(columns)
        lines = [[cells.get(name, "") for name in columns] for cells in rows]
        if faulty == "width":
            cells = rng.choice(lines)
            cells[:] = cells[1:] if len(cells) > 2 and rng.random() < 0.5 else [*cells, "1"]
        if faulty == "word" and words:
            rng.choice(rows)  # the column then has a word that is none beside one that is
            lines.append(
                [
                    "gone" if name == "State" else c
                    for name, c in zip(columns, lines[0], strict=True)
                ]
            )
        header = [rng.choice([name, name, f" {name}", f"{name} "]) for name in columns]
        if faulty == "twice":
            header[rng.randrange(len(header))] = header[0]
            faulty = "twice" if len({name.strip() for name in header}) < len(header) else None
        content, is_table = encoded(rng, [header, *lines])
        put(path, content)
        request = ImportRequest(settings=settings, metrics=metrics)
        if (faulty and (faulty != "word" or words)) or not is_table:
            refused(csv_table, path, request)
            continue
        keys = {(run.seed, *[shown(run.settings.get(name)) for name in settings]) for run in runs}
        alike = not named and len(keys) < len(runs)
        unmeasured = {*metrics} - {name for run in runs for name in run.final}
        read += judge(csv_table, path, runs, request, root, refusable=bool(alike or unmeasured))
    assert read > 0.5 * inputs


@sized
def test_charts_of_wandb(place, inputs):
    read, path = 0, place / "chart.csv"
    for rng, root in each_input(place, "chart", inputs):
        runs = [replace(run, settings={}, seed=None) for run in drawn_runs(rng, lettered)]
        for run in runs:
            points = {} if run.trained_twice or run.begins else dict(run.points)
            run.points = run.kept = [*points.items()]
            run.trained_twice, run.begins = False, 0
        names = [*dict.fromkeys(n for run in runs for _, values in run.kept for n in values)]
        columns = [(run, name) for run in runs for name in names]
        rng.shuffle(columns)
        fault = rng.choice(["mean", "cell", "twice"]) if columns and rng.random() < 0.1 else None
        header = ["Step"]
        for run, name in columns:
            own = f"{runs[0].name if fault == 'twice' else run.name} - {name}"
            header += [own, f"{own}__MIN", f"{own}__MAX"]
        faulty = fault == "twice" and len(runs) > 1
        lines = []
        for step in sorted({step for run in runs for step, _ in run.kept}):
            line = [str(step)]
            for run, name in columns:
                value = dict(run.kept).get(step, {}).get(name)
                cells = ["" if value is None else repr(value)] * 3
                if value is not None and fault == "mean" and math.isfinite(value):
                    cells[rng.choice([1, 2])] = repr(value + abs(value) / 2 + 1)
                    faulty |= abs(value) < 1e308
                elif value is not None and fault == "cell":
                    cells[0], faulty = rng.choice(NO_NUMBERS), True
                line += cells
            lines.append(line)
        content, is_table = encoded(rng, [header, *lines])
        put(path, content)
        logged = [run for run in runs if run.kept]
        if not is_table or faulty:
            refused(csv_table, path, ImportRequest())
        elif logged:
            read += judge(csv_table, path, logged, root=root)
    assert read > 0.4 * inputs
