"""`attnexp claims`: the list, a claim of one's own from its runs to its record, and wrong words."""

import hashlib
import json
import re
from datetime import UTC, datetime

import pytest

from attnexp.core.errors import CommandEnded, RequestError, RunFailedError

MINE = """# Is a learned width at a minimum?
claims: it is
source: {paper: a paper, place: page 1, printed: "1", read: false}
setup: theirs
changed: ours
prediction: {date: "2026-11-23", says: it will}
sweeps:
  - [model=gaussian_learned, data.num_train=20]
  - [model=gaussian, model.width=32.0, data.num_train=20]
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

OWN = """from attnexp.claims.decision import Decision, Verdict


class Always(Decision):
    def decide(self, evidence):
        return Verdict("reproduced", f"{len(evidence.runs)} runs say so")
"""

BARE = "# Is it?\nclaims: it is\n"
"""A claim without what it takes to judge it."""


@pytest.fixture
def write(tmp_path):
    """Writes a claim and, where it is given, its own.py."""

    def claim(text=COMPUTED, own=None, name="mine"):
        folder = tmp_path / "my_conf" / "claim" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "claim.yaml").write_text(text)
        if own is not None:
            (folder / "own.py").write_text(own)

    return claim


@pytest.fixture
def claims(in_process):
    """Runs `attnexp claims` and returns what it prints, or what it says if it is refused."""

    def run(*words, code=0):
        answer = in_process("claims", *words, "--config-dir", "my_conf")
        assert answer.returncode == code, answer.stdout + answer.stderr
        return answer.stderr if code else answer.stdout

    return run


@pytest.fixture
def stored(tmp_path):
    """The folder with the results of the claim."""
    return tmp_path / "outputs" / "claims" / "mine"


def line_of(listed, name="mine"):
    (line,) = (line for line in listed.splitlines() if line.startswith(f"{name} "))
    return line


def verdict_in(listed):
    """The first words of the verdict of the claim in the list."""
    return " ".join(line_of(listed).split()[1:3])


def changed(text, old, new):
    assert old in text
    return text.replace(old, new)


def computed_seeds(tmp_path):
    return "".join((tmp_path / "computed.txt").read_text().split())


def test_claims_are_listed_with_their_verdicts(write, claims):
    write(MINE)
    listed = claims()
    assert verdict_in(listed) == "not run"
    assert line_of(listed).rstrip().endswith("Is a learned width at a minimum?")
    assert line_of(listed, "nw_rate")


@pytest.mark.slow
def test_a_claim_of_ones_own_is_run_and_judged(write, claims, tmp_path):
    write(MINE)
    record = claims("mine", "--output", "page.md").partition("\nmine\n")[2]
    assert "reproduced" in record
    assert re.search(r"loo_mse of model = gaussian_learned minus .* over 6 seeds: better", record)
    assert "(not read at its source)" in record
    assert "- **verdict**: reproduced" in (tmp_path / "page.md").read_text()
    assert re.findall(r"^skipped +([0-9]+)$", claims("mine"), re.MULTILINE) == ["6", "6"]
    assert "over 7 seeds: better" in claims("mine", "--seeds", "7")
    assert verdict_in(claims()).startswith("reproduced ")


@pytest.mark.check
def test_rows_of_a_claim_are_tuned_as_those_of_a_card(write, claims, stored):
    rows = """  - - data=reverse
    - data.num_train=20
    - data.num_validation=20
    - data.num_test=10
    - "model=dot,additive"
    - train.max_epochs=2
tune: ["optim.lr=0.001,0.01"]
"""
    text = re.sub(r"(?s)(?<=sweeps:\n).*(?=seeds: 6)", lambda _: rows, MINE)
    text = changed(text, "model = gaussian_learned", "model = dot")
    text = changed(text, "model.width = 32.0", "model = additive")
    write(changed(changed(text, "loo_mse", "test_loss"), "seeds: 6", "seeds: 2"))
    first = claims("mine")
    record = first.partition("\nmine\n")[2]
    summaries = [json.loads(path.read_text()) for path in stored.glob("*/summary.json")]
    rates = {}
    for model in ("dot", "additive"):
        own = [each for each in summaries if each["choices"]["model"] == model]
        tried = {}
        for each in own:
            if each["config"]["seed"] >= 1000:
                rate, loss = each["config"]["optim"]["lr"], each["metrics"]["val_loss"]
                tried.setdefault(rate, []).append(loss)
        assert {len(losses) for losses in tried.values()} == {3}
        best = min(tried, key=lambda rate: sum(tried[rate]))
        compared = [each for each in own if each["config"]["seed"] < 1000]
        assert [each["config"]["optim"]["lr"] for each in compared] == [best, best]
        rates[model] = best
    assert re.search(
        rf"^rate +tuned for each row, optim.lr=0.001,0.01: additive {rates['additive']}, "
        rf"dot {rates['dot']}$",
        record,
        re.MULTILINE,
    )
    assert "over 2 seeds" in record
    assert "left out" not in record
    assert "last pass, model = dot" in record
    assert re.findall(r"^skipped +([0-9]+)$", claims("mine"), re.MULTILINE)[-1] == "4"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nw_rat"], "claim 'nw_rat' is not a choice"),
        (["nw_rate", "--all"], "name a claim or --all, and not both"),
        (["nw_rate", "--seeds", "0"], "'0' is not a positive integer"),
        (["--dry-run"], "--dry-run takes the name of a claim, or --all"),
        (["--config-dir", "nowhere"], "there is no folder"),
    ],
)
def test_wrong_words(refused, words, sentence):
    assert sentence in refused("claims", *words)


@pytest.mark.slow
def test_a_decision_of_ones_own_lies_next_to_the_claim(write, claims):
    write(MINE.partition("decides:")[0] + "decides: {is: own.Always}\n", OWN)
    assert "12 runs say so" in claims("mine")


def test_a_claim_can_compute_instead_of_training(write, claims, stored, tmp_path):
    write(COMPUTED, POINTS)
    record = claims("mine", "--output", "page.md")
    assert re.search(r"^verdict +reproduced$", record, re.MULTILINE)
    assert "half@2 is 1.002, the same for all 6 seeds, and at most 2 is claimed" in (
        " ".join(record.split())
    )
    assert re.search(r"half@1: 1.001, mean of 6 seeds", record)
    assert re.search(r"half@7: skip", record)
    assert (stored / "figures" / "claim.png").read_bytes()[:4] == b"\x89PNG"
    link = "![mine: claim](<outputs/claims/mine/figures/claim.png>)"
    assert link in (tmp_path / "page.md").read_text()
    (tmp_path / "pages").mkdir()
    claims("--output", "pages/page.md")
    assert link.replace("<", "<../") in (tmp_path / "pages" / "page.md").read_text()
    claims("mine", "--seeds", "7")
    # no seed is computed twice, unless the claim computes something else
    assert computed_seeds(tmp_path) == "0123456"
    write(changed(COMPUTED, "of: 4", "of: 8"))
    assert verdict_in(claims()) == "not run"


@pytest.mark.slow
def test_runs_of_what_the_claim_was_before_do_not_count(write, claims):
    write(MINE)
    first = claims("mine").partition("\nmine\n")[2]
    write(changed(MINE, "data.num_train=20", "data.num_train=20, data.noise=3.0"))
    assert "12 runs are left out: the claim as it is now has no such job" in claims("mine")
    write(MINE)
    again = claims("mine").partition("\nmine\n")[2]
    because = [line for line in first.splitlines() if line.startswith(("verdict", "because"))]
    assert len(because) == 2
    assert [line for line in again.splitlines() if line.startswith(("verdict", "because"))] == (
        because
    )
    assert "12 runs are left out" in again
    assert "mine: 12 runs are left out" in claims()


def test_points_are_computed_again_after_a_module_that_own_py_imports_was_edited(
    write, claims, tmp_path
):
    (tmp_path / "claim_points.py").write_text(POINTS)
    write(COMPUTED, "from claim_points import halves\n")
    claims("mine")
    assert verdict_in(claims()).startswith("reproduced ")
    (tmp_path / "claim_points.py").write_text(POINTS.replace("- 1", "+ 20"))
    assert verdict_in(claims()) == "not run"


def test_a_point_that_is_not_finite_is_refused(write, claims):
    write(COMPUTED, POINTS.replace("x / 1000", "float('nan')"))
    sentence = "halves gave nan for half at 1, seed 0: a point must be finite"
    assert sentence in claims("mine", code=2)
    claims()


def test_a_point_may_be_a_tensor_of_one_number_and_no_other(write, claims):
    tensor = "__import__('torch').tensor"
    write(COMPUTED, POINTS.replace("x / 1000", f"{tensor}(x / 1000)"))
    assert re.search(r"^verdict +reproduced$", claims("mine"), re.MULTILINE)
    write(own=POINTS.replace("x / 1000", f"{tensor}([x / 1000, 0.0])"))
    said = claims("mine", code=2)
    assert "computes: halves failed for seed 0: ValueError: only one element tensors" in said


def test_the_list_runs_no_code_of_a_claim(write, claims, tmp_path):
    text = f"open('imported.txt', 'w').close()\n{OWN}\n\n{POINTS}"
    decides = "decides: {is: bounded, number: half@2, at_most: 2.0}"
    write(COMPUTED, text)
    claims("mine")
    (tmp_path / "imported.txt").unlink()
    write(own=f"# an edited file is loaded again\n{text}")
    assert verdict_in(claims()).startswith("reproduced ")
    for word in ("own.Always", "own.Gone"):
        part = f"is: all_of, parts: [{{is: {word}}}, {{is: bounded, number: half@2, at_most: 2}}]"
        for said in (f"is: {word}", part):
            write(changed(COMPUTED, decides, f"decides: {{{said}}}"))
            assert verdict_in(claims()) == "not judged"
    write(changed(COMPUTED, decides, "decides: {_target_: os.system, command: touch x.txt}"))
    assert "decides has no 'is', the name of a decision" in claims("mine", code=2)
    assert not (tmp_path / "x.txt").exists()
    assert not (tmp_path / "imported.txt").exists()
    write(changed(COMPUTED, decides, "decides: {is: own.Always}"))
    assert "0 runs say so" in claims("mine")
    assert (tmp_path / "imported.txt").exists()


def test_the_list_judges_a_claim_of_attnexps_by_its_own_py(succeeds):
    name = "learned_width_is_cross_validation"
    place = f"output_dir=outputs/claims/{name}"
    learned = ["model=gaussian_learned", "model.check_width=false"]
    for words in (learned, ["model=gaussian", "model.width=1.04"]):
        succeeds("data=sine", *words, "seed=1", place, "figures=false")
    assert "cannot tell: 5 more seeds" in line_of(succeeds("claims").stdout, name)


def test_an_error_in_one_claim_is_its_own_line(write, claims):
    write(MINE)
    write("claims: [", name="torn")
    write(BARE, name="bare")
    listed = claims()
    assert line_of(listed, "torn").split()[1] == "failed"
    assert "missing required field" in listed
    assert verdict_in(listed) == "not run"


FAULTY = """from attnexp.claims.decision import Decision


class Faulty(Decision):
    def decide(self, evidence):
        return 1 / 0
"""


def test_a_decision_that_ends_in_an_error_is_a_failed_verdict(write, in_process):
    decides = "decides: {is: bounded, number: half@2, at_most: 2.0}"
    write(changed(COMPUTED, decides, "decides: {is: own.Faulty}"), f"{FAULTY}\n\n{POINTS}")
    answer = in_process("claims", "mine", "--config-dir", "my_conf")
    assert answer.returncode == 1
    assert "Faulty ended in ZeroDivisionError: division by zero" in answer.stdout
    assert "bug in attnexp" not in answer.stderr


def test_a_prediction_that_changed_after_the_runs_is_told(write, claims, stored, tmp_path):
    write(changed(COMPUTED, "says: it will", "says: it may"), POINTS)
    claims("mine", "--dry-run")
    assert not stored.exists()
    write(COMPUTED)
    assert "after the first run" not in claims("mine")
    write(changed(COMPUTED, "says: it will", "says: it will not"))
    claims("--output", "page.md")
    assert "changed after the first run; before: it will\n" in (tmp_path / "page.md").read_text()
    told = r"changed on 20..-..-..T.*, after the first run; before: it will$"
    assert re.search(told, claims("mine"), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("metric: loo_mse", "metric: lo_mse", "has no number 'lo_mse'. Did you mean 'loo_mse'"),
        (
            "seeds: 6",
            'seeds: 6\ntune: ["model.width=0.5,1.0"]\ntune_by: loo_msf',
            "has no number 'loo_msf'. Did you mean 'loo_mse'",
        ),
    ],
    ids=["metric", "tune_by"],
)
def test_the_first_job_finds_a_mistyped_metric(write, claims, stored, right, wrong, sentence):
    write(changed(MINE, right, wrong))
    assert sentence in claims("mine", code=2)
    assert len(list(stored.glob("*/summary.json"))) == 2


NEEDS = f"{OWN}\n    def numbers(self):\n        return ['half@2', 'third@2']\n"
"""A decision of one's own that names the numbers that it needs."""


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("decides", "own", "sentence"),
    [
        ("is: bounded, number: halv@2, at_most: 2.0", POINTS, "'halv@2'. Did you mean 'half@2'"),
        (
            "is: own.Always",
            f"{NEEDS}\n\n{POINTS}",
            "first job of the claim has no number 'third@2'",
        ),
    ],
    ids=["mistyped", "own"],
)
def test_a_number_that_is_missing_costs_one_seed(write, claims, tmp_path, decides, own, sentence):
    write(changed(COMPUTED, "is: bounded, number: half@2, at_most: 2.0", decides), own)
    assert sentence in claims("mine", code=2)
    assert computed_seeds(tmp_path) == "0"


def test_a_dry_run_says_what_would_run(write, claims, tmp_path):
    write(MINE)
    planned = claims("mine", "--dry-run")
    assert re.findall(r"^to do +([0-9]+)$", planned, re.MULTILINE) == ["6", "6"]
    assert not (tmp_path / "outputs").exists()


def test_seeds_begin_where_the_claim_says(write, claims, tmp_path):
    write(COMPUTED, POINTS)
    claims("mine")
    write(changed(COMPUTED, "seeds: 6", "seeds: 6\nfirst_seed: 3"))
    assert "for all 6 seeds" in claims("mine")
    assert computed_seeds(tmp_path) == "012345678"


def test_a_claim_of_another_task_carries_over_or_not(write, claims):
    other = changed(COMPUTED, "seeds: 6", "seeds: 6\nsame_task: false")
    write(f"{other}amended: a bound moved\n", POINTS)
    record = claims("mine")
    assert re.search(r"^verdict +carries over to this task$", record, re.MULTILINE)
    assert re.search(r"^amended +a bound moved$", record, re.MULTILINE)
    write(changed(other, "at_most: 2.0", "at_most: 1.0"))
    assert "does not carry over to this task" in line_of(claims())


@pytest.mark.slow
def test_the_list_imports_no_package_to_find_configurations(write, claims, tmp_path):
    package = tmp_path / "theirs"
    (package / "conf").mkdir(parents=True)
    (package / "__init__.py").write_text("open('imported.txt', 'w').close()\n")
    word = "- ['hydra.searchpath=[pkg://theirs.conf]', model=gaussian_learned"
    write(changed(MINE, "- [model=gaussian_learned", word))
    for line, code in (([], 0), (["mine"], 2)):
        claims(*line, code=code)
        assert not (tmp_path / "imported.txt").exists()
    write(MINE)
    primary = "defaults: [_self_]\nhydra: {searchpath: ['pkg://theirs.conf']}\n"
    (tmp_path / "my_conf" / "config.yaml").write_text(primary)
    claims(code=2)
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


def test_runs_of_a_claim_are_probed_and_drawn_and_are_ordinary_runs(
    write, claims, succeeds, stored
):
    write(PROBED)
    words = ("model=gaussian_learned", "train.max_epochs=2", "data.num_train=10", "figures=false")
    for seed in range(2):
        succeeds(*words, f"seed={seed}", "output_dir=outputs/claims/mine")
    record = claims("mine")
    assert re.search(r"^verdict +cannot tell: 4 more seeds$", record, re.MULTILINE)
    assert re.search(r"^known fault +it had one seed$", record, re.MULTILINE)
    assert re.search(r"test_mse where seed=1: .*, mean of 1 seeds", record)
    assert re.findall(r"^skipped +([0-9]+)$", record, re.MULTILINE) == ["2"]
    assert len(list(stored.glob("*/interventions.csv"))) == 2
    assert list(stored.glob("figures/loss*.png"))
    assert "gaussian_learned" in succeeds("results", "outputs/claims").stdout


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RequestError("no such sweep"), 2),
        (RunFailedError("1 job failed"), 1),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("a fault"), 70),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("step", ["attnexp.sweeps.line.run_sweep", "attnexp.config.probing.Probe"])
def test_a_claim_stops_at_the_step_that_ends_in_an_error(
    write, in_process, capfd, tmp_path, monkeypatch, step, error, code
):
    """Of several claims the others go on, but for an interrupt and a fault of attnexp's."""
    write(PROBED)
    write(COMPUTED, POINTS, name="other")
    monkeypatch.setattr("attnexp.cli.claims.names", lambda config_dir: ["mine", "other"])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def ends(*words):
        raise error

    monkeypatch.setattr(step, ends)
    with pytest.raises(CommandEnded) as ended:
        in_process("claims", "mine", "--config-dir", "my_conf")
    assert ended.value.code == code
    out, err = capfd.readouterr()
    assert re.search(rf"{str(error) or 'interrupted'}.*\n.*the claim stops here.*\n$", err)
    (*_, last) = (line for line in out.splitlines() if line.startswith("attnexp "))
    assert re.match("attnexp (-m .*=10|probe .* uniform --config-dir my_conf)", last)
    if code in (1, 2):
        answer = in_process("claims", "--all", "--config-dir", "my_conf")
        assert (answer.returncode, line_of(answer.stdout).split()[1]) == (1, "failed")
        assert line_of(answer.stdout, "other").split()[1] == "reproduced"
    else:
        with pytest.raises(CommandEnded, match=str(code)):
            in_process("claims", "--all", "--config-dir", "my_conf")


def test_a_verdict_that_is_required_ends_the_command(write, claims):
    write(COMPUTED, POINTS)
    with pytest.raises(CommandEnded, match="3"):  # it has not run
        claims("--require", "reproduced")
    claims("mine", "--require", "reproduced")
    with pytest.raises(CommandEnded, match="4"):
        claims("mine", "--require", "not reproduced")
    assert "choose" in claims("mine", "--require", "true", code=2)
    told = claims("mine", "--dry-run", "--require", "reproduced", code=2)
    assert "--dry-run gives no verdict: leave out --require" in told


def test_a_prediction_is_stored_before_the_first_run(write, claims, stored):
    write(COMPUTED, "def halves(seed, of):\n    1 / 0\n")
    claims("mine", code=2)
    (written,) = json.loads((stored / "prediction.json").read_text())
    assert (written["date"], written["says"]) == ("2026-11-23", "it will")
    assert written["digest"] == hashlib.sha256(b"2026-11-23\nit will").hexdigest()
    assert written["time"].startswith(str(datetime.now(UTC).year))
    assert written["after_runs"] is False


def test_all_claims_are_judged_although_one_cannot_be(write, in_process, tmp_path, monkeypatch):
    write(COMPUTED, POINTS)
    write(BARE, name="bare")
    monkeypatch.setattr("attnexp.cli.claims.names", lambda config_dir: ["bare", "mine"])
    words = ("--all", "--config-dir", "my_conf", "--output", "page.md")
    answer = in_process("claims", *words)
    assert answer.returncode == 1
    assert "bare could not be judged" in answer.stderr
    assert line_of(answer.stdout, "bare").split()[1] == "failed"
    assert line_of(answer.stdout).split()[1] == "reproduced"
    page = (tmp_path / "page.md").read_text()
    assert re.findall("^## (.*)$", page, re.MULTILINE) == ["bare", "mine"]


def test_a_program_reads_verdicts_and_nothing_else(write, claims):
    write(own=POINTS)
    (first,) = [each for each in json.loads(claims("--format", "json")) if each["name"] == "mine"]
    assert (first["word"], first["claims"]) == ("not run", "it is")
    (judged,) = json.loads(claims("mine", "--format", "json"))
    assert judged["word"] == "reproduced"
    assert judged["shown"] == {"half@1": judged["shown"]["half@1"], "half@7": "skip"}
    assert judged["more_seeds"] is None


def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(write, claims, tmp_path):
    write(MINE)
    said = claims("mine", "--output", "nowhere/page.md", code=2)
    assert "--output: nowhere/page.md cannot be written" in said
    assert not (tmp_path / "outputs").exists()
