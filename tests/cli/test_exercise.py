"""`attnexp exercise` begins exercises and gives a verdict on what was done in them."""

import json
import re
import shlex
import subprocess
import textwrap
from io import StringIO
from statistics import fmean

import pytest
from documented import blocks
from scipy import stats

from attnexp.cli.parser import parser_of
from attnexp.core import console
from attnexp.core.console import SafeConsole
from attnexp.course.code import check_code
from attnexp.course.exercise_file import FOLDER, ExerciseAnswer, names, read_exercise, start
from attnexp.select.collect import collect
from attnexp.stats.flips import interval


@pytest.fixture
def verdict(in_process):
    """The exit code of a check, and its JSON."""

    def check(*arguments):
        answer = in_process("exercise", "check", *arguments, "--json")
        return answer.returncode, json.loads(answer.stdout)

    return check


def fill_in(folder, **answer):
    path = folder / "answer.yaml"
    text = path.read_text()
    for name, value in answer.items():
        text = re.sub(rf"^{name}: null", f"{name}: {value}", text, flags=re.MULTILINE)
    path.write_text(text)


def test_all_exercises_are_listed(succeeds):
    answer = succeeds("exercise", "list")
    assert [line.split()[0] for line in answer.stdout.splitlines()[2:]] == names()


def test_an_exercise_from_start_to_end(succeeds, verdict, tmp_path):
    succeeds("exercise", "start", "bandwidth", "mine")
    folder = tmp_path / "mine"
    code, early = verdict("mine")
    assert code == 1
    assert not early["passed"]
    sweep = ("model=gaussian,gaussian_learned", "seed=range(6)", "figures=false")
    succeeds("-m", *sweep, "output_dir=mine/outputs")
    errors = {
        (run.choices["model"], run.seed): run.metrics["test_mse"]
        for run in collect([folder / "outputs"]).runs
    }
    ours = [errors["gaussian", i] - errors["gaussian_learned", i] for i in range(6)]
    low, high = interval(ours, 0.05)
    better = "gaussian_learned"
    fill_in(folder, difference=f"{fmean(ours):.4f}", low=low, high=high, better=better)
    code, late = verdict("mine")
    assert code == 0, late
    assert late["passed"]
    assert (folder / ".passed").is_file()
    assert late["exercise"] == "bandwidth"
    assert {check["name"] for check in late["checks"]} == {
        *("comparison", "one difference", "same data", "paired", "seeds"),
        *("difference", "interval", "conclusion"),
    }
    assert verdict("mine", "--runs", str(tmp_path))[0] == 0
    assert "passed   seeds: there are 6 seeds" in succeeds("exercise", "check", "mine").stdout
    chinese = succeeds("exercise", "check", "mine", "--lang", "zh").stdout
    assert re.search("\\w+   seeds.+ 6 .+ 6 ", chinese)
    assert not re.search("[a-z]+ [a-z]+ [a-z]+", chinese.replace("one difference", ""))


def test_code_is_not_run_unless_it_is_trusted(in_process, verdict, tmp_path):
    in_process("exercise", "start", "new_pooling")
    folder = tmp_path / "new_pooling"
    (folder / "my_scores.py").write_text("open('was_run', 'w')\n")
    code, found = verdict("new_pooling")
    assert code == 1
    assert found["checks"][0]["name"] == "code"
    assert "--trust" in found["checks"][0]["sentence"]
    assert not (folder / "was_run").exists()


def test_trusted_code_is_stopped_after_the_seconds_that_are_given(in_process, verdict, tmp_path):
    in_process("exercise", "start", "new_pooling")
    (tmp_path / "new_pooling" / "my_scores.py").write_text("import time\ntime.sleep(60)\n")
    code, found = verdict("new_pooling", "--trust", "--seconds", "1")
    assert code == 1
    assert found["checks"][0]["sentence"] == "the tests were stopped after 1 seconds"
    assert parser_of("exercise").parse(["check", "new_pooling"]).seconds == 120


def test_the_program_for_gradescope_writes_a_test_per_check(in_process, tmp_path, monkeypatch):
    in_process("exercise", "start", "bandwidth")
    program = textwrap.dedent(blocks("docs/exercises.md", "python")[-1])
    for path, ours in (("submission", "bandwidth"), ("results/results.json", "results.json")):
        assert f"/autograder/{path}" in program
        program = program.replace(f"/autograder/{path}", str(tmp_path / ours))
    real = subprocess.run

    def run(command, **options):
        ours = command[0] == "attnexp"
        return in_process(*command[1:]) if ours else real(command, **options)

    monkeypatch.setattr(subprocess, "run", run)
    exec(program, {})
    (found,) = json.loads((tmp_path / "results.json").read_text())["tests"]
    assert (found["name"], found["score"], found["max_score"]) == ("comparison", 0, 1)
    assert found["output"].startswith("no finished run of model=gaussian model.width=1 and model")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "the following arguments are required: ACTION"),
        (["check"], "FOLDER is missing: attnexp exercise start NAME"),
        (["start"], "NAME is missing: choose additive_or_dot, bandwidth, heads, "),
        (["hint"], "NAME is missing: choose additive_or_dot, bandwidth, heads, "),
        (["solution"], "NAME is missing: choose additive_or_dot, bandwidth, heads, "),
        (["begin"], "Did you mean 'start'"),
        (["start", "head"], "Did you mean 'heads'"),
        (["start", "heads", "no/where"], "cannot be written"),
        (["check", "nowhere"], "nowhere holds no exercise.yaml"),
        (["check", ".", "--seconds", "0"], "not a positive integer"),
    ],
)
def test_a_wrong_request_is_refused_in_a_sentence(refused, arguments, sentence):
    said = refused("exercise", *arguments)
    assert sentence in said
    assert len(said) < 300


def test_a_check_without_a_folder_names_those_that_were_begun(succeeds, refused):
    succeeds("exercise", "start", "heads")
    succeeds("exercise", "start", "bandwidth", "mine")
    assert "FOLDER is missing: choose heads or mine" in refused("exercise", "check")


SOLUTIONS = {
    "new_pooling": (
        "my_scores.py",
        "return 0 * self.width * squared",
        "return -(1 + self.width**2 * squared).log()",
    ),
    "own_data": ("my_data.py", "return 0 * x", "return (2 * x).sin() + 2 * (x >= 3)"),
    "additive_or_dot": ("conf/experiment/additive_or_dot.yaml", "features: 0", "features: 16"),
}
"""The file of an exercise, what stands there, and what is right."""


@pytest.mark.slow
def test_runs_of_code_that_was_edited_do_not_pass(attnexp, tmp_path):
    """The same command runs the edited score, and the numbers are those of the new code."""
    file, stub, right = SOLUTIONS["new_pooling"]
    attnexp("exercise", "start", "new_pooling")
    folder = tmp_path / "new_pooling"
    sweep = ("--config-dir", "conf", "-m", "model=gaussian_learned,heavy", "seed=0,1")

    def swept():
        answer = attnexp(*sweep, "train.max_epochs=1", "figures=false", cwd=folder)
        assert answer.returncode == 0, answer.stderr
        runs = [run for run in collect([folder / "outputs"]).runs if run.model == "heavy"]
        return {run.path: run.metrics["test_mse"] for run in runs}

    def same_code():
        checks = json.loads(attnexp("exercise", "check", "new_pooling", "--json").stdout)["checks"]
        return next(check for check in checks if check["name"] == "same code")

    first = swept()
    assert same_code()["passed"]
    path = folder / file
    path.write_text(path.read_text().replace(stub, right))
    assert same_code() == {
        "name": "same code",
        "passed": False,
        "sentence": "my_scores has changed since the runs: run both sides again",
    }
    again = swept()
    assert same_code()["passed"]
    assert len(again) == len(first) + 2
    assert not {again[path] for path in again.keys() - first.keys()} & {*first.values()}


COLUMNS = {
    "additive_or_dot": ("model", "additive", "dot"),
    "bandwidth": ("model", "gaussian", "gaussian_learned"),
    "heads": ("arch.heads", 1, 4),
    "new_pooling": ("model", "gaussian_learned", "heavy"),
    "own_data": ("model", "gaussian_learned", "additive"),
}
"""The column by which the page's program parts the runs of an exercise, and its two values."""


def solve(name, in_process, folder, monkeypatch, *more):
    """Start an exercise in a folder, fill in what its question asks for, and run its commands."""
    in_process("exercise", "start", name)
    monkeypatch.chdir(folder)
    if name in SOLUTIONS:
        file, stub, right = SOLUTIONS[name]
        text = (folder / file).read_text().replace("range(1)", "range(8)")
        assert stub in text
        (folder / file).write_text(text.replace(stub, right))
    lines = (folder / "README.md").read_text().splitlines()
    commands = [line.strip() for line in lines if line.startswith(" " * 8)] or [
        "attnexp -m model=scaled_dot arch.features=16 arch.heads=1,4 'seed=range(8)'"
    ]
    for command in commands:
        answer = in_process(*shlex.split(command)[1:], *more)
        assert answer.returncode == 0, answer.stderr


def page_program(name):
    """The program of docs/exercises.md, for the two sides of an exercise."""
    column, first, second = COLUMNS[name]
    program = blocks("docs/exercises.md", "python")[0]
    sides = {'"model"': repr(column), '"gaussian"': repr(first), '"gaussian_learned"': repr(second)}
    for word in sides:
        assert word in program
    return re.sub("|".join(sides), lambda found: sides[found[0]], program)


@pytest.mark.first(1)
@pytest.mark.parametrize("name", COLUMNS)
def test_what_the_page_computes_passes_and_is_said_to_be_students(
    name, in_process, verdict, tmp_path, monkeypatch, capfd
):
    few = ("data.num_train=20", "train.max_epochs=2", "hydra/launcher=batched")
    solve(name, in_process, tmp_path / name, monkeypatch, *few)
    capfd.readouterr()
    exec(page_program(name), {})
    difference, low, high = map(float, capfd.readouterr().out.split())
    fill_in(tmp_path / name, difference=difference, low=low, high=high)
    right = []
    for better in (*read_exercise(FOLDER / name)[0].comparison.labels, "undecided"):
        path = tmp_path / name / "answer.yaml"
        path.write_text(re.sub("better: .*", f"better: {better}", path.read_text()))
        checks = {check["name"]: check for check in verdict(".")[1]["checks"]}
        assert "is Student's 95% interval of it" in checks["interval"]["sentence"]
        # The code of the folder is tested elsewhere.
        failed = {check for check in checks if not checks[check]["passed"]} - {"code"}
        assert failed <= {"conclusion"}, checks
        right += [] if failed else [better]
    assert len(right) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_an_exercise_that_is_solved_as_its_question_says_passes(
    name, in_process, verdict, tmp_path, monkeypatch
):
    folder = tmp_path / name
    solve(name, in_process, folder, monkeypatch)
    comparison = read_exercise(FOLDER / name)[0].comparison
    first, second = (
        {run.seed: run.metrics["test_mse"] for run in collect(["outputs"]).runs if fits(run, side)}
        for side in comparison.sides
    )
    ours = [first[seed] - second[seed] for seed in range(8)]
    low, high = stats.t.interval(0.95, 7, loc=fmean(ours), scale=stats.sem(ours))
    for better in (*comparison.labels, "undecided"):
        text = (folder / "answer.yaml").read_text()
        (folder / "answer.yaml").write_text(re.sub("better: .*", "better: null", text))
        fill_in(folder, difference=fmean(ours), low=low, high=high, better=better)
        code, found = verdict(".", "--trust")
        if code == 0:
            return
    raise AssertionError([check for check in found["checks"] if not check["passed"]])


def fits(run, side):
    name, value = next(iter(side.items()))
    return (run.choices | run.settings)[name] == value


def failed_checks(verdict):
    return {check["name"] for check in verdict(".")[1]["checks"] if not check["passed"]}


@pytest.mark.slow
def test_which_head_is_what_its_program_prints(
    attnexp, in_process, verdict, tmp_path, monkeypatch, capfd
):
    folder = tmp_path / "which_head"
    in_process("exercise", "start", "which_head")
    monkeypatch.chdir(folder)
    assert failed_checks(verdict) == {"runs"}
    train, probe = commands_of(folder)
    assert attnexp(*train, cwd=folder).returncode == 0
    assert failed_checks(verdict) >= {"probed"}
    assert attnexp(*probe, cwd=folder).returncode == 0
    assert failed_checks(verdict) == {"heads", "difference", "interval"}
    capfd.readouterr()
    exec((folder / "costs.py").read_text(), {})
    rows = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert len(rows) == 24
    numbers = [(int(row[1]), int(row[3]), float(row[4]), float(row[5])) for row in rows]
    heads, changes = {}, []
    for seed in range(6):
        _, heads[seed], _, change = min((r for r in numbers if r[0] == seed), key=lambda r: r[2])
        changes.append(change)
    mean, reach = fmean(changes), 2.571 * stats.sem(changes)
    fill_in(folder, heads=heads, difference=mean, low=mean - reach, high=mean + reach)
    assert failed_checks(verdict) == set()
    assert (folder / ".passed").is_file()


def commands_of(folder):
    """The arguments of the commands that the README.md of a folder shows."""
    lines = (folder / "README.md").read_text().splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith(" " * 8)]


@pytest.mark.slow
def test_a_prediction_is_written_first_and_may_be_wrong(in_process, verdict, tmp_path, monkeypatch):
    folder = tmp_path / "predict_first"
    in_process("exercise", "start", "predict_first")
    monkeypatch.chdir(folder)
    (command,) = commands_of(folder)
    answer = in_process(*command)
    assert answer.returncode == 2
    assert "prediction.date must be a date" in answer.stderr
    assert failed_checks(verdict) == {"prediction"}
    claim = folder / "conf" / "claim" / "brightest" / "claim.yaml"
    stub = claim.read_text()
    assert stub.count('""') == 2
    said = stub.replace('date: ""', 'date: "2026-11-23"').replace('says: ""', 'says: "It is 12.5."')
    claim.write_text(said.replace("model=additive]", "model=additive, train.max_epochs=2]"))
    assert in_process(*command).returncode == 0
    assert failed_checks(verdict) == {"predicted", "measured", "interval", "verdict"}
    runs = collect(["outputs"]).runs
    errors = [
        float(row.numbers["test_mse"])
        for run in runs
        for row in run.interventions
        if (row.split, row.intervention) == ("test", "hard")
    ]
    low, high = stats.t.interval(0.95, 5, loc=fmean(errors), scale=stats.sem(errors))
    numbers = {"predicted": 12.5, "measured": fmean(errors), "low": low, "high": high}
    fill_in(folder, **numbers, verdict="reproduced" if high < 0.2 else "not reproduced")
    assert low > 0.2 or high < 0.2
    assert failed_checks(verdict) == set()
    late = claim.read_text().replace("12.5", f"{fmean(errors):.2f}")
    claim.write_text(late)
    assert failed_checks(verdict) == {"prediction"}


@pytest.mark.parametrize("name", names())
def test_each_exercise_has_a_hint_and_a_solution_that_must_be_earned(
    name, succeeds, refused, tmp_path
):
    assert succeeds("exercise", "hint", name).stdout.strip()
    told = refused("exercise", "solution", name)
    assert f"attnexp exercise check {name}, or add --give-up" in told
    given = succeeds("exercise", "solution", name, "--give-up").stdout
    assert len(given) > 200
    assert given == (FOLDER / name / "solution.md").read_text()
    succeeds("exercise", "start", name)
    assert not {"hint.md", "solution.md"} & {path.name for path in (tmp_path / name).iterdir()}
    assert "begun" in succeeds("exercise", "list").stdout
    (tmp_path / name / ".passed").touch()
    assert succeeds("exercise", "solution", name).stdout == given
    assert "done" in succeeds("exercise", "list").stdout


@pytest.mark.parametrize("name", names())
def test_an_exercise_is_whole_in_chinese(name, succeeds, refused, tmp_path):
    started = succeeds("exercise", "start", name).stdout
    assert f"{name}/README.md and {name}/README.zh.md" in started
    assert not [*(tmp_path / name).glob("hint*"), *(tmp_path / name).glob("solution*")]
    for words, file in (("hint",), "hint"), (("solution", "--give-up"), "solution"):
        printed = succeeds("exercise", *words, name, "--lang", "zh").stdout
        assert printed == (FOLDER / name / f"{file}.zh.md").read_text()
        assert succeeds("exercise", *words, name, "--lang", "en").stdout != printed
    told = refused("exercise", "solution", name, "--lang", "zh")
    assert f"attnexp exercise check {name}, or add --give-up" in told


@pytest.mark.parametrize("action", ["list", "start bandwidth", "check bandwidth"])
def test_a_language_is_that_of_the_locale_or_the_one_that_is_asked_for(
    action, in_process, tmp_path
):
    in_process("exercise", "start", "bandwidth", "bandwidth" if "check" in action else "other")
    told = in_process("exercise", *action.split(), "--lang", "zh").stdout
    assert re.search("[\u4e00-\u9fff]", told)


def test_a_chinese_locale_prints_chinese(succeeds, monkeypatch):
    asked = succeeds("exercise", "hint", "bandwidth", "--lang", "zh").stdout
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert succeeds("exercise", "hint", "bandwidth").stdout == asked
    assert succeeds("exercise", "hint", "bandwidth", "--lang", "en").stdout != asked


def test_an_exercise_of_ones_own_may_have_a_question_in_one_language(succeeds, tmp_path):
    start("bandwidth", tmp_path / "mine")
    (tmp_path / "mine" / "README.md").unlink()
    said = succeeds("exercise", "start", "./mine", "yours").stdout
    assert said == "The question is in yours/README.zh.md.\n"
    (tmp_path / "mine" / "README.zh.md").unlink()
    said = succeeds("exercise", "start", "./mine", "theirs").stdout
    assert said == "The question is in theirs.\n"


def test_a_solution_finds_the_folder_of_its_exercise(succeeds, refused, tmp_path, monkeypatch):
    succeeds("exercise", "start", "bandwidth", "mine")
    assert "attnexp exercise check mine, or add" in refused("exercise", "solution", "bandwidth")
    monkeypatch.chdir(tmp_path / "mine")
    assert "attnexp exercise check ., or add" in refused("exercise", "solution", "bandwidth")
    (tmp_path / "mine" / ".passed").touch()
    given = (FOLDER / "bandwidth" / "solution.md").read_text()
    assert succeeds("exercise", "solution", "bandwidth").stdout == given
    assert refused("exercise", "solution", "heads")
    assert re.search("^bandwidth .* done$", succeeds("exercise", "list").stdout, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    assert succeeds("exercise", "solution", "bandwidth").stdout == given
    (tmp_path / "mine" / "answer.yaml").write_text("exercise: [")
    assert "check bandwidth, or add" in refused("exercise", "solution", "bandwidth")
    assert "begun" not in succeeds("exercise", "list").stdout


def told(name):
    """The lines of `answer.yaml` that a solution shows, by their names."""
    lines = re.findall(r"^ {4}(\w+): (.+)$", (FOLDER / name / "solution.md").read_text(), re.M)
    return {field: value for field, value in lines if field in ExerciseAnswer.__struct_fields__}


@pytest.mark.parametrize("name", names())
def test_a_solution_has_all_of_an_answer_and_its_sign_is_that_of_its_side(name):
    asked = re.findall(r"^(\w+): null", (FOLDER / name / "answer.yaml").read_text(), re.MULTILINE)
    assert [*told(name)] == asked
    low, high = (float(told(name)[field]) for field in ("low", "high"))
    mean = float(told(name).get("difference") or told(name)["measured"])
    assert low < mean < high
    if comparison := read_exercise(FOLDER / name)[0].comparison:
        first, second = comparison.labels  # the smaller error is the better one
        assert told(name)["better"] == (first if high < 0 else second if low > 0 else "undecided")


@pytest.mark.parametrize("name", COLUMNS)
def test_the_command_of_an_answer_shows_its_numbers_on_80_columns(
    name, write_run, succeeds, monkeypatch
):
    column, *sides = COLUMNS[name]
    for seed in range(8):
        for place, side in enumerate(sides):
            chosen = {"model": side if column == "model" else "scaled_dot"}
            settings = {"seed": seed} | ({} if column == "model" else {column: side})
            metrics = {"test_mse": 0.1 + seed / 100 + place * (0.03 + seed / 1000)}
            write_run(f"{name}-{seed}-{place}", settings, choices=chosen, metrics=metrics)
    (command,) = re.findall(r"`(attnexp .*)`", (FOLDER / name / "answer.yaml").read_text())
    text = StringIO()
    screen = SafeConsole(file=text, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(console.screen, "out", screen)
    succeeds(*shlex.split(command)[1:])
    printed = text.getvalue()
    assert "Too narrow" not in printed
    assert re.search(r" 0\.0335 \[0\.03\d+, 0\.03\d+\]", printed), printed


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_the_answer_of_a_solution_is_right_for_the_runs_of_its_commands(
    name, attnexp, verdict, tmp_path, monkeypatch
):
    folder = start(name, tmp_path / name)
    monkeypatch.chdir(folder)
    text = (FOLDER / name / "solution.md").read_text()
    if name in SOLUTIONS:
        file, stub, right = SOLUTIONS[name]
        shown = re.search(r"^ {4}(return .+)$", text, re.MULTILINE)
        code = (folder / file).read_text().replace("range(1)", "range(8)")
        (folder / file).write_text(code.replace(stub, shown[1] if shown else right))
    if name == "predict_first":
        claim = folder / "conf" / "claim" / "brightest" / "claim.yaml"
        said = claim.read_text().replace('date: ""', 'date: "2026-11-23"')
        claim.write_text(said.replace('says: ""', f'says: "It is {told(name)["predicted"]}."'))
    commands = re.findall("^ {4}(attnexp .+)$", text, re.MULTILINE)
    for command in [shlex.split(line)[1:] for line in commands] or commands_of(folder):
        answer = attnexp(*command, cwd=folder)
        assert answer.returncode == 0, answer.stderr
    for seeds in re.findall(r"about\s+(\d+)\s+seeds\s+would", text):
        assert f"about {seeds} seeds would" in attnexp("results", cwd=folder).stdout
    fill_in(folder, **told(name))
    code, found = verdict(".", "--trust")
    assert code == 0, [check for check in found["checks"] if not check["passed"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stub", "solved"),
    [
        ("new_pooling", "        return 0 * self.width * squared", "my_scores.py"),
        pytest.param("own_data", "        return 0 * x", "my_data.py", marks=pytest.mark.slow),
    ],
)
def test_the_code_of_a_solution_passes_the_tests_of_its_exercise(name, stub, solved, tmp_path):
    folder = start(name, tmp_path / "mine")
    (line,) = re.findall(r"^ +(return .*)$", (FOLDER / name / "solution.md").read_text(), re.M)
    text = (folder / solved).read_text()
    assert stub in text
    (folder / solved).write_text(text.replace(stub, f"        {line}"))
    tests = read_exercise(folder)[0].tests or ""
    assert [check for check in check_code(folder, tests, 300) if not check.passed] == []
