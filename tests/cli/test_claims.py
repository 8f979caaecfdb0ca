"""`attnexp claims`: the list, a claim of one's own from its runs to its card, and wrong words."""

import re

import pytest

MINE = """# Is a learned width at a minimum?
claims: it is
source: {paper: a paper, place: page 1, printed: "1", read: false}
setup: theirs
changed: ours
prediction: {date: "2026-11-23", says: it will}
sweeps:
  - [model=gaussian_learned, data.num_train=20]
  - [model=gaussian, "model.width=0.5,1.0,2.0,4.0,8.0,16.0,32.0", data.num_train=20]
seeds: 2
minutes: 0.1
decides:
  _target_: attnexp.claims.same_minimum.SameMinimum
  metric: loo_mse
  learned: gaussian_learned
  grid: gaussian
  tolerance: 0.001
"""


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / "my_conf" / "claim"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(MINE)
    return ["--config-dir", "my_conf"]


def test_claims_are_listed_with_their_verdicts(in_process, mine):
    answer = in_process("claims", *mine)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    (own,) = (line for line in lines if line.startswith("mine "))
    assert own.split()[1:3] == ["not", "run"]
    assert own.rstrip().endswith("Is a learned width at a minimum?")
    assert any(line.startswith("nw_rate ") for line in lines)


def test_a_claim_of_ones_own_is_run_and_judged(in_process, mine, tmp_path):
    answer = in_process("claims", "mine", *mine, "--output", "page.md")
    assert answer.returncode == 0, answer.stderr
    card = answer.stdout.partition("\nmine\n")[2]
    assert "reproduced" in card
    assert "loo_mse is the smallest of the grid on 2 of 2 seeds" in card
    assert "(not read at its source)" in card
    assert "- **verdict**: reproduced" in (tmp_path / "page.md").read_text()
    again = in_process("claims", "mine", *mine)
    assert re.findall(r"^skipped +([0-9]+)$", again.stdout, re.MULTILINE) == ["2", "14"]
    more = in_process("claims", "mine", *mine, "--seeds", "3")
    assert "on 3 of 3 seeds" in more.stdout
    listed = in_process("claims", *mine).stdout
    (own,) = (line for line in listed.splitlines() if line.startswith("mine "))
    assert own.split()[1] == "reproduced"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nw_rat"], "claim 'nw_rat' is not a choice"),
        (["nw_rate", "--all"], "name a claim or --all, and not both"),
        (["nw_rate", "--seeds", "0"], "'0' is not a whole number from 1 on"),
    ],
)
def test_wrong_words(in_process, words, sentence):
    answer = in_process("claims", *words)
    assert answer.returncode == 2
    assert sentence in answer.stderr


OWN = """from attnexp.claims.decision import Decision, Verdict


class Always(Decision):
    def decide(self, evidence):
        return Verdict("reproduced", f"{len(evidence.runs)} runs say so")
"""


def test_a_decision_of_ones_own_lies_next_to_the_folder_of_the_claim(in_process, mine, tmp_path):
    (tmp_path / "my_decisions.py").write_text(OWN)
    text = MINE.partition("decides:")[0] + "decides: {_target_: my_decisions.Always}\n"
    (tmp_path / "my_conf" / "claim" / "mine.yaml").write_text(text)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 0, answer.stderr
    assert "16 runs say so" in answer.stdout
    refused = in_process("claims", "--config-dir", "nowhere")
    assert refused.returncode == 2
    assert "there is no folder" in refused.stderr


COMPUTED = """# Is one half of it so?
claims: it is
source: {paper: a paper, place: page 1, printed: "1"}
setup: theirs
changed: ours
prediction: {date: "2026-11-23", says: it will}
computes: {_target_: my_points.halves, of: 4}
axes: [step, half]
seeds: 3
minutes: 0.1
decides: {_target_: attnexp.claims.bounded.Bounded, number: half@2, at_most: 2.0}
shown: [{number: half@1}, {number: half@7}]
"""

POINTS = """def halves(seed, of):
    with open("computed.txt", "a") as file:
        print(seed, file=file)
    for x in (1, 2, 4):
        yield "half", x, of / 2 + x / 1000 - 1
"""


def test_a_claim_can_compute_instead_of_training(in_process, mine, tmp_path):
    (tmp_path / "my_points.py").write_text(POINTS)
    (tmp_path / "my_conf" / "claim" / "mine.yaml").write_text(COMPUTED)
    answer = in_process("claims", "mine", *mine, "--output", "page.md")
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^verdict +reproduced$", answer.stdout, re.MULTILINE)
    assert "half@2 is 1.002 [1.002, 1.002] over 3 seeds, where at most 2 is claimed" in (
        " ".join(answer.stdout.split())
    )
    assert re.search(r"half@1: 1.001, mean of 3 seeds", answer.stdout)
    assert re.search(r"half@7: skip", answer.stdout)
    picture = tmp_path / "outputs" / "claims" / "mine" / "figures" / "claim.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    link = "![mine: claim](<outputs/claims/mine/figures/claim.png>)"
    assert link in (tmp_path / "page.md").read_text()
    (tmp_path / "pages").mkdir()
    assert in_process("claims", *mine, "--output", "pages/page.md").returncode == 0
    assert link.replace("<", "<../") in (tmp_path / "pages" / "page.md").read_text()
    assert in_process("claims", "mine", *mine, "--seeds", "4").returncode == 0
    # no seed is computed twice, unless the claim computes something else
    assert (tmp_path / "computed.txt").read_text().split() == ["0", "1", "2", "3"]
    text = COMPUTED.replace("of: 4", "of: 8")
    (tmp_path / "my_conf" / "claim" / "mine.yaml").write_text(text)
    listed = in_process("claims", *mine).stdout
    (own,) = (line for line in listed.splitlines() if line.startswith("mine "))
    assert own.split()[1:3] == ["not", "run"]


def test_what_computes_must_be_there(in_process, mine, tmp_path):
    text = COMPUTED.replace("my_points.halves", "my_points.thirds")
    (tmp_path / "my_points.py").write_text(POINTS)
    (tmp_path / "my_conf" / "claim" / "mine.yaml").write_text(text)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 2
    assert "computes names my_points.thirds, which is not there" in answer.stderr
