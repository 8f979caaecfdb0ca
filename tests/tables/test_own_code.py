"""Tables of runs whose settings are the same and whose own code is not."""

import csv
from hashlib import sha256

import pytest
from english import report_of
from stored_runs import make_summary

from attnexp.runs.folder import Run
from attnexp.runs.origin.provenance import GitState
from attnexp.select.configurations import without_repeats
from attnexp.select.frame import make_frame
from attnexp.tables.entries import TableRequest
from attnexp.tables.formats import as_csv
from attnexp.tables.grid import with_columns
from attnexp.tables.reports import runs_report

OLD, NEW = {"shared": "ab", "my_scores": "1f"}, {"shared": "ab", "my_scores": "2c"}
NOISE = [0.01, 0.02, -0.01, 0.0, 0.03, -0.02]


def digits(code: dict[str, str]) -> str:
    text = "".join(name + " " + code[name] + "\n" for name in sorted(code))
    return sha256(text.encode()).hexdigest()[:6]


def made(
    model: str, code: dict[str, str], value: float, day: int, seeds=range(1, 7), **fields
) -> list[Run]:
    return [
        Run(
            f"outputs/{model}-{seed}-{day}",
            make_summary(
                {"seed": seed, "model._target_": model},
                choices={"model": model, "data": "sine"},
                metrics={"test_mse": value + NOISE[seed % 6]},
                code=code,
                started=f"2026-01-{day:02}T00:00:00+00:00",
                overrides=[f"model={model}"],
                **fields,
            ),
        )
        for seed in seeds
    ]


@pytest.fixture
def runs() -> list[Run]:
    """Six runs of old code, the same of new code, and six of a shipped score."""
    return [*made("mine", OLD, 2.0, 1), *made("mine", NEW, 1.0, 2), *made("dot", {}, 3.0, 1)]


def test_the_code_of_a_run_is_one_column_over_all_modules(runs):
    column = make_frame(runs).data["code"].tolist()
    assert column == [digits(OLD)] * 6 + [digits(NEW)] * 6 + ["-"] * 6
    backwards = dict(reversed(OLD.items()))
    assert make_frame(made("mine", backwards, 2.0, 1)).data["code"][0] == digits(OLD)


def test_a_note_names_older_code_and_the_table_that_compares_it(runs):
    notes = report_of(make_frame(runs), TableRequest()).notes
    assert (
        f"means leave out 6 older runs of the same settings and seed, of other code "
        f"({digits(OLD)}; changed: my_scores), which count as an earlier analysis: "
        "attnexp results --by model,code"
    ) in notes


def test_older_runs_of_the_same_code_are_told_apart_from_those_of_other_code(runs):
    again = made("mine", NEW, 1.0, 3, seeds=[1, 2])
    notes = report_of(make_frame([*runs, *again]), TableRequest(explain=True)).notes
    assert "means leave out 2 older runs of the same settings and seed" in notes
    assert any(note.startswith("means leave out 6 older runs") for note in notes)


def test_rows_by_code_are_compared_seed_by_seed(runs):
    report = report_of(make_frame(runs), TableRequest(by=("model", "code"), explain=True))
    rows = {(row["model"], row["code"]): row for row in report.records}
    assert rows["mine", digits(NEW)]["standing"] == "best"
    old = rows["mine", digits(OLD)]
    assert old["standing"].startswith("worse")
    assert old["pairs"] == 6
    assert old["difference_mean"] == pytest.approx(1.0)
    assert rows["dot", "-"]["mean"] == pytest.approx(3.005)
    assert not any("at once" in note or "older" in note for note in report.notes)
    assert "config.code" not in as_csv(report)


def test_a_row_that_mixes_two_codes_says_so(runs):
    mixed = [*runs[3:6], *made("mine", NEW, 1.0, 2, seeds=[1, 2, 3]), *runs[12:]]
    (note,) = (n for n in report_of(make_frame(mixed), TableRequest()).notes if "codes" in n)
    said = "rows mix runs of several codes: mine (changed: my_scores): "
    assert note == f"{said}attnexp results --by model,code"


def test_a_row_over_several_models_mixes_no_codes(runs):
    theirs = {"their_scores": "77"}
    gathered = [*runs[6:12], *made("theirs", theirs, 1.0, 2)]
    request = TableRequest(by=("data",), explain=True)
    assert not any("codes" in note for note in report_of(make_frame(gathered), request).notes)


def test_runs_of_two_codes_are_apart_only_if_it_is_asked(runs):
    frame = make_frame(runs)
    kept, older = without_repeats(frame)
    assert (len(kept), len(older)) == (12, 6)
    assert {one.by.summary.code["my_scores"] for one in older} == {"2c"}
    kept, older = without_repeats(frame, by=["code"])
    assert (len(kept), len(older)) == (18, 0)


def test_a_table_of_runs_has_the_code_where_it_differs_or_is_asked_for(runs):
    heads = [
        [head.title for head in runs_report(make_frame(r), []).grids[0].columns]
        for r in (runs, runs[6:])
    ]
    assert ["code" in own for own in heads] == [True, False]
    asked = runs_report(make_frame(runs[6:]), [], also=["code", "commit", "test_mse"])
    titles = [head.title for head in asked.grids[0].columns]
    assert [titles.count(name) for name in ("code", "commit", "test_mse")] == [1, 1, 1]


@pytest.mark.parametrize("also", [(), ("code",)])
def test_the_code_of_rows_is_a_column_on_request(runs, also):
    report = report_of(make_frame(runs[6:]), TableRequest(also=also))
    assert ("code" in [head.word for head in report.grids[0].columns]) == bool(also)
    assert [row["code"] for row in report.records] == [digits(NEW), "-"]


FEW = range(1, 4)
LACKS = "which takes at least 6 seeds that a row shares with the best one"
GONE = "runs of other code cannot be made again"


def advised(runs: list[Run], by: str) -> list[str]:
    notes = report_of(make_frame(runs), TableRequest(by=("model", by), explain=True)).notes
    return [note for note in notes if GONE in note or "attnexp -m" in note]


def test_rows_of_other_code_have_no_command_that_adds_seeds():
    old = made("mine", OLD, 2.0, 1, FEW)
    note = f"1 row lacks a verdict, {LACKS}; {GONE}"
    for seeds in (FEW, range(1, 7)):  # also after the jobs that a note had named
        assert advised([*old, *made("mine", NEW, 1.0, 2, seeds)], "code") == [note]


def test_rows_of_another_commit_have_no_command_that_adds_seeds():
    first, second = (GitState(digit * 40, dirty=False) for digit in "ab")
    runs = [*made("dot", {}, 2.0, 1, FEW, git=first), *made("dot", {}, 1.0, 2, FEW, git=second)]
    assert advised(runs, "commit") == [f"1 row lacks a verdict, {LACKS}; {GONE}"]


def test_rows_of_the_latest_code_alone_have_a_command_that_adds_seeds():
    new = [*made("mine", NEW, 1.0, 2, FEW), *made("dot", {}, 3.0, 1, FEW)]
    line = "attnexp -m model=mine,dot seed=4,5,6"
    assert advised(new, "code") == [f"1 row lacks a verdict, {LACKS}: {line}"]
    runs = [*made("mine", OLD, 2.0, 1, FEW), *new]
    assert advised(runs, "code") == [f"2 rows lack a verdict, {LACKS}; {GONE}: {line}"]
    more = [*made("mine", NEW, 1.0, 2), *made("dot", {}, 3.0, 1)]
    assert advised([*runs[:3], *more], "code") == [f"1 row lacks a verdict, {LACKS}; {GONE}"]


def test_rows_of_other_code_are_neither_completed_nor_told_apart_by_more_seeds():
    new = made("mine", NEW, 1.0, 2, range(1, 9))
    old = [
        run for seed in range(1, 7) for run in made("mine", OLD, 0.98 + seed % 2 / 20, 1, [seed])
    ]
    notes = report_of(make_frame([*old, *new]), TableRequest(by=("model", "code"))).notes
    told = ["6 seeds are shared: only these compare", "are not told apart; about "]
    assert [any(text in note for note in notes) for text in told] == [True, True]
    assert not any("attnexp -m" in note for note in notes)


def test_the_table_that_compares_codes_is_of_the_folders_of_the_runs(runs):
    """Also of the one in which the older runs are."""
    elsewhere = [Run(run.path.replace("outputs", "my exp"), run.summary) for run in runs]
    ending = "an earlier analysis: attnexp results 'my exp' --by model,code"
    assert report_of(make_frame(elsewhere), TableRequest()).notes[0].endswith(ending)
    ending = "an earlier analysis: attnexp results 'my exp' outputs --by model,code"
    both = [*elsewhere[:6], *runs[6:]]
    assert report_of(make_frame(both), TableRequest()).notes[0].endswith(ending)


def test_a_row_without_code_of_its_own_has_one_mark_everywhere(runs):
    report = report_of(make_frame(runs[6:]), TableRequest(also=("code",)))
    marks = [digits(NEW), "-"]
    assert [row[-1].text for row in with_columns(report, ["code"]).grids[0].rows] == marks
    assert [row["code"] for row in csv.DictReader(as_csv(report).splitlines())] == marks
    shipped = report_of(make_frame(runs[12:]), TableRequest(also=("code",)))
    assert "code" not in as_csv(shipped).splitlines()[0].split(",")


def words_of(runs, **request) -> list[str]:
    rows = report_of(make_frame(runs), TableRequest(**request)).records
    return [row["standing"] for row in rows]


def test_a_row_that_other_code_made_anew_is_not_told_apart_by_the_same_six_seeds(runs):
    """The first code had its look: it spent all that six seeds can reach."""
    assert words_of(runs) == ["best", "tied"]
    assert words_of(runs, by=("model", "code")) == ["best", "worse", "worse"]
    assert words_of(runs[6:]) == ["best", "worse"]
