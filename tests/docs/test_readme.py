"""Every command and every Python example of the README works."""

import re
import shlex
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    """The attnexp commands of all shell blocks, without comments."""
    lines = [
        line.partition("  #")[0].strip() for block in blocks("sh") for line in block.split("\n")
    ]
    return [line for line in lines if line.startswith("attnexp")]


def test_there_are_commands():
    assert len(commands()) >= 5


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_command(in_process, line, tmp_path):
    """Each command as it stands, in an empty folder, on little training.

    What needs runs to look at gets one first.
    """
    words = shlex.split(line)[1:]
    verb = words[0] if words and re.fullmatch(r"[a-z]+", words[0]) else None
    if verb:
        assert in_process("figures=false", "train.max_epochs=2").returncode == 0
        (folder,) = (tmp_path / "outputs").glob("*-*")
        words = [str(folder) if word == "RUN" else word for word in words]
    elif not {"--help", "--version", "--cfg"} & set(words):
        words = [*words, "train.max_epochs=2", "figures=false"]
        if "hydra/sweeper=optuna" in words:
            words.append("hydra.sweeper.n_trials=3")
        if "data=reverse" in words:
            words += ["data.num_train=200", "data.num_validation=50", "data.num_test=50"]
    words = [word for word in words if not word.startswith("device=cuda")]
    answer = in_process(*words)
    assert answer.returncode == 0, answer.stderr


def test_python_examples(in_process, tmp_path):
    in_process("figures=false", "train.max_epochs=2")
    (folder,) = (tmp_path / "outputs").glob("*-*")
    examples = blocks("python")
    assert examples
    for example in examples:
        exec(example.replace("RUN", str(folder)), {})
