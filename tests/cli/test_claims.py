"""`attnexp claims`: the list, a claim of one's own from its runs to its card, and wrong words."""

import hashlib
import json
import re
from datetime import UTC, datetime

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
seeds: 6
minutes: 0.1
decides:
  is: direction
  metric: loo_mse
  first: model = gaussian_learned
  second: model.width = 32.0
  says: better
  equal_within: 0.001
"""

MINE_AT = "my_conf/claim/mine"


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / MINE_AT
    folder.mkdir(parents=True)
    (folder / "claim.yaml").write_text(MINE)
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
    assert re.search(r"loo_mse of model.width = 32.0 minus .* over 6 seeds: worse", card)
    assert "(not read at its source)" in card
    assert "- **verdict**: reproduced" in (tmp_path / "page.md").read_text()
    again = in_process("claims", "mine", *mine)
    assert re.findall(r"^skipped +([0-9]+)$", again.stdout, re.MULTILINE) == ["6", "42"]
    more = in_process("claims", "mine", *mine, "--seeds", "7")
    assert "over 7 seeds: worse" in more.stdout
    listed = in_process("claims", *mine).stdout
    (own,) = (line for line in listed.splitlines() if line.startswith("mine "))
    assert own.split()[1] == "reproduced"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nw_rat"], "claim 'nw_rat' is not a choice"),
        (["nw_rate", "--all"], "name a claim or --all, and not both"),
        (["nw_rate", "--seeds", "0"], "'0' is not a positive integer"),
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


def test_a_decision_of_ones_own_lies_next_to_the_claim(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(OWN)
    text = MINE.partition("decides:")[0] + "decides: {is: own.Always}\n"
    (tmp_path / MINE_AT / "claim.yaml").write_text(text)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 0, answer.stderr
    assert "48 runs say so" in answer.stdout
    refused = in_process("claims", "--config-dir", "nowhere")
    assert refused.returncode == 2
    assert "there is no folder" in refused.stderr


COMPUTED = """# Is one half of it so?
claims: it is
source: {paper: a paper, place: page 1, printed: "1"}
setup: theirs
changed: ours
prediction: {date: "2026-11-23", says: it will}
computes: {is: own.halves, of: 4}
axes: [step, half]
seeds: 6
minutes: 0.1
decides: {is: bounded, number: half@2, at_most: 2.0}
shown: [{number: half@1}, {number: half@7}]
"""

POINTS = """def halves(seed, of):
    with open("computed.txt", "a") as file:
        print(seed, file=file)
    for x in (1, 2, 4):
        yield "half", x, of / 2 + x / 1000 - 1
"""


def test_a_claim_can_compute_instead_of_training(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    (tmp_path / MINE_AT / "claim.yaml").write_text(COMPUTED)
    answer = in_process("claims", "mine", *mine, "--output", "page.md")
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^verdict +reproduced$", answer.stdout, re.MULTILINE)
    assert "half@2 is 1.002, the same for all 6 seeds, and at most 2 is claimed" in (
        " ".join(answer.stdout.split())
    )
    assert re.search(r"half@1: 1.001, mean of 6 seeds", answer.stdout)
    assert re.search(r"half@7: skip", answer.stdout)
    picture = tmp_path / "outputs" / "claims" / "mine" / "figures" / "claim.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    link = "![mine: claim](<outputs/claims/mine/figures/claim.png>)"
    assert link in (tmp_path / "page.md").read_text()
    (tmp_path / "pages").mkdir()
    assert in_process("claims", *mine, "--output", "pages/page.md").returncode == 0
    assert link.replace("<", "<../") in (tmp_path / "pages" / "page.md").read_text()
    assert in_process("claims", "mine", *mine, "--seeds", "7").returncode == 0
    # no seed is computed twice, unless the claim computes something else
    assert (tmp_path / "computed.txt").read_text().split() == list("0123456")
    text = COMPUTED.replace("of: 4", "of: 8")
    (tmp_path / MINE_AT / "claim.yaml").write_text(text)
    listed = in_process("claims", *mine).stdout
    (own,) = (line for line in listed.splitlines() if line.startswith("mine "))
    assert own.split()[1:3] == ["not", "run"]


def test_what_computes_must_be_there(in_process, mine, tmp_path):
    text = COMPUTED.replace("own.halves", "own.halvs")
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    (tmp_path / MINE_AT / "claim.yaml").write_text(text)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 2
    sentence = "computes: own.py has no function 'halvs'. Did you mean 'halves'? Choose halves."
    assert sentence in answer.stderr


def rewrite(tmp_path, old, new, text=MINE):
    assert old in text
    (tmp_path / MINE_AT / "claim.yaml").write_text(text.replace(old, new))


def line_of(answer, name="mine"):
    (line,) = (line for line in answer.stdout.splitlines() if line.startswith(f"{name} "))
    return line


def test_runs_of_what_the_claim_was_before_do_not_count(in_process, mine, tmp_path):
    first = in_process("claims", "mine", *mine).stdout.partition("\nmine\n")[2]
    rewrite(tmp_path, "data.num_train=20", "data.num_train=20, data.noise=3.0")
    noisy = in_process("claims", "mine", *mine).stdout
    assert "48 runs are left out: the claim as it is now has no such job" in noisy
    rewrite(tmp_path, "", "")
    again = in_process("claims", "mine", *mine).stdout.partition("\nmine\n")[2]
    because = [line for line in first.splitlines() if line.startswith(("verdict", "because"))]
    assert len(because) == 2
    assert [line for line in again.splitlines() if line.startswith(("verdict", "because"))] == (
        because
    )
    assert "48 runs are left out" in again
    assert "mine: 48 runs are left out" in in_process("claims", *mine).stdout


def test_points_are_computed_again_after_the_code_was_edited(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 0
    (tmp_path / MINE_AT / "own.py").write_text(POINTS.replace("- 1", "+ 20"))
    assert line_of(in_process("claims", *mine)).split()[1:3] == ["not", "run"]
    (tmp_path / "computed.txt").unlink()
    (tmp_path / MINE_AT / "own.py").write_text(f"# a comment\n{POINTS}")
    assert line_of(in_process("claims", *mine)).split()[1] == "reproduced"


def test_points_are_computed_again_after_a_module_that_own_py_imports_was_edited(
    in_process, mine, tmp_path
):
    (tmp_path / "claim_points.py").write_text(POINTS)
    (tmp_path / MINE_AT / "own.py").write_text("from claim_points import halves\n")
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 0
    assert line_of(in_process("claims", *mine)).split()[1] == "reproduced"
    (tmp_path / "claim_points.py").write_text(POINTS.replace("- 1", "+ 20"))
    assert line_of(in_process("claims", *mine)).split()[1:3] == ["not", "run"]


def test_a_damaged_file_of_points_is_computed_again(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 0
    stored = tmp_path / "outputs" / "claims" / "mine" / "computed.json"
    whole = stored.read_text()
    for damage in ("{", re.sub(r"[0-9.]+\]", ".inf]", whole, count=1), "[1, 2]"):
        assert damage != whole
        stored.write_text(damage)
        assert line_of(in_process("claims", *mine)).split()[1:3] == ["not", "run"]
        answer = in_process("claims", "mine", *mine)
        assert re.search(r"^verdict +reproduced$", answer.stdout, re.MULTILINE)
        assert stored.read_text() == whole


def test_a_point_that_is_not_finite_is_refused(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS.replace("x / 1000", "float('nan')"))
    rewrite(tmp_path, "", "", COMPUTED)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 2
    assert "halves gave nan for half at 1, seed 0: a point must be finite" in answer.stderr
    assert in_process("claims", *mine).returncode == 0


def test_the_list_runs_no_code_of_a_claim(in_process, mine, tmp_path):
    text = f"open('imported.txt', 'w').close()\n{OWN}\n\n{POINTS}"
    (tmp_path / MINE_AT / "own.py").write_text(text)
    decides = "decides: {is: bounded, number: half@2, at_most: 2.0}"
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 0
    (tmp_path / "imported.txt").unlink()
    (tmp_path / MINE_AT / "own.py").write_text(f"# an edited file is loaded again\n{text}")
    assert line_of(in_process("claims", *mine)).split()[1] == "reproduced"
    for word in ("own.Always", "own.Gone"):
        part = f"is: all_of, parts: [{{is: {word}}}, {{is: bounded, number: half@2, at_most: 2}}]"
        for said in (f"is: {word}", part):
            rewrite(tmp_path, decides, f"decides: {{{said}}}", COMPUTED)
            listed = in_process("claims", *mine)
            assert listed.returncode == 0, listed.stderr
            assert line_of(listed).split()[1:3] == ["not", "judged"]
    rewrite(tmp_path, decides, "decides: {_target_: os.system, command: touch x.txt}", COMPUTED)
    refused = in_process("claims", "mine", *mine)
    assert refused.returncode == 2
    assert "decides has no 'is', the name of a decision" in refused.stderr
    assert not (tmp_path / "x.txt").exists()
    assert not (tmp_path / "imported.txt").exists()
    rewrite(tmp_path, decides, "decides: {is: own.Always}", COMPUTED)
    assert "0 runs say so" in in_process("claims", "mine", *mine).stdout
    assert (tmp_path / "imported.txt").exists()


def test_the_list_judges_a_claim_of_attnexps_by_its_own_py(in_process):
    name = "learned_width_is_cross_validation"
    place = f"output_dir=outputs/claims/{name}"
    for words in (["model=gaussian_learned"], ["model=gaussian", "model.width=1.04"]):
        job = ["data=sine", *words, "seed=1", place, "figures=false"]
        assert in_process(*job).returncode == 0
    assert "cannot tell: 5 more seeds" in line_of(in_process("claims"), name)


def test_an_error_in_one_claim_is_its_own_line(in_process, mine, tmp_path):
    for name, text in {"torn": "claims: [", "bare": "# Is it?\nclaims: it is\n"}.items():
        (tmp_path / "my_conf" / "claim" / name).mkdir()
        (tmp_path / "my_conf" / "claim" / name / "claim.yaml").write_text(text)
    listed = in_process("claims", *mine)
    assert listed.returncode == 0, listed.stderr
    assert line_of(listed, "torn").split()[1] == "failed"
    assert "missing required field" in listed.stdout
    assert line_of(listed).split()[1:3] == ["not", "run"]


FAULTY = """from attnexp.claims.decision import Decision


class Faulty(Decision):
    def decide(self, evidence):
        return 1 / 0
"""


def test_a_decision_that_ends_in_an_error_is_a_failed_verdict(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(f"{FAULTY}\n\n{POINTS}")
    decides = "decides: {is: bounded, number: half@2, at_most: 2.0}"
    rewrite(tmp_path, decides, "decides: {is: own.Faulty}", COMPUTED)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 1
    assert "Faulty ended in ZeroDivisionError: division by zero" in answer.stdout
    assert "bug in attnexp" not in answer.stderr


def test_a_prediction_that_changed_after_the_runs_is_told(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "says: it will", "says: it may", COMPUTED)
    in_process("claims", "mine", *mine, "--dry-run")
    assert not (tmp_path / "outputs" / "claims" / "mine").exists()
    rewrite(tmp_path, "", "", COMPUTED)
    card = in_process("claims", "mine", *mine).stdout
    assert "after the first run" not in card
    rewrite(tmp_path, "says: it will", "says: it will not", COMPUTED)
    (tmp_path / "page.md").unlink(missing_ok=True)
    assert in_process("claims", *mine, "--output", "page.md").returncode == 0
    assert "changed after the first run; before: it will\n" in (tmp_path / "page.md").read_text()
    card = in_process("claims", "mine", *mine).stdout
    assert re.search(r"changed on 20..-..-..T.*, after the first run; before: it will$", card, re.M)


def test_the_first_job_finds_a_mistyped_metric(in_process, mine, tmp_path):
    rewrite(tmp_path, "metric: loo_mse", "metric: lo_mse")
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 2
    assert "has no number 'lo_mse'. Did you mean 'loo_mse'" in answer.stderr
    assert len(list((tmp_path / "outputs" / "claims" / "mine").glob("*/summary.json"))) == 2


def test_a_mistyped_curve_costs_one_seed(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "number: half@2,", "number: halv@2,", COMPUTED)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 2
    assert "has no number 'halv@2'. Did you mean 'half@2'" in answer.stderr
    assert (tmp_path / "computed.txt").read_text().split() == ["0"]


def test_a_dry_run_says_what_would_run(in_process, mine, tmp_path):
    answer = in_process("claims", "mine", *mine, "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert re.findall(r"^to do +([0-9]+)$", answer.stdout, re.MULTILINE) == ["6", "42"]
    assert not (tmp_path / "outputs").exists()
    refused = in_process("claims", *mine, "--dry-run")
    assert refused.returncode == 2
    assert "--dry-run takes the name of a claim, or --all" in refused.stderr


def test_seeds_begin_where_the_claim_says(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 0
    rewrite(tmp_path, "seeds: 6", "seeds: 6\nfirst_seed: 3", COMPUTED)
    answer = in_process("claims", "mine", *mine)
    assert "for all 6 seeds" in answer.stdout
    assert (tmp_path / "computed.txt").read_text().split() == list("012345678")


def test_a_claim_of_another_task_carries_over_or_not(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "seeds: 6", "seeds: 6\nsame_task: false\namended: a bound moved", COMPUTED)
    card = in_process("claims", "mine", *mine).stdout
    assert re.search(r"^verdict +carries over to this task$", card, re.MULTILINE)
    assert re.search(r"^amended +a bound moved$", card, re.MULTILINE)
    rewrite(
        tmp_path,
        "at_most: 2.0",
        "at_most: 1.0",
        COMPUTED.replace("seeds: 6", "seeds: 6\nsame_task: false"),
    )
    assert "does not carry over to this task" in line_of(in_process("claims", *mine))


def test_looks_share_the_level_of_a_claim(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS.replace("x / 1000", "seed / 1000"))
    rewrite(tmp_path, "at_most: 2.0", "at_most: 1.005", COMPUTED)
    # means of 1.0025 and Student's quantiles for 5 degrees of freedom: 2.571 at 5%, 4.032 at 1%
    once = in_process("claims", "mine", *mine).stdout
    assert "[1.001, 1.004] over 6 seeds" in once
    text = COMPUTED.replace("at_most: 2.0", "at_most: 1.005")
    rewrite(tmp_path, "seeds: 6", "seeds: 6\nlooks: 5", text)
    assert "[0.9994, 1.006] over 6 seeds" in in_process("claims", "mine", *mine).stdout


def test_the_list_imports_no_package_to_find_configurations(in_process, mine, tmp_path):
    short = MINE.replace("seeds: 6", "seeds: 1").replace(
        '"model.width=0.5,1.0,', '"model.width=1.0,'
    )
    rewrite(tmp_path, "", "", short)
    assert in_process("claims", "mine", *mine).returncode == 0
    package = tmp_path / "theirs"
    (package / "conf").mkdir(parents=True)
    (package / "__init__.py").write_text("open('imported.txt', 'w').close()\n")
    word = "- ['hydra.searchpath=[pkg://theirs.conf]', model=gaussian_learned"
    rewrite(tmp_path, "- [model=gaussian_learned", word, short)
    in_process("claims", *mine)
    assert not (tmp_path / "imported.txt").exists()
    primary = "defaults: [_self_]\nhydra: {searchpath: ['pkg://theirs.conf']}\n"
    (tmp_path / "my_conf" / "config.yaml").write_text(primary)
    in_process("claims", *mine)
    assert not (tmp_path / "imported.txt").exists()


PROBED = """# Does a map matter?
claims: it does
source: {paper: a paper, place: page 1, printed: "1"}
setup: theirs
changed: ours
prediction: {date: "2026-11-23", says: it will}
sweeps: [[model=gaussian_learned, train.max_epochs=2, data.num_train=10]]
probe: [uniform]
picture: {kind: loss, metric: loss}
seeds: 2
minutes: 0.1
faults: [it had one seed]
decides:
  is: bounded
  number: probe.uniform.test_mse
  at_least: 0.0
shown: [{number: test_mse, where: seed=1}]
"""


def test_runs_of_a_claim_are_probed_and_drawn_and_are_ordinary_runs(in_process, mine, tmp_path):
    rewrite(tmp_path, "", "", PROBED)
    words = ("model=gaussian_learned", "train.max_epochs=2", "data.num_train=10", "figures=false")
    for seed in range(2):
        place = "output_dir=outputs/claims/mine"
        assert in_process(*words, f"seed={seed}", place).returncode == 0
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^verdict +cannot tell: 4 more seeds$", answer.stdout, re.MULTILINE)
    assert re.search(r"^known fault +it had one seed$", answer.stdout, re.MULTILINE)
    assert re.search(r"test_mse where seed=1: .*, mean of 1 seeds", answer.stdout)
    assert re.findall(r"^skipped +([0-9]+)$", answer.stdout, re.MULTILINE) == ["2"]
    folder = tmp_path / "outputs" / "claims" / "mine"
    assert len(list(folder.glob("*/interventions.csv"))) == 2
    assert list(folder.glob("figures/loss*.png"))
    assert "gaussian_learned" in in_process("results").stdout


def test_a_prediction_is_stored_before_the_first_run(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text("def halves(seed, of):\n    1 / 0\n")
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 2
    (stored,) = json.loads((tmp_path / "outputs/claims/mine/prediction.json").read_text())
    assert (stored["date"], stored["says"]) == ("2026-11-23", "it will")
    assert stored["digest"] == hashlib.sha256(b"2026-11-23\nit will").hexdigest()
    assert stored["time"].startswith(str(datetime.now(UTC).year))
    assert stored["after_runs"] is False


def test_all_claims_are_judged_although_one_cannot_be(in_process, mine, tmp_path, monkeypatch):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "", "", COMPUTED)
    (tmp_path / "my_conf" / "claim" / "bare").mkdir()
    (tmp_path / "my_conf" / "claim" / "bare" / "claim.yaml").write_text("# Is it?\nclaims: it is\n")
    monkeypatch.setattr("attnexp.cli.claims.names", lambda config_dir: ["bare", "mine"])
    answer = in_process("claims", "--all", *mine, "--output", "page.md")
    assert answer.returncode == 1
    assert "bare could not be judged" in answer.stderr
    assert line_of(answer, "bare").split()[1] == "failed"
    assert line_of(answer).split()[1] == "reproduced"
    page = (tmp_path / "page.md").read_text()
    assert re.findall("^## (.*)$", page, re.MULTILINE) == ["bare", "mine"]


def test_a_decision_of_ones_own_names_the_numbers_that_it_needs(in_process, mine, tmp_path):
    more = "\n    def numbers(self):\n        return ['half@2', 'third@2']\n"
    (tmp_path / MINE_AT / "own.py").write_text(f"{OWN}{more}\n\n{POINTS}")
    rewrite(tmp_path, "is: bounded, number: half@2, at_most: 2.0", "is: own.Always", COMPUTED)
    answer = in_process("claims", "mine", *mine)
    assert answer.returncode == 2
    assert "the first job of the claim has no number 'third@2'" in answer.stderr
    assert (tmp_path / "computed.txt").read_text().split() == ["0"]


def test_points_of_another_results_version_are_computed_again(in_process, mine, tmp_path):
    (tmp_path / MINE_AT / "own.py").write_text(POINTS)
    rewrite(tmp_path, "", "", COMPUTED)
    assert in_process("claims", "mine", *mine).returncode == 0
    stored = tmp_path / "outputs" / "claims" / "mine" / "computed.json"
    content = json.loads(stored.read_text())
    content["origin"]["results"] -= 1
    stored.write_text(json.dumps(content))
    assert line_of(in_process("claims", *mine)).split()[1:3] == ["not", "run"]
