"""What a module reads while it runs, in the ways in which it may be written."""

import ast

import pytest

from attnexp.runs.code_reads import reads_in


def found(text):
    return [tuple(read) for read in reads_in(ast.parse(text))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("open('width.txt')", "open()"),
        ("import io\nio.open('width.txt')", "io.open()"),
        ("open('width.txt', mode='r+')", "open()"),
        ("import pathlib as p\np.Path('width.txt').read_text()", "pathlib.Path().read_text()"),
        ("from pathlib import Path\n(Path(__file__).parent / 'w').read_bytes()", "read_bytes()"),
        ("from pathlib import Path\nPath('w').open()", "pathlib.Path().open()"),
        ("import torch\ntorch.load('w.pt')", "torch.load()"),
        ("from torch import load as fetch\nfetch('w.pt')", "torch.load()"),
        ("import numpy as np\nnp.loadtxt('w')", "numpy.loadtxt()"),
        ("import pandas as pd\npd.read_csv('w.csv')", "pandas.read_csv()"),
        (
            "from safetensors.torch import load_file\nload_file('w')",
            "safetensors.torch.load_file()",
        ),
        ("import importlib\nimportlib.import_module('w')", "importlib.import_module()"),
        ("from importlib import import_module as im\nim('w')", "importlib.import_module()"),
        ("__import__('w')", "__import__()"),
        ("import runpy\nrunpy.run_path('w.py')", "runpy.run_path()"),
        ("import os\nos.environ['W']", "os.environ"),
        ("import os as system\nsystem.environ.get('W')", "os.environ"),
        ("from os import environ\n'W' in environ", "os.environ"),
        ("import os\nos.getenv('W')", "os.getenv()"),
        ("from os import getenv\ngetenv('W')", "os.getenv()"),
        ("from importlib import resources\nresources.files('w').joinpath('x').read_text()",)
        + ("importlib.resources.files().joinpath().read_text()",),
    ],
)
def test_each_way_to_read_is_found_with_its_line(text, what):
    line = text.count("\n") + 1
    assert found(text) == [(line, what)]
    inside = text.replace("\n", "\n        ")
    assert found(f"class A:\n    def f(self):\n        {inside}") == [(line + 2, what)]


@pytest.mark.parametrize(
    "text",
    [
        "import helper\nhelper.twice(3)",
        "open('log.txt', 'w').write('x')",
        "open('log.txt', mode='ab')",
        "class A:\n    def load(self): return self.load_state_dict({})",
        "import torch\nloss.load()\ntorch.nn.Module.load_state_dict(a, b)\ntorch.exp(x)",
        "import json\njson.loads('1')\nenviron = 3\nprint(environ)",
        "import os\nos.path.join('a', 'b')",
    ],
)
def test_what_reads_nothing_is_not_named(text):
    assert found(text) == []


def test_a_call_behind_another_name_is_not_found():
    assert found("import os\ngetattr(os, 'getenv')('W')") == []
