"""docs/cluster.md: its YAML can be parsed, and every sweep of it can be planned."""

import re
import shlex

import pytest
import yaml
from documented import blocks, words_of

JOB, TASK = map(yaml.safe_load, blocks("docs/cluster.md", "yaml"))


def sweeps() -> list[str]:
    """Every sweep of the page: those of shell blocks, and those that YAML runs."""
    shell = "".join(blocks("docs/cluster.md", "(?:sh|bash)")).replace("\\\n", " ")
    (container,) = JOB["spec"]["template"]["spec"]["containers"]
    texts = [*shell.splitlines(), *container["args"], TASK["run"]]
    return [text.removeprefix("srun ") for text in texts if "attnexp -m" in text]


def test_the_yaml_is_what_it_is_said_to_be():
    assert (JOB["apiVersion"], JOB["kind"]) == ("batch/v1", "Job")
    assert JOB["spec"]["completionMode"] == "Indexed"
    assert TASK["num_nodes"] == JOB["spec"]["completions"] == 8


def test_it_is_the_same_line_everywhere():
    lines = [shlex.split(line) for line in sweeps()]
    assert len(lines) == 5
    assert len({tuple(line) for line in lines if "hydra/launcher=parallel" in line}) == 1
    settings = [[word for word in line if "hydra" not in word] for line in lines]
    assert all(words == settings[0] for words in settings)


@pytest.mark.parametrize("line", sorted(set(sweeps())))
def test_a_sweep_can_be_planned(succeeds, line, tmp_path):
    words = words_of(line.replace("/shared", str(tmp_path)))
    assert re.search(r"^to do +40$", succeeds(*words, "--dry-run").stdout, flags=re.MULTILINE)
