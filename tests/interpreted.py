"""Programs, computed by the page's interpreter in Node.js."""

import json
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
import torch

import attnexp.report

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
TEMPLATE = Path(attnexp.report.__file__).parent / "template"
SCRIPTS = [str(TEMPLATE / name) for name in ("interpreter.js", "laws.js")]


def in_node(jobs, *words):
    """Return what a program of node writes for these jobs, both as JSON."""
    answer = subprocess.run(
        [str(NODE), *map(str, words)],
        input=msgspec.json.encode(jobs).decode(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def interpreted(jobs):
    """Return the outputs of each job: tensors by name, flat."""
    for found in in_node(jobs, Path(__file__).parent / "tracing" / "compute.js", *SCRIPTS):
        assert not isinstance(found, str), found
        yield {
            name: torch.tensor([float(number) for number in numbers])
            for name, numbers in found.items()
        }


def numbers_of(tensor):
    return tensor.flatten().tolist()
