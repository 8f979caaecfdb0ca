"""Run folders that are damaged, strange or made to harm, drawn at random by a seed."""

import json
import os
import random
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SUMMARY, METRICS, PREDICTIONS = "summary.json", "metrics.csv", "predictions.csv"
TENSORS = ("attention.safetensors", "attention_snapshots.safetensors", "model.safetensors")
RECORDS = (".hydra/overrides.yaml", ".hydra/hydra.yaml", ".hydra/config.yaml")
OTHERS = ("figures", ".lock", ".lease", "checkpoint.safetensors", "attnexp.log")
FILES = (SUMMARY, METRICS, PREDICTIONS, *TENSORS, *RECORDS, *OTHERS)
PLAN = ".plans/plan.json"

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


def draw_damage(seed: int) -> tuple[random.Random, bytes]:
    """The generator of a seed, and the name of the damaged folder."""
    draw = random.Random(f"folder {seed}")
    return draw, draw.choice(NAMES)


def damage(draw: random.Random, folder: Path) -> list[str]:
    """Damage a run folder in one to three places, and return what was done."""
    done = []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        name = draw.choice((SUMMARY, SUMMARY, METRICS, PREDICTIONS, *TENSORS[:2], *FILES))
        path = folder / name
        if draw.random() < 0.25:
            kind = draw.choice(sorted(PLACES))
            replace(path, PLACES[kind])
        elif draw.random() < 0.3:
            kind = "bytes"
            _bytes(draw, path)
        else:
            kind = "content"
            _content(draw, path)
        done.append(f"{kind} {name}")
    return done


def damage_plan(draw: random.Random, outputs: Path) -> list[str]:
    """Put a plan of a sweep into an output folder, most often one that is damaged."""
    path = outputs / PLAN
    path.parent.mkdir(exist_ok=True)
    kind = draw.choice((*sorted(PLACES), "content", "content", "bytes", "bytes"))
    if kind == "content":
        jobs = draw.choice(([draw.choice(TEXTS), "run"], draw.choice(JUNK)))
        path.write_text(json.dumps(draw.choice(({"jobs": jobs}, {"jobs": jobs, "x": 1}, jobs))))
    elif kind == "bytes":
        path.write_text('{"jobs": ["run", "other"]}')
        _bytes(draw, path)
    else:
        replace(path, PLACES[kind])
    return [f"{kind} {PLAN}"]


def replace(path: Path, make: Callable[[Path], None]) -> None:
    """Put something else in the place of a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


def _sparse(path: Path, head: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(head)
        file.truncate(2**40)


def _claimed(path: Path) -> None:
    """A file of tensors that says it holds a terabyte, and has one of nothing."""
    size = 2**40
    header = json.dumps(
        {"weights.pooling": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}
    ).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


PLACES: dict[str, Callable[[Path], None]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "socket": _socket,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "random": lambda path: path.symlink_to("/dev/urandom"),
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": lambda path: path.symlink_to(path.name),
    "root": lambda path: path.symlink_to("/"),
    "sparse": _sparse,
    "sparse text": lambda path: _sparse(path, b"epoch,loss\n1,2\n"),
    "sparse object": lambda path: _sparse(path, b'{"schema": 1,'),
    "claimed": _claimed,
    "deep": lambda path: path.write_bytes(b"[" * 900 + b"]" * 900),
    "deeper": lambda path: path.write_bytes(b'{"config":' * 100_000),
    "latin": lambda path: path.write_bytes("épöch,löss\n1,2\n".encode("latin-1")),
    "utf-16": lambda path: path.write_bytes("epoch,loss\n1,2\n".encode("utf-16")),
    "marked": lambda path: path.write_bytes(b"\xef\xbb\xbfepoch,loss\n1,2\n"),
    "wide": lambda path: path.write_bytes(b"epoch,loss\n1," + b"x" * 200_000 + b"\n"),
    "nul": lambda path: path.write_bytes(b"epoch,loss\n1,\x002\n"),
    "quote": lambda path: path.write_bytes(b'epoch,loss\n1,"2\n' + b"3,4\n" * 1000),
    "steering": lambda path: path.write_text(f"epoch,{STEERING}\n1,2\n2,1\n"),
    "columns": lambda path: path.write_text(",".join(f"c{i}_loss" for i in range(500)) + "\n"),
}


def _bytes(draw: random.Random, path: Path) -> None:
    """Cut, flip, repeat or insert bytes of a file."""
    if not path.is_file() or path.stat().st_size > 2**24:
        return
    content = bytearray(path.read_bytes() or b" ")
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(content))
        kind = draw.random()
        if kind < 0.2:
            del content[at:]
        elif kind < 0.6:
            content[at] = draw.randrange(256)
        elif kind < 0.75:
            del content[at : at + draw.randrange(1, 30)]
        elif kind < 0.9:
            content[at:at] = bytes(draw.choices(b'\x00\xff"{}[],:\n\r\x1b9eE-', k=3))
        else:
            content = bytearray(b"\xef\xbb\xbf") + content
        content = content or bytearray(b" ")
    path.write_bytes(content)


def _content(draw: random.Random, path: Path) -> None:
    """Change what a file means, where it still is what it was: JSON, a table or tensors."""
    from safetensors import SafetensorError

    if not path.is_file() or path.stat().st_size > 2**24:
        return
    try:
        if path.name == SUMMARY:
            _json(draw, path)
        elif path.suffix == ".csv":
            _table(draw, path)
        elif path.suffix == ".safetensors":
            _tensors(draw, path)
        elif path.suffix == ".yaml":
            path.write_text(
                draw.choice(
                    (
                        *("- &a [*a]\n", "3\n", "- 3\n", "- [seed=1]\n", "- 'seed=\x07'\n", "{}\n"),
                        *('- "model=\\e[2J"\n', "- ''\n", "- '='\n", "hydra: {runtime: 3}\n"),
                        "hydra: {runtime: {config_sources: [{path: 3, provider: command-line}]}}\n",
                        "hydra: {runtime: {config_sources: [command-line]}}\n",
                        "- &a [x, x]\n" + "".join(f"- &a{i} [*a, *a]\n" for i in range(9)),
                    )
                )
            )
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
    kind = draw.randrange(9)
    column = draw.randrange(len(rows[0]))
    row = draw.randrange(1, len(rows))
    values = ("", "x", "nan", "inf", "-inf", "1e999", "-1", "0", "1e300", "1e-300", "0x1", *TEXTS)
    if kind < 3:
        rows[row][column] = draw.choice(values)
    elif kind == 3:
        rows[0][column] = draw.choice((*TEXTS, "epoch", "x", "loss", "val_loss"))
    elif kind == 4:
        rows = [line[:column] + line[column + 1 :] for line in rows]
    elif kind == 5:
        rows[row] = rows[row] * 2
    elif kind == 6:
        rows = [rows[0], *draw.sample(rows[1:], draw.randrange(len(rows)))]
    elif kind == 7:
        rows = [rows[0], *([draw.choice(values) for _ in line] for line in rows[1:])]
    else:
        for line in rows[1:]:
            line[column] = draw.choice(values)
    path.write_text("\n".join(",".join(line) for line in rows) + "\n")


def _tensors(draw: random.Random, path: Path) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(path, framework="numpy") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata() or {})
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(sorted(arrays))
        kind = draw.randrange(10)
        array = arrays[name]
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            arrays[draw.choice((*TEXTS, "weights.", "weights.cross", "weights.x", "asked"))] = array
        elif kind == 2:
            arrays[name] = _reshaped(draw, array)
        elif kind == 3:
            with np.errstate(invalid="ignore"):
                arrays[name] = array.astype(draw.choice(("f2", "i1", "?", "u1", "f8", "i8")))
        elif kind == 4:
            arrays[name] = np.full_like(array, draw.choice((0, 1, -1, 99)))
        elif kind == 5 and array.dtype.kind == "f":
            arrays[name] = np.full_like(array, draw.choice((np.nan, np.inf, -np.inf, 1e30, -5)))
        elif kind == 6:
            axis = draw.randrange(max(array.ndim, 1))
            if array.ndim:
                arrays[name] = array.take(range(draw.randrange(array.shape[axis] + 1)), axis)
        elif kind == 7:
            content = json.loads(metadata.get("attnexp", "{}"))
            if content:
                content[draw.choice(sorted(content))] = draw.choice(JUNK)
            metadata["attnexp"] = json.dumps(content)
        elif kind == 8:
            metadata["attnexp"] = draw.choice(("", "3", "[]", "{", "[" * 2000, "null", '"x"'))
        else:
            metadata = {}
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(arrays, path, metadata=metadata)
    if draw.random() < 0.1:
        renamed = path.read_bytes().replace(b'"F16"', b'"BF16"').replace(b'"F32"', b'"U32"')
        path.write_bytes(renamed)


def _reshaped(draw: random.Random, array: Any) -> Any:
    return draw.choice(
        (
            array.ravel,
            lambda: array[None],
            lambda: array[..., None],
            lambda: array.reshape(-1, 1),
            lambda: np.zeros((), array.dtype),
            lambda: array.T,
            lambda: np.zeros((0, *array.shape[1:]), array.dtype),
            lambda: np.repeat(array, 2, axis=0) if array.ndim else array,
        )
    )()


def verbs(draw: random.Random, run: str, outputs: str) -> list[list[str]]:
    """Command lines that read a run and those beside it; pictures take long: one in three."""
    forms = ("table", "csv", "markdown", "latex", "json", "html")
    lines = [
        ["results", outputs, "--format", draw.choice(forms)],
        ["results", outputs, "--runs", "--format", draw.choice(forms)],
        ["show", f"./{run}" if run.startswith("-") else run],
        ["report", outputs, "--output", "page.html"],
        ["decode", run, "3 1"],
        ["status", outputs, "--format", draw.choice(("table", "json"))],
    ]
    if draw.random() < 0.3:
        kind = draw.choice(("fit", "attention", "loss", "growth", "lengths", "difference"))
        where = draw.choice((run, outputs, outputs))
        every = [] if draw.random() < 0.3 else ["--kind", kind]
        lines.append(["plot", where, "--output", "pictures", *every])
    if draw.random() < 0.2:
        option = draw.choice(("--example", "--layer", "--head", "--attention", "--metric"))
        lines.append(
            ["show", run, option, draw.choice(("1", "2", "0", "99", "x", "cross", "loss"))]
        )
    if draw.random() < 0.1:
        lines.append(["results", outputs, "--by", draw.choice(("model", "data", "seed", "x"))])
    if draw.random() < 0.2:
        lines.append(["notebook", draw.choice((run, outputs)), "--output", "n.ipynb"])
    if draw.random() < 0.1:
        lines.append(["attend", "--run", run, "--queries", "0,1", "--keys", "0,1,2"])
    return lines
