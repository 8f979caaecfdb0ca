"""Command lines, YAML files and flags that nobody should write, drawn at random by a seed."""

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

TESTS = Path(__file__).resolve().parent
CONF = TESTS.parent / "conf"
POINTS = TESTS / "data" / "points.csv"

GROUPS = ("model", "normalizer", "arch", "data", "task", "optim", "schedule", "train", "tracker")
TOP = (
    *("device", "precision", "threads", "batched", "seed", "figures", "rerun"),
    *("fail_fast", "output_dir"),
)
HYDRA = (
    *("verbose", "mode", "output_subdir", "searchpath", "run", "run.dir", "sweep.dir"),
    *("sweep.subdir", "sweep", "job", "job.name", "job.chdir", "job.env_set", "job.env_copy"),
    *("job.config.override_dirname.kv_sep", "job_logging", "job_logging.root", "callbacks"),
    *("job_logging.handlers", "job_logging.version", "job_logging.disable_existing_loggers"),
    *("hydra_logging", "launcher", "sweeper", "sweeper.params", "sweeper._target_", "overrides"),
    *("launcher._target_", "help", "help.app_name", "runtime", "runtime.choices", "overrides.task"),
    *("env", "hydra_help", "job.override_dirname", "job.num"),
)

DEEP = "[" * 900 + "]" * 900
NUMBERS = (
    *("3", "-3", "0", "1", "2", "7", "1.5", "-0.0", "1e-30", "1e30", "1e-320", "1e400", "1e15"),
    *("nan", ".nan", "-.nan", "inf", "-inf", ".inf", "1e-9", "1e9", "0.999999999", "1e-45"),
    *("1000000000000", "100000", "1000000", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "1" + 40 * "0", "-" + "9" * 400, "0x10", "1_000", "0b11", "1e5"),
)
VALUES = (
    *NUMBERS,
    *("true", "false", "null", "abc", "''", "[]", "{}", "[1,2]", "[a,null]", "[1,[2]]", "[nan]"),
    *("[de,3]", "[null]", "{a:1}", "{a:{b:c}}", "{_target_:os.system}", "[{_target_:os.system}]"),
    *("???", "${seed}", "${nowhere}", "${model}", "${data}", "${hydra:job.name}", "${hydra:}"),
    *("${oc.env:NOPE}", "${oc.env:HOME}", "${run_name:}", "${", "}", "${oc.decode:'[1'}", "$"),
    *("\x1b[2J\x1b]0;owned\x07", "a\nb", "\r\x08x", "\u202etxt", "\x9b31m", "\ufeff", "\u2028"),
    *(
        "x" * 5000,
        "é",
        "日本",
        DEEP,
        "(" * 300,
        "{a:" * 300 + "1" + "}" * 300,
        "[[[",
        "]",
        "{",
        ")",
    ),
    *("range(3)", "choice(a,b)", "interval(0,1)", "glob(*)", "1,2", "int(3)", "str(3)", "float(x)"),
    *("sort(3,1)", "shuffle(1,2)", "tag(a,1)", "range(0,1,0)", "range(1e9)", "bool(7)", ")"),
    *("=", "==1", ":", "'", '"', "\\", "2020-01-01", "1:30", "~", "@", "a@b", "a/b", "../x", "/"),
    *("gaussian", "dot", "sine", "reverse", "adam", "builtins.print", "os", "os.path", "a.b.c", ""),
    *("attnexp.scores.dot.Dot", "attnexp.data.sine.Sine", "builtins.dict", "torch.nn.Linear"),
    *("collections.OrderedDict", "torch.optim.SGD", "torch.optim.adam.Adam", "cuda:99", "auto"),
)
SPECIALS = ("_target_", "_args_", "_partial_", "_convert_", "_recursive_", "_name_", "__init__")

BASES: tuple[tuple[str, ...], ...] = (
    (),
    ("model=additive",),
    ("model=gaussian",),
    ("model=dot", "arch.features=4"),
    ("model=average",),
    ("data=sine_v1", "model=boxcar"),
    ("model=cosine", "arch.features=4", "arch.heads=2"),
    ("data=copy", "data.num_train=40", "data.num_validation=8", "data.num_test=8"),
    (
        *("data=sort", "arch=transformer", "model=scaled_dot", "data.num_train=40"),
        *("data.num_validation=8", "data.num_test=8"),
    ),
    (
        *("data=recall", "arch=decoder_only", "model=scaled_dot", "data.num_train=40"),
        *("data.num_validation=8", "data.num_test=8"),
    ),
    (
        *("data=mqar", "arch=decoder_only", "model=dot", "data.num_train=40", "data.length=32"),
        *("data.num_validation=8", "data.num_test=8", "data.vocab_size=50", "data.max_pairs=4"),
    ),
    (
        *("data=dates", "data.num_train=40", "data.num_validation=8", "data.num_test=8"),
        *(
            "data.first_year=2000",
            "data.last_year=2001",
            "data.formats=[long]",
            "data.locales=[de]",
        ),
    ),
    ("normalizer=topk", "model=additive"),
    ("normalizer=sigmoid", "model=additive", "optim=adam"),
    ("optim=sgd", "schedule=cosine"),
    ("data=nile", "model.per_dimension=true"),
    ("data=table", f"data.path={POINTS}", "data.x=[a,b]", 'data.y="c (m/s)"'),
)

FLAGS: tuple[tuple[str, ...], ...] = (
    *(("--cfg", each) for each in ("job", "hydra", "all", "nope", "")),
    *(("--info", each) for each in ("all", "config", "defaults", "plugins", "nope", "searchpath")),
    *(("-p", each) for each in ("model", "nope", "a.b", "", "\x1b[2J")),
    *(("--package", each) for each in ("hydra", "1", "[1")),
    *(("--config-name", each) for each in ("nope", "../x", "config", "model/dot", "", "a\nb")),
    *(("--config-path", each) for each in ("nope", "/", "..")),
    *(("--config-dir", each) for each in ("nope", "/dev/null", "", ".", "\x1b[2J", "x" * 5000)),
    *((each,) for each in ("--resolve", "--run", "--multirun", "-m", "--dry-run", "--version")),
    *((each,) for each in ("--hydra-help", "--help", "-h", "--nope", "-x", "--", "-", "---", "")),
    *(("-sc", each) for each in ("install=bash", "query=bash", "nope", "")),
    *((each,) for each in ("results", "plot", "show", "decode", "report", "help", "run", "sweep")),
    ("--experimental-rerun", "x"),
)


def leaves_of_conf() -> list[str]:
    """The dotted paths of all settings inside groups."""
    found = set()
    for group in GROUPS:
        for path in sorted((CONF / group).glob("*.yaml")):
            content = yaml.safe_load(path.read_text()) or {}
            found |= {f"{group}.{key}" for key in content if key not in ("defaults",)}
    return sorted(found)


LEAVES = leaves_of_conf()
CHOICES = [
    f"{group}={path.stem}" for group in GROUPS for path in sorted((CONF / group).glob("*.yaml"))
]


@dataclass(frozen=True)
class Case:
    """A command line and the YAML files, by their path below `mine`, that it is about."""

    words: tuple[str, ...]
    files: dict[str, bytes]


def draw_case(seed: int) -> Case:
    """The case of a seed: seven of ten are overrides, two YAML files, one flags."""
    draw = random.Random(f"settings {seed}")
    kind = draw.random()
    if kind < 0.7:
        words, files = mutated_words(draw), {}
    elif kind < 0.9:
        words, files = mutated_file(draw)
    else:
        words, files = mutated_flags(draw), {}
    return Case(tuple(words), files)


def mutated_words(draw: random.Random) -> list[str]:
    words = list(draw.choice(BASES))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        words.append(_override(draw))
    if draw.random() < 0.15:
        words = ["-m", "--dry-run", *words]
    if draw.random() < 0.05:
        draw.shuffle(words)
    return words


def _override(draw: random.Random) -> str:
    kind = draw.random()
    sign = draw.choice(("", "", "", "", "+", "++", "~"))
    if kind < 0.12:
        name = draw.choice(GROUPS)
    elif kind < 0.55:
        name = draw.choice(LEAVES)
    elif kind < 0.7:
        name = draw.choice(TOP)
    elif kind < 0.8:
        name = f"hydra.{draw.choice(HYDRA)}"
    elif kind < 0.86:
        name, sign = f"{draw.choice(GROUPS)}.{draw.choice(SPECIALS)}", draw.choice(("+", "++", ""))
    elif kind < 0.9:
        return draw.choice(CHOICES)
    elif kind < 0.94:
        name = draw.choice(("experiment", "hydra/launcher", "hydra/sweeper", "hydra/job_logging"))
    elif kind < 0.97:
        name = f"{draw.choice(LEAVES)}.{draw.choice(('x', '0', '_target_', ''))}"
    else:
        return _garbage(draw)
    value = draw.choice(NUMBERS if draw.random() < 0.4 else VALUES)
    word = f"{sign}{name}={value}"
    return _scrambled(draw, word) if draw.random() < 0.05 else word


def _garbage(draw: random.Random) -> str:
    letters = string.printable + "\x1b\x00é\u202e日"
    return "".join(draw.choices(letters, k=draw.randrange(1, 40))).replace("\x00", "")


def _scrambled(draw: random.Random, word: str) -> str:
    letters = list(word)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(letters))
        letters[at] = draw.choice(["", "=", ".", "\x1b", "[", "'", "$", letters[at] * 2])
    return "".join(letters) or "x"


def mutated_flags(draw: random.Random) -> list[str]:
    words: list[str] = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        words += draw.choice(FLAGS)
    if draw.random() < 0.5:
        words += draw.choice(BASES)
    if draw.random() < 0.3:
        words.append(_override(draw))
    if draw.random() < 0.2:
        draw.shuffle(words)
    if {"-m", "--multirun"} & set(words):
        words.append("--dry-run")
    return words


def laughs(levels: int = 12, width: int = 10) -> str:
    """A YAML file whose aliases make 10^12 entries of it."""
    lines = ["a0: &a0 [" + ", ".join(["ha"] * width) + "]"]
    lines += [
        f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * width) + "]" for i in range(1, levels + 1)
    ]
    return "\n".join(lines) + "\n"


HOSTILE_YAML: tuple[bytes, ...] = (
    *(b"3\n", b"3.5\n", b"text\n", b"null\n", b"true\n", b"- 1\n- 2\n", b"", b"\n\n", b"# only\n"),
    *(b"a: [1, 2\n", b"a: {b\n", b"\t- a", b"a: b: c\n", b"%YAML 9.9\n---\na: 1\n", b"---\n---\n"),
    *(b"a: 1\n---\nb: 2\n", b"a: 1\na: 2\n", b"? [1, 2]\n: 3\n", b"1: 2\n", b"null: 1\n"),
    *(b"a: &a [*a]\n", b"a: &a {b: *a}\n", b"&a [*a]\n", b"data: &d {noise: *d}\n", b"a: *nope\n"),
    *(laughs().encode(), b"data: {locales: " + DEEP.encode() + b"}\n", DEEP.encode()),
    *(b"[" * 100_000, b"{a: " * 3000, b"- " * 20_000, b"a:\n" + b" " * 10 + b"b: 1\n  c: 2\n"),
    *(b"\xff\xfe\x00a", b"\xefn: caf\xe9\n", "﻿seed: 1\n".encode(), "seed: 1\n".encode("utf-16")),
    *(
        b"seed: \x00\n",
        b"a: \x1b[2J\n",
        b'"\\e[2J": 1\n',
        b"a: !!python/object/apply:os.system [x]\n",
    ),
    *(b"a: !!binary x\n", b"a: !foo bar\n", b"a: !!set {x}\n", b"a: 2020-13-45\n", b"a: !!int x\n"),
    *(b"defaults: 3\n", b"defaults: [3]\n", b"defaults: [{a: {b: c}}]\n", b"defaults: [nope]\n"),
    *(b"defaults: [_self_, _self_]\n", b"defaults: [null]\n", b"defaults: {a: b}\n"),
    *(b"defaults: [{override /model: nope}]\n", b"defaults: [{override /nope: dot}]\n"),
    *(b"defaults: [{override /model: [dot]}]\n", b"defaults: [{override /model: null}]\n"),
    *(b"defaults: [mutated]\n", b"defaults: [/experiment/mutated]\n", b"defaults: ['']\n"),
    *(
        b"# @package\n",
        b"# @package 3\nseed: 1\n",
        b"# @package a.b.c\nseed: 1\n",
        b"# @package [\n",
    ),
    *(b"# @package hydra\nverbose: 3.7\n", b"seed: " + b"9" * 10_000 + b"\n", b"x" * 3_000_000),
    *(b"seed: ${seed}\n", b"seed: ${threads}\nthreads: ${seed}\n", b"data: ${model}\n"),
    *(b"model: 3\n", b"data: null\n", b"train: true\n", b"arch: []\n", b"hydra: 3\n"),
    *(b"hydra: {sweeper: 3}\n", b"hydra: {sweeper: {params: 3}}\n", b"hydra: null\n"),
    *(b"hydra: {sweeper: {params: {model: 3}}}\n", b"hydra: {sweeper: {params: {3: x}}}\n"),
    *(b"model: {_target_: 3}\n", b"model: {_args_: [1]}\n", b"data: {noise: .inf}\n"),
    *(b"data: {noise: .nan}\n", b"data: {num_train: 1e12}\n", b"data: {high: 1.0e-30}\n"),
    b"a: &a [x, x]\n" + b"".join(b"k%d: *a\n" % i for i in range(30_000)),
)


def mutated_file(draw: random.Random) -> tuple[list[str], dict[str, bytes]]:
    """A configuration folder with one damaged file, and a command line that reads it."""
    content = draw.choice(HOSTILE_YAML)
    if draw.random() < 0.4:
        content = _damaged(draw, _good_yaml(draw))
    package = b"" if draw.random() < 0.5 or content.startswith(b"# @") else b"# @package _global_\n"
    group = draw.choice(("experiment", "experiment", "experiment", *GROUPS[:4], "optim", "train"))
    words = ["--config-dir", "mine", f"{group}=mutated", *draw.choice(BASES[:4])]
    if draw.random() < 0.1:
        words = ["--help", "--config-dir", "mine"]
    elif draw.random() < 0.2:
        words = ["-m", "--dry-run", *words]
    return words, {f"{group}/mutated.yaml": package + content}


def _good_yaml(draw: random.Random) -> bytes:
    files = sorted(CONF.glob("*/*.yaml"))
    return draw.choice(files).read_bytes()


def _damaged(draw: random.Random, content: bytes) -> bytes:
    letters = bytearray(content or b"a: 1\n")
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(letters))
        kind = draw.random()
        if kind < 0.3:
            letters[at] = draw.randrange(256)
        elif kind < 0.5:
            letters[at : at + draw.randrange(1, 20)] = b""
        elif kind < 0.9:
            value = draw.choice(VALUES).encode()
            end = letters.find(b"\n", at)
            colon = letters.rfind(b": ", 0, end)
            if colon >= 0:
                letters[colon + 2 : end] = value
        else:
            letters[at:at] = draw.choice((b"\t", b"- ", b"{", b"[", b"'", b"&a ", b"*a ", b"!!x "))
        if not letters:
            letters = bytearray(b"a: 1\n")
    return bytes(letters)


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write the YAML files of a case below `mine`."""
    for name, content in files.items():
        path = folder / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def as_line(words: Sequence[str]) -> str:
    """A command line for a message about a failure, shortened."""
    return " ".join(repr(word)[:120] for word in words)
