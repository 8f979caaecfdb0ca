"""Every command of the documents is one: parsed or composed here, executed by `make test-all`.

The course's chapters and exercises, and probes, are executed by tests of their own. A claim and a
card take minutes.
"""

import re
import shutil
import subprocess

import pytest
import yaml
from conftest import ROOT
from documented import blocks, commands, compose, verb_of, words_of

from attnexp.cli import new

PAGES = [
    "README.md",
    "docs/attend.md",
    "docs/choices.md",
    "docs/data.md",
    "docs/own_code.md",
    "docs/performance.md",
    "docs/pictures.md",
    "docs/python.md",
    "docs/recipes.md",
    "docs/reliability.md",
    "docs/results.md",
    "docs/runs.md",
    "docs/sweeps.md",
    "docs/tables.md",
    "docs/tour.md",
]
EVERY_PAGE = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
COURSE = ["docs/exercises.md", *(f"docs/course/{page.name}" for page in ROOT.glob("docs/course/*"))]
LINES = sorted({line for page in PAGES for line in commands(page)})
PARSED = [
    "docs/card.md",
    "docs/card_numbers.md",
    "docs/card_sayings.md",
    "docs/claims.md",
    "docs/probe.md",
    *COURSE,
]
COMPOSED = sorted({*LINES, *(line for page in PARSED for line in commands(page))})


def first_of_each_kind():
    """Yield all commands: of runs, those that name a group first, and the others marked as slow."""
    seen: set[str] = set()
    for line in COMPOSED:
        words = line.split()[1:]
        groups = {re.split(r"[.=]", word)[0] for word in words}
        repeats = verb_of(words) is None and groups <= seen
        seen |= groups
        yield pytest.param(line, marks=[pytest.mark.slow] * repeats)


ON_RUNS = [line for line in LINES if verb_of(line.split()[1:])]
TRAINED = sorted({*commands("README.md"), *commands("docs/tour.md"), *commands("docs/data.md")})
LITTLE = ("train.max_epochs=2", "figures=false")
FEW = ("data.num_train=200", "data.num_validation=50", "data.num_test=50")


def write_data(folder):
    """Write the files that the commands name: a table and sentences."""
    rows = "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(12))
    for name in ("my.csv", "table.csv"):
        (folder / name).write_text(f"a,b,c\n{rows}")
    sentences = "".join(f"the {n} cat,le chat {n}\n" for n in "abcdefgh")
    (folder / "pairs.csv").write_text(f"en,fr\n{sentences}")
    (folder / "my.tsv").write_text(sentences.replace(",", "\t"))
    for name, side in zip(("a.de", "a.en"), ("die Katze", "the cat"), strict=True):
        (folder / name).write_text("".join(f"{side} {n}\n" for n in "abcdefgh"))
    (folder / "my.txt").write_text("the cat sat on the mat. " * 100)


def lessened(words):
    """Return the words of a command with little training on little data."""
    words = [
        word.replace("range(10)", "range(1)").replace("range(64)", "range(4)") for word in words
    ]
    text = " ".join(words)
    if "data=pairs" in text or "data=table" in text:
        if "data=pairs" in text:
            words = [word.replace("my.csv", "pairs.csv") for word in words]
        words = [word for word in words if not word.startswith("data.num_train")]
    if "data=text" in text:
        words += ["data.length=8", "data.num_train=20"]
    if "data=reverse" in text:
        words += FEW
    plain = {"--help", "--version", "--cfg", "--info", "--dry-run"} & set(words)
    return words if plain else [*words, *LITTLE]


def test_there_are_commands():
    assert len(LINES) >= 50
    for name in ("table", "nile", "pairs", "text"):
        assert sum(f"data={name}" in line for line in commands("docs/data.md")) >= 2


QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\\.|(?:^|\s)#.*")
"""Quoted parts of a command line, and its comment."""

PATTERN = re.compile(r"[][?(){}]|=\S*\*|(?:^|\s)~\w")
"""What zsh takes for a pattern of file names, or for somebody's home."""


def taken_for_a_pattern(line):
    return PATTERN.search(QUOTED.sub("", line)) is not None


def test_an_unquoted_pattern_is_seen():
    for line in (
        "attnexp data.x=[a,b]",
        "pip install .[nile]",
        "attnexp -m model=glob(*)",
        "attnexp -m model=a*",
        "attnexp ~tracker",
        "attnexp data.note=why?",
        "attnexp 'a=[b]' c=[d]",
    ):
        assert taken_for_a_pattern(line)
    for line in (
        "attnexp 'data.x=[a,b]'  # two [columns]",
        'attnexp results --where "model in [dot, cosine]"',
        "attnexp card --compare docs/cards/*.json",
        "attnexp data.x=a\\[0\\]",
    ):
        assert not taken_for_a_pattern(line)


@pytest.mark.parametrize("page", sorted(str(each.relative_to(ROOT)) for each in EVERY_PAGE))
def test_commands_quote_what_zsh_takes_for_a_pattern(page):
    shell = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    inline = re.findall(r"(?<!`)`(attnexp [^`\n]+)`(?!`)", (ROOT / page).read_text())
    assert [line for line in [*shell, *inline] if taken_for_a_pattern(line)] == []


@pytest.mark.parametrize("line", [*first_of_each_kind()])
def test_a_command_is_one(line, in_process, tmp_path):
    write_data(tmp_path)
    if "--config-dir conf " in line:
        new.main("score", "laplace", into=tmp_path)
    compose(line, in_process)


@pytest.fixture
def outputs(finished_runs, tmp_path, monkeypatch):
    """Copies of the finished runs below outputs/, and the folder above as the current one."""
    shutil.copytree(finished_runs["curve"].parent, tmp_path / "outputs")
    monkeypatch.chdir(tmp_path)
    return {name: f"outputs/{folder.name}" for name, folder in finished_runs.items()}


OF_OTHER_RUNS = ("chapter", "--kind lengths", "by_length@16", "laplace", "figures/loss.png")
"""Words of commands on runs of a chapter, runs that are tested beyond their training, runs of a
score of one's own, and a picture of a sweep."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for line in ON_RUNS if not any(word in line for word in OF_OTHER_RUNS)]
)
def test_a_verb_works(line, outputs, succeeds):
    """On finished runs: RUN is one of sequences where the command is about these."""
    sequence = any(word in line for word in ("--example", "--layer", "decode"))
    run, other = ("rnn", "transformer") if sequence else ("curve", "boxcar")
    places = {"RUN": run, "OTHER": other, "RUN_A": run, "RUN_B": other}
    names = {
        f"{folder}{name}": outputs[key]
        for name, key in places.items()
        for folder in ("", "outputs/")
    }
    succeeds(*(names.get(word, word) for word in words_of(line)))


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in TRAINED if line not in ON_RUNS])
def test_a_run_or_a_sweep_works(line, succeeds, tmp_path):
    """On little training and little data."""
    write_data(tmp_path)
    succeeds(*lessened(words_of(line)))


def of_shells():
    """Every command of a page, also within a line of prose, and every command of a chapter."""
    pages = [ROOT / "README.md", ROOT / "README.zh.md", *ROOT.glob("docs/**/*.md")]
    for page in pages:
        name = str(page.relative_to(ROOT))
        yield from ((name, block) for block in blocks(name, "sh"))
        inline = re.findall(r"(?<!`)`(attnexp [^`]*)`", page.read_text())
        yield from ((name, text) for text in inline)
    for chapter in sorted((ROOT / "attnexp" / "course" / "chapters").glob("*.yaml")):
        for step in yaml.safe_load(chapter.read_text())["steps"]:
            yield chapter.name, step["command"]


def test_a_shell_reads_every_command():
    """Unquoted brackets, such as those of seed=range(6), are none of its syntax."""
    refused = []
    for name, text in dict.fromkeys(of_shells()):
        answer = subprocess.run(
            ["bash", "-n"], input=text, capture_output=True, text=True, check=False
        )
        if answer.returncode:
            refused.append((name, text, answer.stderr))
    assert not refused
