"""Run folders that are damaged, strange or made to harm, drawn at random by a seed."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SUMMARY, METRICS, PREDICTIONS = "summary.json", "metrics.csv", "predictions.csv"
TENSORS = ("attention.safetensors", "attention_snapshots.safetensors", "model.safetensors")
OTHERS = ("figures", ".lock", ".lease", "checkpoint.safetensors", "attnexp.log")
FILES = (SUMMARY, METRICS, PREDICTIONS, *TENSORS, *OTHERS)

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
TEXTS = ("", "x", "=HYPERLINK(1)", "@SUM(1)", "-1+1", STEERING, "a\nb", "é", "x" * 3000, "../../x")
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 3, 2**70, 1e308, -0.0, 1.5, [], {}, [1], [None], {"a": 1}),
    *({"": {}}, [[[]]], {"a": {"b": {"c": [1, {"d": None}]}}}, *TEXTS),
)
NAMES: tuple[bytes, ...] = (
    *(b"run", b"run", b"run", b"run", b"a\nb", b"\x1b[2J", b"\xff\xfe", b"x" * 200, b"=cmd()"),
    *(b"-x", b" ", "é\u202e".encode(), b"[bold]", b"{0}", b"%s", b"a b", b"'\"", b"\xc2\x9b31m"),
)

LEASES = (
    *("", "filelock/2\n", "x" * 3000),
    f"filelock/2\npid=1\nhost={STEERING}\nmode=lease\ntoken=ab\nduration=9e99\n",
)
"""Contents of the file that says who holds a folder."""


def draw_damage(seed: int) -> tuple[random.Random, bytes]:
    """The generator of a seed, and the name of the damaged folder."""
    draw = random.Random(f"folder {seed}")
    return draw, draw.choice(NAMES)


def damage(draw: random.Random, folder: Path, plan: Path) -> list[str]:
    """Damage a run folder in one to three places, and return what was done.

    In one of three cases the plan of a sweep is damaged, too, and in one of five the run has not
    ended, so that readers look who holds its folder.
    """
    names = (SUMMARY, SUMMARY, METRICS, PREDICTIONS, *TENSORS[:2], *FILES)
    paths = [folder / draw.choice(names) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
    if draw.random() < 0.2:
        leave_running(folder, draw.choice(LEASES))
        paths.append(folder / draw.choice((".lock", ".lock", ".lease")))
    if draw.random() < 0.35:
        plan.parent.mkdir()
        plan.write_text('{"jobs": ["run", "other"]}')
        paths.append(plan)
    return [f"{_damaged(draw, path)} {path.name}" for path in paths]


def leave_running(folder: Path, lease: str = "") -> None:
    """Make a run one that has not ended, with a lease."""
    summary = json.loads((folder / SUMMARY).read_text())
    (folder / SUMMARY).write_text(json.dumps({**summary, "status": "running"}))
    (folder / ".lease").write_text(lease)


def _damaged(draw: random.Random, path: Path) -> str:
    """Damage a file, and return how."""
    if draw.random() < 0.25:
        kind = draw.choice(sorted(PLACES))
        replace(path, PLACES[kind])
        return kind
    if not path.is_file() or path.stat().st_size > 2**24:
        return "nothing"
    if draw.random() < 0.3:
        path.write_bytes(spoiled(draw, path.read_bytes()))
        return "bytes"
    _change(draw, path)
    return "content"


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


PLACES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": lambda path: path.symlink_to(path.name),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "sparse": lambda path: (path.touch(), os.truncate(path, 2**42)),
    "deeper": lambda path: path.write_bytes(b'{"config":' * 100_000),
    "latin": lambda path: path.write_bytes("épöch,löss\n1,2\n".encode("latin-1")),
    "utf-16": lambda path: path.write_bytes("epoch,loss\n1,2\n".encode("utf-16")),
    "marked": lambda path: path.write_bytes(b"\xef\xbb\xbfepoch,loss\n1,2\n"),
    "nul": lambda path: path.write_bytes(b"epoch,loss\n1,\x002\n"),
    "steering": lambda path: path.write_text(f"epoch,{STEERING}\n1,2\n2,1\n"),
}


def spoiled(draw: random.Random, content: bytes) -> bytes:
    """Bytes that are cut, changed or repeated in one to four places."""
    letters = bytearray(content or b" ")
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(letters))
        inserted = bytes(draw.choices(b'\x00\xff"{}[],:\n\r\x1b9eE-', k=3))
        end, put = draw.choice(
            (
                (len(letters), b""),
                (at + draw.randrange(1, 30), b""),
                (at, inserted),
                (at, b"\xef\xbb\xbf"),
                *[(at + 1, bytes([draw.randrange(256)]))] * 3,
            )
        )
        letters[at:end] = put
        letters = letters or bytearray(b" ")
    return bytes(letters)


def _change(draw: random.Random, path: Path) -> None:
    """Change what a file means, where it still is what it was: JSON, a table or tensors."""
    from safetensors import SafetensorError

    change = {".json": _json, ".csv": _table, ".safetensors": _tensors}.get(path.suffix)
    try:
        if change is not None:
            change(draw, path)
    except (ValueError, LookupError, RecursionError, TypeError, SafetensorError):
        return  # an earlier damage left nothing to change


def _json(draw: random.Random, path: Path) -> None:
    content = json.loads(path.read_text())
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        node, key = _place(draw, content)
        kind = draw.random()
        if kind < 0.2:
            del node[key]
        elif kind < 0.8 or not isinstance(node, dict):
            node[key] = draw.choice(JUNK)
        elif kind < 0.9:
            node[draw.choice(TEXTS)] = node.pop(key)
        else:
            node[draw.choice((*TEXTS, "seed", "model", "epoch"))] = draw.choice(JUNK)
    path.write_text(json.dumps(content, ensure_ascii=draw.random() < 0.5))


def _place(draw: random.Random, content: Any) -> tuple[Any, Any]:
    """A container inside JSON, and a key or index of it."""
    node = content
    while True:
        key = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        inside = node[key]
        if not isinstance(inside, dict | list) or not inside or draw.random() < 0.3:
            return node, key
        node = inside


def _table(draw: random.Random, path: Path) -> None:
    rows = [line.split(",") for line in path.read_text().splitlines()]
    row, column = draw.randrange(len(rows)), draw.randrange(len(rows[0]))
    values = ("", "x", "nan", "inf", "1e999", "-1", "0", "1e300", "1e-300", "epoch", "loss", *TEXTS)
    kind = draw.randrange(4)
    if kind == 0:
        rows = [line[:column] + line[column + 1 :] for line in rows]
    elif kind == 1:
        rows = [rows[0] * 2, *draw.sample(rows[1:], draw.randrange(len(rows)))]
    else:
        changed = rows[1:] if kind == 2 else rows[row : row + 1]
        for line in changed:
            line[column] = draw.choice(values)
    path.write_text("\n".join(",".join(line) for line in rows) + "\n")


def _tensors(draw: random.Random, path: Path) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(path, framework="numpy") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata() or {})
    name = draw.choice(sorted(arrays))
    array = arrays.pop(name)
    changes = (
        array.ravel(),
        array[None],
        array.T,
        np.zeros((0, *array.shape[1:]), array.dtype),
        np.full_like(array, draw.choice((0, 1, -1, 99))),
        array.astype(float) * draw.choice((np.nan, 1e30)),
    )
    if draw.random() < 0.9:
        arrays[draw.choice((name, name, "weights.x"))] = np.ascontiguousarray(draw.choice(changes))
    if draw.random() < 0.3:
        metadata["attnexp"] = draw.choice(("", "3", "[]", "{", "null", '"x"'))
    save_file(arrays, path, metadata=metadata)


def verbs(draw: random.Random, run: str, outputs: str) -> list[list[str]]:
    """Command lines that read a run and those beside it; pictures take long: one in three."""
    forms = ("table", "csv", "markdown", "latex", "json")
    lines = [
        ["results", outputs, "--format", draw.choice(forms)],
        ["results", outputs, "--runs", "--format", draw.choice(forms)],
        ["show", f"./{run}" if run.startswith("-") else run],
        ["report", outputs, "--output", "page.html"],
        ["decode", run, "3 1"],
        ["status", outputs, "--format", draw.choice(("table", "json"))],
    ]
    if draw.random() < 0.3:
        kind = draw.choice(("fit", "attention", "loss", "growth", "lengths"))
        where = draw.choice((run, outputs, outputs))
        every = [] if draw.random() < 0.3 else ["--kind", kind]
        lines.append(["plot", where, "--output", "pictures", *every])
    option = draw.choice(("--example", "--layer", "--head", "--attention", "--metric"))
    seldom = (
        ["diff", run, draw.choice((run, "1"))],
        ["show", run, option, draw.choice(("1", "2", "0", "99", "x", "cross", "loss"))],
        ["results", outputs, "--by", draw.choice(("model", "data", "seed", "x"))],
        ["attend", "--run", run, "--queries", "0,1", "--keys", "0,1,2"],
    )
    return [*lines, *draw.sample(seldom, draw.randrange(3))]
