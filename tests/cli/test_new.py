"""`attnexp new`: what it writes passes its test and runs, and nothing existing is overwritten."""

import json
import runpy
import shutil
import subprocess
import sys

import pytest

from attnexp.architectures.contract import ARCHITECTURE_CONTRACT
from attnexp.cli.new import KINDS
from attnexp.data.contract import DATA_CONTRACT
from attnexp.normalizers.contract import NORMALIZER_CONTRACT
from attnexp.probe.laws.contract import LAW_CONTRACT
from attnexp.scores.contract import SCORE_CONTRACT

CONTRACTS = {
    "score": SCORE_CONTRACT,
    "normalizer": NORMALIZER_CONTRACT,
    "data": DATA_CONTRACT,
    "sequences": DATA_CONTRACT,
    "arch": ARCHITECTURE_CONTRACT,
    "law": LAW_CONTRACT,
}


@pytest.fixture
def written(in_process, tmp_path):
    """Each kind, written into one folder."""
    for kind in KINDS:
        assert in_process("new", kind, f"written_{kind}").returncode == 0
    return tmp_path


def test_the_tests_pass_at_once(written):
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(written)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_runs_the_contract_of_its_kind(kind, in_process, tmp_path, monkeypatch):
    assert in_process("new", kind, f"held_{kind}").returncode == 0
    monkeypatch.syspath_prepend(tmp_path)
    (mark,) = runpy.run_path(f"test_held_{kind}.py")["test_contract"].pytestmark
    assert mark.args == ("check", CONTRACTS[kind])


def test_a_law_of_ones_own_is_an_intervention(in_process, finished_runs, tmp_path):
    said = in_process("new", "law", "blurred", "--into", "mine").stdout
    command = said.splitlines()[-1]
    assert command == "  attnexp probe RUN blurred --config-dir mine/conf"
    run = shutil.copytree(finished_runs["curve"], tmp_path / "run")
    answer = in_process(*command.replace("RUN", str(run)).split()[1:], "--format", "json")
    assert answer.returncode == 0, answer.stderr
    learned, blurred = json.loads(answer.stdout)["rows"]
    assert blurred["intervention"] == "blurred"
    assert blurred["mean"] != learned["mean"]
    short = (tmp_path / "mine" / "blurred.py").read_text().replace("/ 2\n", "[..., 1:]\n")
    (tmp_path / "mine" / "blurred.py").write_text(short)
    sys.modules.pop("blurred")
    answer = in_process(*command.replace("RUN", str(run)).split()[1:])
    assert answer.returncode == 2
    assert "the law Blurred failed: ValueError: weights of " in answer.stderr
    answer = in_process("probe", str(run), "blurred")
    assert "blurred is neither a folder nor an intervention" in answer.stderr


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"law"}))
def test_the_next_command_runs(kind, in_process):
    said = in_process("new", kind, f"own_{kind}", "--into", "mine").stdout
    method = KINDS[kind][1]
    assert f"fill in `{method}` in mine/own_{kind}.py" in said
    command = said.splitlines()[-1].split()
    assert command[0] == "attnexp"
    few = ["figures=false", "train.max_epochs=1", "data.num_train=20", "data.num_test=5"]
    answer = in_process(*command[1:], *few)
    assert answer.returncode == 0, answer.stderr


def test_nothing_is_overwritten_and_nothing_half_written(in_process, tmp_path):
    (tmp_path / "test_mine.py").write_text("precious")
    answer = in_process("new", "score", "mine")
    assert answer.returncode == 2
    assert "test_mine.py exists already" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]
    (tmp_path / "into").write_text("a file")
    answer = in_process("new", "score", "other", "--into", "into")
    assert answer.returncode == 2
    assert "--into: into/other.py cannot be written" in answer.stderr


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dot", "model=dot is one of attnexp's own"),
        ("json", "Python has a module 'json' already"),
        (
            "Mine",
            "must be lower-case ASCII, digits and underscores, such as my_model, got 'Mine'",
        ),
        ("../mine", "got '../mine'"),
        ("class", "'class' is a word of Python's"),
        ("type", "'type' is a word of Python's"),
        ("self", "'self' is a word of Python's"),
        ("none", "'none' is a word of YAML's"),
        ("con", "'con' is a device of Windows"),
        ("nul", "'nul' is a device of Windows"),
        ("aux", "'aux' is a device of Windows"),
        ("softmax", "normalizer=softmax is one of attnexp's own"),
    ],
)
def test_names_that_cannot_be_used_are_refused(name, sentence, in_process, tmp_path):
    answer = in_process("new", "score", name)
    assert answer.returncode == 2
    assert sentence in answer.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("group", "code", "missing"),
    [
        (
            "normalizer",
            "from attnexp.normalizers.base import Normalizer as Base\n"
            "class Bare(Base):\n"
            "    shift_invariant = True\n"
            "    def normalize(self, scores, seen):\n"
            "        return scores.softmax(dim=-1)\n",
            "sums_to_one, which every Normalizer has",
        ),
        (
            "data",
            "from attnexp.data.base import Dataset as Base\n"
            "class Bare(Base):\n"
            "    def __init__(self, generator):\n"
            "        self.train = self.validation = self.test = None\n",
            "spec, which every Dataset has",
        ),
    ],
)
def test_a_class_without_what_the_program_needs_gets_a_sentence(
    group, code, missing, in_process, tmp_path
):
    (tmp_path / f"bare_{group}.py").write_text(code)
    (tmp_path / "conf" / group).mkdir(parents=True)
    (tmp_path / "conf" / group / "bare.yaml").write_text(f"_target_: bare_{group}.Bare\n")
    answer = in_process("--config-dir", "conf", f"{group}=bare")
    assert answer.returncode == 2
    assert f"bare_{group}.Bare sets no {missing}" in answer.stderr
