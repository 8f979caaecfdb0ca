"""Command lines, YAML files and flags that nobody should write, drawn at random by a seed."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import yaml
from hostile_folders import spoiled

TESTS = Path(__file__).resolve().parent
CONF = TESTS.parent / "conf"
POINTS = TESTS / "data" / "points.csv"

GROUPS = ("model", "normalizer", "arch", "data", "task", "optim", "schedule", "train", "tracker")
TOP = (
    *("device", "precision", "threads", "graphs", "batched", "seed", "figures", "rerun"),
    *("fail_fast", "output_dir"),
)
HYDRA = (
    *("verbose", "mode", "output_subdir", "searchpath", "run.dir", "sweep.dir", "sweep.subdir"),
    *("job.name", "job.chdir", "job.env_set", "job_logging.root", "job_logging.version"),
    *("callbacks", "launcher", "launcher._target_", "sweeper", "sweeper.params", "overrides.task"),
    *("sweeper._target_", "help.app_name", "runtime.choices", "job.override_dirname", "job.num"),
)

DEEP = "[" * 900 + "]" * 900
NUMBERS = (
    *("3", "-3", "0", "1", "1.5", "-0.0", "1e-30", "1e30", "1e-320", "1e400", "nan", ".nan"),
    *("inf", "-.inf", "1e-9", "1e9", "0.999999999", "100000", "1000000000000", "2147483648"),
    *("9223372036854775808", "1" + 40 * "0", "-" + "9" * 400, "0x10", "1_000"),
)
VALUES = (
    *NUMBERS,
    *("true", "null", "abc", "''", "[]", "{}", "[1,2]", "[a,null]", "[1,[2]]", "[nan]", "[null]"),
    *("{a:{b:c}}", "{_target_:os.system}", "[{_target_:os.system}]", "???", "${seed}", "${model}"),
    *("${nowhere}", "${hydra:job.name}", "${oc.env:NOPE}", "${run_name:}", "${", "}", "$"),
    *("\x1b[2J\x1b]0;owned\x07", "a\nb", "\r\x08x", "\u202etxt", "\ufeff", "\u2028", "日本"),
    *("x" * 5000, DEEP, "(" * 300, "{a:" * 300 + "1" + "}" * 300, "[[[", "]", "{", ")"),
    *("range(3)", "choice(a,b)", "interval(0,1)", "glob(*)", "1,2", "sort(3,1)", "range(1e9)"),
    *("=", ":", "'", '"', "\\", "2020-01-01", "1:30", "~", "@", "a@b", "a/b", "../x", "/", ""),
    *("gaussian", "sine", "adam", "builtins.print", "os", "a.b.c", "attnexp.scores.dot.Dot"),
    *("builtins.dict", "torch.nn.Linear", "torch.optim.SGD", "cuda:99", "auto"),
)
SPECIALS = ("_target_", "_args_", "_partial_", "_convert_", "_recursive_", "_name_", "__init__")

FEW = ("data.num_train=40", "data.num_validation=8", "data.num_test=8")
BASES: tuple[tuple[str, ...], ...] = (
    (),
    ("model=additive",),
    ("model=gaussian",),
    ("model=dot", "arch.features=4"),
    ("data=sine_v1", "model=boxcar"),
    ("model=cosine", "arch.features=4", "arch.heads=2"),
    ("data=copy", *FEW),
    ("data=sort", "arch=transformer", "model=scaled_dot", *FEW),
    ("data=recall", "arch=decoder_only", "model=scaled_dot", *FEW),
    ("data=mqar", "arch=decoder_only", "model=dot", "data.vocab_size=50", *FEW),
    ("data=dates", "data.first_year=2000", "data.last_year=2001", "data.locales=[de]", *FEW),
    ("normalizer=sigmoid", "model=additive", "optim=adam"),
    ("optim=sgd", "schedule=cosine"),
    ("data=table", f"data.path={POINTS}", "data.x=[a,b]", 'data.y="c (m/s)"'),
)

FLAGS: tuple[tuple[str, ...], ...] = (
    *(("--cfg", each) for each in ("job", "hydra", "all", "nope", "")),
    *(("--info", each) for each in ("all", "defaults", "plugins", "nope")),
    *(("-p", each) for each in ("model", "nope", "", "\x1b[2J", "[1")),
    *(("--config-name", each) for each in ("nope", "../x", "config", "", "a\nb")),
    *(("--config-path", each) for each in ("nope", "/", "..")),
    *(("--config-dir", each) for each in ("nope", "/dev/null", "", ".", "x" * 5000)),
    *((each,) for each in ("--resolve", "--run", "--multirun", "-m", "--dry-run", "--version")),
    *((each,) for each in ("--hydra-help", "--help", "--nope", "-x", "--", "-", "")),
    *(("-sc", each) for each in ("install=bash", "query=bash", "nope", "")),
    *((each,) for each in ("results", "plot", "show", "decode", "report", "help", "run")),
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


def draw_case(seed: int) -> tuple[list[str], dict[str, bytes]]:
    """Draw a command line and the YAML files, by their path below `mine`, that it is about.

    Seven of ten are overrides, two YAML files, one flags.
    """
    draw = random.Random(f"settings {seed}")
    return draw.choices((mutated_words, mutated_file, mutated_flags), (7, 2, 1))[0](draw)


def mutated_words(draw: random.Random) -> tuple[list[str], dict[str, bytes]]:
    words = [*draw.choice(BASES), *(_override(draw) for _ in range(draw.choice((1, 1, 1, 2, 3))))]
    return ["-m", "--dry-run", *words] if draw.random() < 0.15 else words, {}


def mutated_flags(draw: random.Random) -> tuple[list[str], dict[str, bytes]]:
    words = [*draw.choice(FLAGS), *draw.choice(FLAGS), *draw.choice(BASES), _override(draw)]
    draw.shuffle(words)
    return words + ["--dry-run"] * bool({"-m", "--multirun"} & set(words)), {}


def _override(draw: random.Random) -> str:
    group, leaf = draw.choice(GROUPS), draw.choice(LEAVES)
    names = {
        group: 12,
        leaf: 45,
        draw.choice(TOP): 15,
        f"hydra.{draw.choice(HYDRA)}": 10,
        f"{group}.{draw.choice(SPECIALS)}": 6,
        draw.choice(("experiment", "hydra/launcher", "hydra/sweeper", "hydra/job_logging")): 4,
        f"{leaf}.{draw.choice(('x', '0', '_target_', ''))}": 3,
    }
    (name,) = draw.choices(list(names), list(names.values()))
    sign = draw.choice(("", "", "", "", "+", "++", "~"))
    value = draw.choice(NUMBERS if draw.random() < 0.4 else VALUES)
    word = f"{sign}{name}={value}"
    if draw.random() < 0.05:
        word = os.fsdecode(spoiled(draw, word.encode())).replace("\0", "")
    return word


HOSTILE_YAML: tuple[bytes, ...] = (
    *(b"3\n", b"text\n", b"null\n", b"- 1\n- 2\n", b"", b"a: [1, 2\n", b"\t- a", b"a: b: c\n"),
    *(b"---\n---\n", b"a: 1\na: 2\n", b"? [1, 2]\n: 3\n", b"1: 2\n", b"null: 1\n", b"a: *nope\n"),
    *(b"a: &a [*a]\n", b"data: &d {noise: *d}\n", DEEP.encode(), b"\xff\xfe\x00a"),
    *("seed: 1\n".encode("utf-16"), b"seed: \x00\n", b"a: \x1b[2J\n", b"a: 2020-13-45\n"),
    *(b"a: !!python/object/apply:os.system [x]\n", b"a: !foo bar\n", b"a: !!int x\n"),
    *(b"defaults: 3\n", b"defaults: [3]\n", b"defaults: [nope]\n", b"defaults: [mutated]\n"),
    *(b"defaults: [_self_, _self_]\n", b"defaults: [null]\n", b"defaults: {a: b}\n"),
    *(b"defaults: [{override /model: nope}]\n", b"defaults: [{override /model: [dot]}]\n"),
    *(b"# @package 3\nseed: 1\n", b"# @package a.b.c\nseed: 1\n", b"# @package [\n"),
    *(b"# @package hydra\nverbose: 3.7\n", b"seed: " + b"9" * 10_000 + b"\n"),
    *(b"seed: ${seed}\n", b"seed: ${threads}\nthreads: ${seed}\n", b"data: ${model}\n"),
    *(b"model: 3\n", b"data: null\n", b"arch: []\n", b"hydra: 3\n", b"hydra: {sweeper: 3}\n"),
    *(b"hydra: {sweeper: {params: {3: x}}}\n", b"model: {_target_: 3}\n"),
    *(b"model: {_args_: [1]}\n", b"data: {noise: .nan}\n", b"data: {num_train: 1e12}\n"),
)


def mutated_file(draw: random.Random) -> tuple[list[str], dict[str, bytes]]:
    """A configuration folder with one damaged file, and a command line that reads it."""
    content = draw.choice(HOSTILE_YAML)
    if draw.random() < 0.4:
        content = spoiled(draw, draw.choice(sorted(CONF.glob("*/*.yaml"))).read_bytes())
    package = b"" if draw.random() < 0.5 or content.startswith(b"# @") else b"# @package _global_\n"
    group = draw.choice(("experiment", "experiment", "experiment", *GROUPS[:4], "optim", "train"))
    words = ["--config-dir", "mine", f"{group}=mutated", *draw.choice(BASES[:4])]
    more = draw.choice(([], [], [], [], [], [], [], ["--help"], ["-m", "--dry-run"]))
    return [*more, *words], {f"{group}/mutated.yaml": package + content}


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write the YAML files of a case below `mine`."""
    for name, content in files.items():
        path = folder / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def as_line(words: Sequence[str]) -> str:
    """A command line for a message about a failure, shortened."""
    return " ".join(repr(word)[:120] for word in words)
