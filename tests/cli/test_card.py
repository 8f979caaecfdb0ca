"""`attnexp card`: a card of a class of one's own, broken ones, and cards compared."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from imported import IMPORTED, python
from schemas import faults

SMALL = ("--quick", "--seeds", "2", "--trials", "mine", "--device", "cpu")

TRIAL = """# Does it fit a curve?
source: the tests
metric: test_mse
equal_within: 0.001
words: [data=sine, data.num_train=10, train.max_epochs=2]
tune: ["optim.lr=0.01,0.1"]
columns: [neighbours, never_measured, steps to escape, probe.uniform.test_mse]
probe: [uniform]
escapes: {column: loss, at_most: 1000}
quick: {}
"""

SCORE = """
import time
from torch import nn, ones
from attnexp.scores import Score


class Mine(Score):
    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.width = nn.Parameter(ones(()))

    def compare(self, queries, keys):
        BODY
"""

GOOD = "return -self.width * (queries.unsqueeze(-2) - keys.unsqueeze(-3)).square().mean(dim=-1)"


@pytest.fixture
def own(own_choice, tmp_path):
    """Writes a score of one's own with this body, and a trial; returns the words of its card."""

    def write(body):
        words = own_choice("model", "mine.Mine", SCORE.replace("BODY", body))
        (tmp_path / "my_conf" / "trial").mkdir()
        (tmp_path / "my_conf" / "trial" / "mine.yaml").write_text(TRIAL)
        return [*words, *SMALL, "--baseline", "model=gaussian_learned"]

    return write


def content(folder="outputs/cards/mine-quick.json"):
    return json.loads(Path(folder).read_text())


def test_a_score_of_ones_own_has_its_card_and_a_repeat_runs_nothing(own, succeeds):
    words = own(GOOD)
    answer = succeeds("card", *words).stdout
    assert "mine next to gaussian_learned, over 1 trial: too few seeds for a verdict" in answer
    (trial,) = content()["trials"]
    assert [row["label"] for row in trial["rows"]] == ["mine", "gaussian_learned"]
    ours = trial["rows"][0]
    assert set(ours["numbers"]["test_mse"]) == {"1", "2"}
    assert "never_measured" not in ours["numbers"]
    assert set(ours["numbers"]["probe.uniform.test_mse"]) == {"1", "2"}
    assert set(ours["numbers"]["steps to escape"].values()) == {1.0}
    assert ours["tuned"]["optim.lr"] in ("0.01", "0.1")
    assert "<html" in Path("outputs/cards/mine-quick.html").read_text()
    runs = {path: path.stat().st_mtime_ns for path in Path("outputs/cards").glob("*/summary.json")}
    assert len(runs) == 2 * (2 + 4 + 2)
    document = succeeds("card", *words, "--format", "json").stdout
    assert document == Path("outputs/cards/mine-quick.json").read_text() + "\n"
    assert content()["trials"] == [trial]
    there = {path: path.stat().st_mtime_ns for path in Path("outputs/cards").glob("*/summary.json")}
    assert there == runs


@pytest.mark.slow
def test_more_seeds_repeat_none(own, succeeds):
    words = own(GOOD)
    succeeds("card", *words)
    runs = {path: path.read_bytes() for path in Path("outputs/cards").glob("*/metrics.csv")}
    succeeds("card", *words, "--seeds", "3")
    there = {path: path.read_bytes() for path in Path("outputs/cards").glob("*/metrics.csv")}
    assert len(there) == len(runs) + 2
    assert there.items() >= runs.items()


@pytest.mark.slow
def test_costs_that_a_card_has_are_not_measured_again(own, succeeds, tmp_path):
    words = own(GOOD)
    cost = tmp_path / "my_conf" / "trial" / "mine.yaml"
    fields = ("source: mine", "metric: seconds@4", "equal_within: 0.1", "cost: true")
    cost.write_text("\n".join(["# What does it cost?", *fields, "quick: {lengths: [4]}"]))
    succeeds("card", *words)
    trials = content()["trials"]
    assert [row["lost"] for row in trials[0]["rows"]] == [0, 0]
    succeeds("card", *words)
    assert content()["trials"] == trials


BROKEN = {
    "shapes": ("return queries", "Expected size"),
    "not a number": (GOOD.replace("return", "return float('nan') *"), ""),
    "an error": ("return queries.nonsense", "nonsense"),
}


@pytest.mark.first(1)
@pytest.mark.parametrize(("body", "why"), BROKEN.values(), ids=BROKEN)
def test_a_broken_score_has_a_card_that_says_so(own, succeeds, body, why):
    succeeds("card", *own(body))
    ours, theirs = content()["trials"][0]["rows"]
    assert ours["lost"] + len(ours["diverged"]) == 2
    assert ours["numbers"].get("test_mse", {}) == {}
    assert why in ours["why"]
    assert set(theirs["numbers"]["test_mse"]) == {"1", "2"}


@pytest.mark.slow
def test_a_score_without_a_gradient_still_has_a_card(own, succeeds):
    body = GOOD.replace("self.width", "self.width.detach()")
    succeeds("card", *own(body))
    ours, _ = content()["trials"][0]["rows"]
    assert len(ours["numbers"].get("test_mse", {})) + ours["lost"] == 2


@pytest.mark.slow
def test_a_score_that_never_ends_is_stopped_and_the_others_are_not(own, succeeds):
    words = own("time.sleep(600)")
    succeeds("card", *words, "--minutes", "0.2")
    ours, theirs = content()["trials"][0]["rows"]
    assert (ours["lost"], ours["why"]) == (2, "stopped after 0.2 minutes")
    assert set(theirs["numbers"]["test_mse"]) == {"1", "2"}


@pytest.mark.slow
def test_cards_are_compared_without_their_runs(own, succeeds, refused):
    words = own(GOOD)
    succeeds("card", *words)
    shutil.move("outputs/cards/mine-quick.json", "a.json")
    succeeds("card", *words[:2], "model=gaussian", *words[3:])
    shutil.move("outputs/cards/gaussian-quick.json", "b.json")
    shutil.rmtree("outputs")
    table = succeeds("card", "--compare", "a.json", "b.json").stdout
    assert all(name in table for name in ("mine", "gaussian", "gaussian_learned"))
    succeeds("card", "--compare", "a.json", "b.json", "--output", "table.csv")
    assert len(Path("table.csv").read_text().splitlines()) == 4
    other = content("b.json") | {"level": "full"}
    Path("b.json").write_text(json.dumps(other))
    assert "b.json is of level full" in refused("card", "--compare", "a.json", "b.json")


@pytest.mark.slow
def test_a_trial_is_added_to_a_card_that_is_there(own, succeeds, refused, tmp_path):
    succeeds("card", *own(GOOD))
    Path("outputs/cards/mine-quick.json").rename("a.json")
    (before,) = content("a.json")["trials"]
    (tmp_path / "my_conf" / "trial" / "other.yaml").write_text(TRIAL)
    into = ("card", "--into", "a.json", "--config-dir", "my_conf", "--device", "cpu")
    for words in (["--seeds", "3"], ["--full"], ["--baseline", "model=dot"], ["model=dot"]):
        assert "--into: a.json has " in refused(*into, "--trials", "copy", *words)
    Path("b.json").write_text(json.dumps(content("a.json") | {"trials": []}))
    for words in (["--into", "b.json"], ["--output", "c.html"]):
        assert "--into takes a CARD.json" in refused(*into, *words)
    for _ in range(2):
        succeeds(*into, "--trials", "other,mine")
        first, second = content("a.json")["trials"]
        assert first == before
        assert second["name"] == "other"
        assert [row["numbers"] for row in second["rows"]] == [r["numbers"] for r in first["rows"]]
        assert "other" in Path("a.html").read_text()


REFUSED = {
    "nothing": ([], "name what the card is of"),
    "a word": (["cosine"], "'cosine' is not a setting such as model=cosine"),
    "an unknown choice": (["model=cosin", *SMALL[:3]], "cosine"),
    "an unknown trial": (["model=cosine", "--trials", "nothing"], "--trials: 'nothing'"),
    "another ending": (["model=cosine", "--output", "a.txt"], "must end with .html"),
    "a page that cannot be written": (
        ["model=cosine", "--output", "/dev/null/a.html"],
        "--output: /dev/null/a.html cannot be written",
    ),
    "words and cards": (["model=dot", "--compare", "a.json"], "--compare takes cards alone"),
    "no minutes": (["model=cosine", "--minutes", "0"], "--minutes must be greater than 0"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_card_is_refused_in_a_sentence(refused, words, message):
    assert message in refused("card", "--device", "cpu", *words)
    assert not Path("outputs").exists()


def hostile(**changes):
    """Write a shipped card without its trial sine, whose rows of the subject have these changes."""
    card = json.loads((ROOT / "docs" / "cards" / "dot-quick.json").read_text())
    card["trials"] = [trial for trial in card["trials"] if trial["name"] != "sine"]
    for trial in card["trials"]:
        trial["rows"][0] |= changes
        card["subject"] = trial["rows"][0]["label"]
    Path("a.json").write_text(json.dumps(card))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        (
            {
                "label": "dot model._target_=evil.S",
                "words": ["model._target_=evil.S", "model=dot", "normalizer=softmax"],
            },
            "model._target_=evil.S",
        ),
        (
            {"label": "../../evil", "words": ["model=../../evil", "normalizer=softmax"]},
            "model=../../evil",
        ),
        ({"tuned": {"tracker._target_": "evil.S"}}, "tracker._target_=evil.S"),
    ],
    ids=["a class", "a path", "a tuned value"],
)
@pytest.mark.parametrize(
    "how", [["verify"], ["card", "--device", "cpu", "--trials", "sine", "--into"]], ids=" ".join
)
def test_a_card_of_somebody_else_runs_no_code(refused, tmp_path, how, changes, word):
    (tmp_path / "evil.py").write_text("open('harmed', 'w')\nclass S: pass\n")
    hostile(**changes)
    assert f"a.json: '{word}' is refused" in refused(*how, "a.json")
    assert {path.name for path in tmp_path.iterdir()} == {"evil.py", "a.json"}


def measured(path):
    """The measurements of a card, without the times of its runs."""
    trials = json.loads(path.read_text())["trials"]
    return [
        [{name: value for name, value in row.items() if name != "seconds"} for row in each["rows"]]
        for each in trials
    ]


@pytest.mark.slow
def test_a_card_that_was_killed_five_times_is_the_same(own, tmp_path):
    words = ["-m", "attnexp", "card", *own(GOOD)]
    shutil.copytree(tmp_path / "my_conf", tmp_path / "whole" / "my_conf")
    shutil.copy(tmp_path / "mine.py", tmp_path / "whole")
    whole = python(*words, cwd=tmp_path / "whole", timeout=300)
    assert whole.returncode == 0, whole.stderr
    killed = [sys.executable, *words]
    environment = {**os.environ, "PYTHONPATH": IMPORTED}
    for seconds in (2, 4, 6, 7, 8):
        with subprocess.Popen(
            killed, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        ) as begun:
            time.sleep(seconds)
            os.killpg(begun.pid, signal.SIGKILL)
    ended = python(*words, cwd=tmp_path, timeout=300)
    assert ended.returncode == 0, ended.stderr
    name = Path("outputs/cards/mine-quick.json")
    assert measured(tmp_path / name) == measured(tmp_path / "whole" / name)


@pytest.mark.slow
def test_rows_of_a_card_are_made_anew(own, succeeds, in_process, refused):
    """The same build gives the same numbers; a number that no run gives is found."""
    succeeds("card", *own(GOOD))
    there = ("--config-dir", "my_conf")
    card = Path("outputs/cards/mine-quick.json")
    answer = succeeds("verify", str(card), *there)
    assert answer.stdout.count(": bit-identical") == 2
    assert "not checked: 0 of 2 rows" in answer.stdout
    one = succeeds("verify", str(card), *there, "--rows", "1", "--format", "json")
    found = json.loads(one.stdout)
    assert [each["outcome"] for each in found["rows"]] == ["bit-identical"]
    assert faults("verify", found) == []
    forged = json.loads(card.read_text())
    forged["trials"][0]["rows"][0]["numbers"]["test_mse"]["1"] *= 1.001
    Path("forged.json").write_text(json.dumps(forged))
    answer = in_process("verify", "forged.json", *there)
    assert answer.returncode == 1
    assert "mine, mine: different: test_mse of seed 1 by " in answer.stdout
    assert "1 of 2 rows differ from what was stored" in answer.stderr
    forged["trials"][0]["words"].append("data.noise=2")
    Path("forged.json").write_text(json.dumps(forged))
    answer = in_process("verify", "forged.json", *there)
    assert "2 of 2 rows could not be verified" in answer.stderr
    assert "give a CARD.json" in refused("verify", "outputs", "--rows", "2")
    assert "runs or one card" in refused("verify", "outputs", str(card))
    assert "--where chooses runs" in refused("verify", str(card), "--where", "data=sine")


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_device_that_is_not_there_is_refused_before_the_first_row(refused, tmp_path, more):
    said = refused("card", "--quick", "model=cosine", "--device", "cuda:99", *more)
    assert "device=cuda:99 is not available: PyTorch finds " in said
    assert not (tmp_path / "outputs").exists()
