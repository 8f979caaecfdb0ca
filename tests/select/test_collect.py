"""Finding and reading runs: what is taken, what is set aside and why."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from stored_runs import change_summary

from attnexp import load_results, load_runs
from attnexp.cli.parser import run_verb
from attnexp.core.errors import RequestError
from attnexp.runs.summary import read_summary
from attnexp.select.collect import collect, collect_asked
from attnexp.select.overview import progress_of
from attnexp.select.reference import path_of
from attnexp.select.selection import selected

HOLDER = """
import sys
from pathlib import Path
from attnexp.runs.lock import hold
with hold(Path(sys.argv[1])):
    Path(sys.argv[1], "attnexp.log").touch()
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holders():
    """Starts processes that have begun a run in a folder, and ends them."""
    started = []

    def start(folder: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"

    def end() -> None:
        while started:
            started.pop().communicate()

    yield start, end
    end()


def test_runs_are_found_at_any_depth_in_order_of_path(write_run, tmp_path: Path):
    for name in ("b/deep/run", "a", "c"):
        write_run(name)
    found = collect([tmp_path / "outputs"])
    assert [run.folder.name for run in found.runs] == ["a", "run", "c"]
    assert not found.skipped


def test_a_run_may_itself_be_the_path(write_run):
    folder = write_run("a")
    assert [run.folder for run in collect([folder]).runs] == [folder]


def test_a_run_met_twice_counts_once(write_run, tmp_path: Path):
    folder = write_run("a")
    assert len(collect([folder, tmp_path / "outputs", folder.parent]).runs) == 1


def test_nothing_is_sought_inside_runs_hidden_folders_and_links(write_run, tmp_path: Path):
    write_run("a")
    write_run("a/inside")
    write_run(".hidden/b")
    (tmp_path / "outputs" / "latest").symlink_to(tmp_path / "outputs" / "a")
    assert len(collect([tmp_path / "outputs"]).runs) == 1


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_summary_that_is_no_file_is_set_aside(tmp_path: Path, make):
    make(tmp_path / "summary.json")
    assert collect([tmp_path]).skipped == [f"{tmp_path}/summary.json is not a file"]


def test_a_folder_that_a_run_has_only_begun_in_is_set_aside(tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "attnexp.log").touch()
    found = collect([tmp_path])
    assert found.skipped == [f"{tmp_path}/run holds no summary.json yet, or never will"]


@pytest.mark.parametrize("verb", ["results", "plot"])
def test_a_folder_that_a_process_holds_is_running(
    write_run, in_process, tmp_path: Path, holders, verb
):
    start, end = holders
    write_run("done")
    for name, counted in (("first", "1 is running"), ("second", "2 are running")):
        folder = tmp_path / "outputs" / name
        start(folder)
        error = in_process(verb).stderr
        assert counted in error
        assert "skipped" not in error
    end()
    assert "skipped 2 folders" in in_process(verb).stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_closed_folder_is_set_aside(tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert "cannot be read: Permission denied" in collect([tmp_path]).skipped[0]


@pytest.mark.parametrize(
    ("name", "what"), [("nowhere", "is not there"), ("file", "is not a folder")]
)
def test_a_path_that_is_no_folder_is_a_wrong_request(tmp_path: Path, name: str, what: str):
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=what):
        collect([tmp_path / name])


def test_a_damaged_run_is_set_aside_and_its_neighbours_are_read(write_run, tmp_path: Path):
    write_run("a")
    change_summary(write_run("b"), lambda content: content.update(metrics=None))
    found = collect([tmp_path / "outputs"])
    assert [run.folder.name for run in found.runs] == ["a"]
    assert len(found.skipped) == 1


def test_a_run_that_is_being_rewritten_is_always_whole(write_run, tmp_path: Path):
    """Readers see the old summary, the new one, or a folder without one; never half of one."""
    folder = write_run("a")
    summary = read_summary(folder)

    def rewrite() -> None:
        for i in range(200):
            msgspec.structs.replace(summary, seconds=float(i)).write(folder)

    writer = threading.Thread(target=rewrite)
    writer.start()
    seen = set()
    while writer.is_alive():
        found = collect([tmp_path / "outputs"])
        assert not found.skipped
        seen.add(found.runs[0].summary.seconds)
    assert len(seen) > 1


def test_a_folder_that_is_not_there_leads_to_the_run_that_is_around_it(write_run):
    run = write_run("mine")
    with pytest.raises(RequestError, match="mine, which is itself a run"):
        collect([run / "outputs"])
    with pytest.raises(RequestError, match="give the folder of a run"):
        collect([run.parent / "others"])


STUDIES = {"cards": 2, "claims/nw_rate": 3, "pooling": 1, "bahdanau/reverse": 2}
"""Runs below the folders of a card, a claim and two chapters."""


@pytest.fixture
def with_studies(write_run, tmp_path, monkeypatch):
    """A folder with three runs of one's own, one of them in a folder of one's own, and studies."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "mine/c"):
        write_run(name, {"seed": 1})
    for folder, number in STUDIES.items():
        for seed in range(number):
            write_run(f"{folder}/run{seed}", {"seed": seed})
    return tmp_path


def test_runs_of_studies_are_left_out_and_counted_unless_a_folder_is_asked_for(with_studies):
    found = collect_asked(())
    assert [run.path for run in found.runs] == ["outputs/a", "outputs/b", "outputs/mine/c"]
    assert sorted(found.apart("results")) == [
        "1 run below outputs/pooling is left out: attnexp results outputs/pooling",
        "2 runs below outputs/bahdanau are left out: attnexp results outputs/bahdanau",
        "2 runs below outputs/cards are left out: attnexp results outputs/cards",
        "3 runs below outputs/claims are left out: attnexp results outputs/claims",
    ]
    asked = collect_asked(["outputs"])
    assert (len(asked.runs), asked.apart("results")) == (11, [])
    assert len(collect_asked(["outputs/cards"]).runs) == 2


def test_a_verb_names_itself_for_runs_that_it_leaves_out(with_studies, capsys):
    assert progress_of(None).of_studies[0].endswith("left out: attnexp status outputs/bahdanau")
    selected((), None, verb="plot")
    said = capsys.readouterr().err
    assert "2 runs below outputs/cards are left out: attnexp plot outputs/cards\n" in said


def test_verbs_and_python_leave_out_the_same_runs(with_studies, capsys):
    assert len(load_results()) == len(load_runs()) == 3
    assert len(load_results("outputs")) == len(load_runs("outputs")) == 11
    assert len(load_results().attrs["skipped"]) == 4
    run_verb("results", ["--runs", "--format", "csv"])
    run_verb("status", ["--format", "json"])
    told = capsys.readouterr()
    rows, status = told.out.strip().rsplit("\n", 1)
    assert len(rows.splitlines()) == 4
    assert json.loads(status)["counts"] == {"done": 3}
    assert told.err.count("2 runs below outputs/cards are left out") == 2


def test_a_number_is_that_of_the_table_of_runs(with_studies):
    assert path_of("3").startswith("outputs/")
    with pytest.raises(RequestError, match="'4' is neither a folder nor a run below outputs"):
        path_of("4")
