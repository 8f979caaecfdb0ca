"""docs/cluster.md: its YAML can be parsed, and every sweep of it can be planned."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> list[str]:
    """Every sweep of the page: those of shell blocks, and those that YAML runs."""
    shell = "".join(blocks("sh") + blocks("bash")).replace("\\\n", " ")
    job, task = map(yaml.safe_load, blocks("yaml"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    texts = [*shell.splitlines(), *container["args"], task["run"]]
    return [text.removeprefix("srun ") for text in texts if "attnexp -m" in text]


def test_the_yaml_is_what_it_is_said_to_be():
    job, task = map(yaml.safe_load, blocks("yaml"))
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["spec"]["completionMode"] == "Indexed"
    assert task["num_nodes"] == job["spec"]["completions"] == 8


def test_it_is_the_same_line_everywhere():
    lines = [shlex.split(line) for line in commands()]
    assert len(lines) == 5
    assert len({tuple(line) for line in lines if "hydra/launcher=parallel" in line}) == 1
    settings = [[word for word in line if "hydra" not in word] for line in lines]
    assert all(words == settings[0] for words in settings)


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_a_sweep_can_be_planned(in_process, line, tmp_path):
    if "launcher=slurm" in line and find_spec("submitit") is None:
        pytest.skip("submitit is not installed")
    words = shlex.split(line.replace("/shared", str(tmp_path)))
    answer = in_process(*words[1:], "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^to do +40$", answer.stdout, flags=re.MULTILINE)
