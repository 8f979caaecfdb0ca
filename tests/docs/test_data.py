"""The commands of docs/data.md work, on little training."""

import re
import shlex
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text()
LINES = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
]
COMMANDS = [line for line in LINES if line.startswith("attnexp ") and "data=" in line]
QUICK = ("train.max_epochs=1", "figures=false")
SYMBOLS = ("arch.layers=1",)
WORDS = ("data.num_train=20", "data.num_validation=5", "data.num_test=5")


def write_table(folder):
    rows = "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(12))
    (folder / "my.csv").write_text(f"a,b,c\n{rows}")


def write_sentences(folder):
    sentences = "".join(f"the {n} cat,le chat {n}\n" for n in "abcdefgh")
    (folder / "my.csv").write_text(f"en,fr\n{sentences}")
    (folder / "my.tsv").write_text(sentences.replace(",", "\t"))


def write_dictionary(folder):
    words = "".join(f"{a}{b}n  {a.upper()} IH1 N\n" for a in "bdfgkl" for b in "aeiou")
    (folder / "my.dict").write_text(words)


@pytest.mark.parametrize("line", COMMANDS)
def test_command(in_process, line, tmp_path):
    words = [word.replace("range(10)", "range(1)") for word in shlex.split(line)[1:]]
    if "data=table" in words or "data=nile" in words:
        write_table(tmp_path)
        small = QUICK
    else:
        write_sentences(tmp_path)
        write_dictionary(tmp_path)
        small = (*QUICK, *SYMBOLS, *(WORDS if "data=g2p" in words else ()))
        if "data=g2p" in words and len(words) > 2:  # the shortest command reads the whole one
            small = (*small, "data.path=my.dict")
        words = [word for word in words if not word.startswith("data.num_train")]
    answer = in_process(*words, *small)
    assert answer.returncode == 0, answer.stderr


def test_there_are_commands():
    for name, least in {"table": 3, "nile": 2, "pairs": 4, "g2p": 2}.items():
        assert sum(f"data={name}" in line for line in COMMANDS) >= least


def test_the_signatures_are_those_of_sacrebleu():
    from sacrebleu.metrics import BLEU, CHRF

    for metric in (BLEU(), CHRF()):
        metric.corpus_score(["a b c d"], [["a b c d"]])
        own = str(metric.get_signature()).partition("|version")[0]
        assert own in PAGE
