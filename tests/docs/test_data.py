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
SMALL = ("train.max_epochs=1", "figures=false", "arch.layers=1")


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("attnexp data=")])
def test_command(in_process, line, tmp_path):
    sentences = (f"the {n} cat,le chat {n}\n" for n in "abcdefgh")
    (tmp_path / "my.csv").write_text("".join(["en,fr\n", *sentences]))
    (tmp_path / "my.tsv").write_text((tmp_path / "my.csv").read_text().replace(",", "\t"))
    few = ["data.num_train=20", "data.num_validation=5", "data.num_test=5"]
    words = [word for word in shlex.split(line)[1:] if not word.startswith("data.num_train")]
    given = few if "data=g2p" in words else []
    answer = in_process(*words, *given, *SMALL)
    assert answer.returncode == 0, answer.stderr


def test_there_are_commands():
    assert sum("data=pairs" in line for line in LINES) >= 4
    assert sum("data=g2p" in line for line in LINES) >= 2


def test_the_signatures_are_those_of_sacrebleu():
    from sacrebleu.metrics import BLEU, CHRF

    for metric in (BLEU(), CHRF()):
        metric.corpus_score(["a b c d"], [["a b c d"]])
        own = str(metric.get_signature()).partition("|version")[0]
        assert own in PAGE
