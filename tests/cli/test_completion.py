"""Tab completion: what a shell is told, and what is seen in a real one."""

import json
import os
import shutil
import sys
from pathlib import Path

import pexpect
import pytest
from conftest import ROOT
from imported import IMPORTED, python
from tueplots import bundles

from attnexp.cli.new import KINDS
from attnexp.cli.parser import parser_of
from attnexp.cli.verbs import VERBS
from attnexp.plots.names import VENUES

ASK = """
import json, os, sys
from importlib import import_module
from attnexp.cli import candidates, completion
from attnexp.cli.verbs import VERBS

for module, _ in VERBS.values():
    import_module(module)  # once, and not in each fork
os.environ |= {
    "_ARGCOMPLETE": "1",
    "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
    "_ARGCOMPLETE_STDOUT_FILENAME": "answer",
}
answers = []
for line in json.load(open("lines.json")):
    if not os.fork():
        os.environ |= {"COMP_LINE": line, "COMP_POINT": str(len(line))}
        completion.answer()
    _, status = os.wait()
    answers.append((status, open("answer").read().split("\\v")))
    os.remove("answer")
json.dump(answers, open("answers.json", "w"))
"""

EXPECTED = {
    "attnexp exe": ["exercise"],
    "attnexp st": ["status"],
    "attnexp zz": [],
    "attnexp exercise ": ["list", "start", "check", "hint", "solution"],
    "attnexp exercise start h": ["heads"],
    "attnexp exercise check o": ["outputs/", "own.csv"],
    "attnexp chapter ": ["pooling", "scoring", "bahdanau", "heads", "transformer"],
    "attnexp chapter pooling --d": ["--dry-run"],
    "attnexp claims nw": ["nw_rate"],
    "attnexp claims --config-dir my_conf m": ["mine"],
    "attnexp docs to": ["tour"],
    "attnexp new ": [*KINDS, "claim"],
    "attnexp attend ex": ["example="],
    "attnexp attend example=sc": ["example=scaled_dot"],
    "attnexp attend --keys o": ["outputs/", "own.csv"],
    "attnexp attend --output o": ["outputs/", "own.csv"],
    "attnexp attend --format ": ["table", "json"],
    "attnexp results --format m": ["markdown"],
    "attnexp results --output o": ["outputs/", "own.csv"],
    "attnexp report --title ": [],
    "attnexp results outputs/a": ["outputs/additive-reverse/"],
    "attnexp report --t": ["--title", "--trust"],
    "attnexp show la": ["last"],
    "attnexp show add": ["additive-reverse"],
    "attnexp show absent --me": ["--metric"],
    "attnexp decode add": ["additive-reverse"],
    "attnexp verify add": ["additive-reverse"],
    "attnexp verify --trust ": [],
    "attnexp status outp": ["outputs/"],
    "attnexp plot --ki": ["--kind"],
    "attnexp plot --kind at": ["attention"],
    "attnexp plot --kind fit,lo": ["fit,loss"],
    "attnexp plot --kind=lo": ["--kind=loss"],
    "attnexp plot last --format sv": ["svg"],
    "attnexp plot --venue neurips2024": ["neurips2024"],
    "attnexp probe to": ["topk="],
    "attnexp probe last ha": ["hard"],
    "attnexp probe add": ["additive-reverse"],
    "attnexp completion ": ["bash", "zsh"],
    "attnexp model=addi": ["model=additive"],
    "attnexp -m model=dot,addi": ["model=dot,additive"],
    "attnexp -m data=reverse model=addi": ["model=additive"],
    "attnexp --config-dir my_conf model=my": ["model=my_own"],
    "attnexp model=additive model.hid": ["model.hidden_dim="],
    "attnexp exp": ["experiment="],
    "attnexp cla": ["claims"],
    "attnexp --inf": ["--info"],
    "attnexp --config-dir o": ["outputs/", "own.csv"],
    "attnexp model=absent mod": ["model="],
    'attnexp show "ad': ["additive-reverse"],
}
"""Lines, and their candidates in a folder with a run, `own.csv` and a configuration in my_conf."""


SETUP = (
    "bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'; "
    "bind 'set enable-bracketed-paste off'; eval \"$(attnexp completion bash)\""
)


def asked(lines: list[str], folder: Path) -> dict[str, list[str]]:
    """The candidates for each line; every answer is one without an error, and prints nothing."""
    (folder / "lines.json").write_text(json.dumps(lines))
    answer = python("-c", ASK, cwd=folder)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    answers = json.loads((folder / "answers.json").read_text())
    assert {line: code for line, (code, _) in zip(lines, answers, strict=True) if code} == {}
    return {line: found for line, (_, found) in zip(lines, answers, strict=True)}


@pytest.fixture
def folder(tmp_path):
    stored = ROOT / "tests" / "runs" / "stored" / "v2" / "additive-reverse"
    shutil.copytree(stored, tmp_path / "outputs" / "additive-reverse")
    (tmp_path / "own.csv").touch()
    (tmp_path / "my_conf" / "claim" / "mine").mkdir(parents=True)
    (tmp_path / "my_conf" / "claim" / "mine" / "claim.yaml").touch()
    (tmp_path / "my_conf" / "model").mkdir()
    (tmp_path / "my_conf" / "model" / "my_own.yaml").write_text("_target_: my_own.MyOwn\n")
    (tmp_path / "my_own.py").write_text("raise SystemExit('code of the user was imported')\n")
    return tmp_path


@pytest.mark.slow
def test_the_candidates_of_each_verb_and_of_a_setting(folder):
    found = asked(list(EXPECTED), folder)
    listed = {line: sorted(filter(None, words)) for line, words in found.items()}
    assert listed == {line: sorted(words) for line, words in EXPECTED.items()}


def test_the_first_word_is_a_verb_or_a_group(folder):
    (found,) = asked(["attnexp "], folder).values()
    assert set(VERBS) <= set(found)
    assert {"model=", "data="} <= set(found)
    assert not {"attend=", "law="} & set(found)


@pytest.mark.slow
def test_every_option_of_every_verb_is_completed_without_an_error(folder):
    options = [
        f"attnexp {verb} {name}{after}"
        for verb in VERBS
        for action in parser_of(verb)._actions
        for name in action.option_strings
        for after in ("", " ", "=", " x")
    ]
    assert len(options) > 4 * 100
    found = asked(options, folder)
    names = [line for line in options if not line.endswith((" ", "=", " x"))]
    assert {line for line in names if line.split()[-1] not in found[line]} == set()


def test_venues_that_are_offered_are_those_of_tueplots():
    shown = {name for name in vars(bundles) if callable(getattr(bundles, name)) and name[0] != "_"}
    assert set(VENUES) == {name for name in shown if not name.endswith("_dark_bg")}


class Shell:
    """An interactive shell with completion, and what is seen when keys are pressed."""

    def __init__(self, program: str, words: list[str], folder: Path, setup: str) -> None:
        command = folder / "bin" / "attnexp"
        command.parent.mkdir()
        code = "from attnexp.cli.main import main; main()"
        command.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
        command.chmod(0o755)
        path = f"{command.parent}:{os.environ['PATH']}"
        own = {"PYTHONPATH": IMPORTED, "TERM": "dumb", "HOME": str(folder), "PATH": path}
        env = {**os.environ, **own}
        self.process = pexpect.spawn(
            program, words, cwd=str(folder), env=env, encoding="utf-8", timeout=20
        )
        self.process.setwinsize(50, 200)
        self.process.sendline(f"{setup}; echo re''ady")
        self.process.expect("ready\r\n")

    def seen(self, keys: str, until: str) -> str:
        """Press keys and the tab key, and return what is printed up to a pattern and after it."""
        self.process.send(f"{keys}\t")
        self.process.expect(until)
        text = self.process.before + self.process.after
        try:
            self.process.expect(pexpect.EOF, timeout=0.5)
        except pexpect.TIMEOUT:
            text += self.process.before
        self.process.send("\x15")  # removes the line
        return text


@pytest.mark.parametrize(
    ("keys", "until"),
    [
        ("attnexp ex", r"exercise +experiment="),
        ("attnexp exercise st", "exercise start "),
        ("attnexp show la", "show last "),
        ("attnexp model=addi", "model=additive "),
        ("attnexp plot --ki", "--kind "),
        ("attnexp results --output outputs/add", "outputs/additive-reverse/"),
    ],
)
def test_keys_in_bash(folder, keys, until):
    seen = Shell("bash", ["--norc", "--noprofile", "-i"], folder, SETUP).seen(keys, until)
    assert not any(word in seen for word in ("rror", "Traceback", "attnexp:", "usage", "arn"))


def test_an_error_is_not_seen_in_bash(folder):
    setup = f"{SETUP}; attnexp() {{ echo an error >&2; return 3; }}"
    shell = Shell("bash", ["--norc", "--noprofile", "-i"], folder, setup)
    assert shell.seen("attnexp exercise st", "exercise st").endswith("attnexp exercise st")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_keys_in_zsh(folder):
    setup = 'autoload -Uz compinit; compinit -u -D; eval "$(attnexp completion zsh)"'
    seen = Shell("zsh", ["-f", "-i"], folder, setup).seen("attnexp exercise st", "start")
    assert "rror" not in seen
