"""Drawn runs, written here as CSV: the reader returns these runs, or refuses the file.

What is expected is known from what was drawn. No test asks attnexp what a file means.
"""

import csv
import io
import math
import random
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from attnexp.core.errors import RequestError
from attnexp.imported import csv_table
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
    final: dict[str, float] = field(default_factory=dict)
    status: str = "finished"
    seed: int | None = None
    seed_of_name: int | None = None

    @property
    def metrics(self):
        last = {name: value for _, values in self.points for name, value in values.items()}
        return {**last, **self.final}

    @property
    def curve(self):
        return dict(self.points) if len(self.points) > 1 else {}


def whole(rng):
    return rng.choice([0, 1, -1, 32, rng.randrange(10**6), rng.randrange(-(10**17), 10**17)])


def real(rng):
    return rng.choice([rng.uniform(-9, 9), 10 ** rng.uniform(-300, 18), 0.1, 2.5e-05, -3e-7])


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


def measured(rng):
    if rng.random() < 0.1:
        return rng.choice([math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.0, sys.float_info.max])
    return rng.choice([rng.uniform(-5, 5), float(rng.randrange(100)), 10 ** rng.uniform(-9, 9)])


def recorded(rng):
    """Draw the points of a run."""
    steps = sorted(rng.sample(range(rng.choice([0, 1, 100]), 400), rng.randrange(0, 9)))
    names = [name for name in RANKS[:3] if rng.random() < 0.6] or ["loss"]
    return [
        (step, {name: measured(rng) for name in (names if place % 2 == 0 else names[:1])})
        for place, step in enumerate(steps)
    ]


WRONG_SEEDS = ("-1", "0.5", "first", str(2**63), "1e30", "true", "1_0", "007")
RIGHT_SEEDS = (0, 1, 2, 3, 7, 2**31, 10**18 + 7, 2**63 - 1)


def drawn_runs(rng):
    """Draw runs with a seed each, in some, at the ends of the names, or in none."""
    kind = rng.choice(["seeds", "seeds", "some", "names", "none"])
    names = ["model", "lr", "optim.lr", "width", "run", "run_name", "größe", "a b", "data", "id"]
    names = rng.sample(names, rng.randrange(6))

    def own_settings():
        own = {name: lettered(rng) for name in names if rng.random() < 0.9}
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
            seed = rng.choice(RIGHT_SEEDS)
            run.seed = int(seed)
            own["seed"] = (seed, seed)
        elif kind == "some" and rng.random() < 0.7:
            seed = rng.choice(WRONG_SEEDS)
            own["seed"] = (seed, seed)
        for key, (written, expected) in own.items():
            run.written[key] = str(written)
            if expected is not MISSING:
                run.settings[key] = expected
        run.points = recorded(rng)
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


def judge(path, runs, request=None, root=None, refusable=False):
    """Hold what is made of a file against the runs that were drawn. Return whether it was read.

    A refusal is right if no run is left, or if the file is damaged.
    """
    request = request or ImportRequest()
    good = runs
    if not any("seed" in run.settings for run in good):
        in_names = bool(good) and all(run.seed_of_name is not None for run in good)
        good = [replace(run, seed=run.seed_of_name if in_names else 0) for run in good]
    left = [run for run in good if run.seed is not None]
    try:
        found, notes = csv_table.read(path, request)
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
    names = {selection.telling}
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
        gone = len(good) - len(left)
        assert any(f"left out {gone} run" in note for note in notes) == bool(gone), notes
    if root is not None:
        ranks = request.metrics or RANKS
        measured_names = {name for run in good for name in run.metrics}
        primary = next((name for name in ranks if name in measured_names), None)
        read_back(root, path, selection, left, primary)
    return True


def read_back(root, path, selection, left, primary):
    """Hold the folders against the runs that were drawn."""
    from attnexp import load_results

    imports = Imports(root, "csv", str(path))
    assert [imports.write(each)[1] for each in selection] == ["new"] * len(left)
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


def refused(path, request):
    with pytest.raises(RequestError) as error:
        select(csv_table.read(path, request)[0], request)
    assert "\n" not in str(error.value)


@sized
def test_csv(place, inputs):
    read, path = 0, place / "runs.csv"
    for rng, root in each_input(place, "csv", inputs):
        runs = drawn_runs(rng)
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
            run.points = []
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
            refused(path, request)
            continue
        keys = {(run.seed, *[shown(run.settings.get(name)) for name in settings]) for run in runs}
        alike = not named and len(keys) < len(runs)
        unmeasured = {*metrics} - {name for run in runs for name in run.final}
        read += judge(path, runs, request, root, refusable=bool(alike or unmeasured))
    assert read > 0.5 * inputs


@sized
def test_charts_of_wandb(place, inputs):
    read, path = 0, place / "chart.csv"
    for rng, root in each_input(place, "chart", inputs):
        runs = [replace(run, settings={}, seed=None) for run in drawn_runs(rng)]
        names = [*dict.fromkeys(n for run in runs for _, values in run.points for n in values)]
        columns = [(run, name) for run in runs for name in names]
        rng.shuffle(columns)
        fault = rng.choice(["mean", "cell", "twice"]) if columns and rng.random() < 0.1 else None
        header = ["Step"]
        for run, name in columns:
            own = f"{runs[0].name if fault == 'twice' else run.name} - {name}"
            header += [own, f"{own}__MIN", f"{own}__MAX"]
        faulty = fault == "twice" and len(runs) > 1
        lines = []
        for step in sorted({step for run in runs for step, _ in run.points}):
            line = [str(step)]
            for run, name in columns:
                value = dict(run.points).get(step, {}).get(name)
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
        logged = [run for run in runs if run.points]
        if not is_table or faulty:
            refused(path, ImportRequest())
        elif logged:
            read += judge(path, logged, root=root)
    assert read > 0.4 * inputs
