"""Code of the user's that calls sys.exit(0) has failed, and so has the command that needed it."""

import pytest

from attnexp.sweeps.own_process import in_own_process

SCORE = """
import sys
from attnexp.scores.average import Average

class Early(Average):
    def __init__(self, query_dim, key_dim):
        sys.exit(0)

class Late(Average):
    def compare(self, queries, keys):
        sys.exit(0)
"""
SMALL = ("data.num_train=10", "train.max_epochs=1", "figures=false")
CLAIM = """# Does code that exits count?
claims: It does.
source: {paper: none, place: none, printed: none}
setup: None.
changed: None.
prediction: {date: "2026-11-23", says: It fails.}
computes: {is: own.points}
axes: [n, y]
seeds: 6
minutes: 0.2
decides: {is: own.Exits}
"""
POINTS = "def points(seed: int):\n    yield 'a', 1.0, 0.5\n"
DECISION = """
import sys
from attnexp.claims.decision import Decision

class Exits(Decision):
    def numbers(self):
        return ["a@1"]

    def decide(self, evidence):
        sys.exit(0)
"""
OWN = {
    "import": "import sys\nsys.exit(0)\n",
    "points": DECISION + POINTS.replace("yield 'a', 1.0, 0.5", "sys.exit(0)"),
    "decision": DECISION + POINTS,
}


@pytest.mark.parametrize("name", ["Early", "Late"])
@pytest.mark.parametrize("more", [(), ("-m", "seed=0,1", "hydra/launcher=batched")], ids=len)
def test_a_run_whose_code_exits_has_failed(in_process, own_choice, name, more):
    own = own_choice("model", f"exits.{name}", SCORE)
    answer = in_process(*more, *own, *SMALL)
    assert answer.returncode in (1, 2), answer.stdout + answer.stderr
    assert "SystemExit: 0" in answer.stdout + answer.stderr


def test_a_verb_whose_code_exits_has_failed(in_process, own_choice):
    own = own_choice("model", "exits.Late", SCORE)
    answer = in_process("attend", "--queries", "ones:1x2x3", "--keys", "ones:1x2x3", *own)
    assert answer.returncode == 1
    assert "code of yours called sys.exit(0)" in answer.stderr
    assert "exits.py, line 11" in answer.stderr


@pytest.mark.parametrize("part", OWN)
def test_a_claim_whose_code_exits_is_failed(in_process, tmp_path, part):
    folder = tmp_path / "my_conf" / "claim" / part
    folder.mkdir(parents=True)
    (folder / "claim.yaml").write_text(CLAIM)
    (folder / "own.py").write_text(OWN[part])
    answer = in_process("claims", part, "--config-dir", "my_conf")
    assert answer.returncode in (1, 2)
    assert "SystemExit: 0" in answer.stdout + answer.stderr


def test_an_exit_in_a_process_of_its_own_is_an_error_at_once():
    with pytest.raises(RuntimeError, match=r"sys\.exit\(0\) was called"):
        in_own_process(300.0, exit, 0)


def test_help_and_codes_of_our_own_stay(attnexp):
    assert attnexp("card", "--help").returncode == 0
    nowhere = attnexp("--cfg", "job", "--package", "nowhere")
    assert nowhere.returncode == 1
    assert "package 'nowhere' not found" in nowhere.stderr
