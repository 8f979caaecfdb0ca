import ast
import os
import re
from pathlib import Path

import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.runs import files


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    files.write_bytes(path, b"first")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        files.write_bytes(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_rows_come_back_with_their_blanks_and_quotes(tmp_path):
    rows = [{"source": ' "a", b ', "decoded": "  c"}, {"source": " ", "decoded": ""}]
    files.write_rows(tmp_path / "rows.csv", rows)
    assert files.read_rows(tmp_path / "rows.csv") == rows


def test_tensors_and_metadata_come_back(tmp_path):
    arrays = {"weights": np.arange(6.0).reshape(2, 3), "mask": np.array([True, False])}
    files.write_tensors(tmp_path / "t.safetensors", arrays, {"axes": ["a", "b"], "x": "ü"})
    tensors, metadata = files.read_tensors(tmp_path / "t.safetensors")
    assert metadata == {"axes": ["a", "b"], "x": "ü"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(tensors[name], array)


def test_metrics_grow_row_by_row_and_drop_a_cut_last_line(tmp_path):
    metrics = files.MetricsFile(tmp_path)
    metrics.append({"epoch": 1, "loss": 0.5})
    assert files.read_metrics(tmp_path) == [{"epoch": 1, "loss": 0.5}]
    metrics.append({"epoch": 2, "loss": 0.25})
    metrics.close()
    with (tmp_path / files.METRICS).open("a") as file:
        file.write("3,0.1")
    assert [row["epoch"] for row in files.read_metrics(tmp_path)] == [1, 2]
    assert files.read_metrics(tmp_path / "nowhere") == []


def test_a_part_of_a_file_is_its_beginning_or_its_end(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    assert [files.read_part(path, most) for most in (2, 9, -2, -9)] == [
        *(b"ab", b"abcdef", b"ef", b"abcdef")
    ]
    with pytest.raises(FileNotFoundError, match="nowhere is not there"):
        files.read_part(tmp_path / "nowhere", 1)


def test_clearing_removes_a_runs_files_and_no_others(tmp_path):
    (tmp_path / files.FIGURES).mkdir()
    left = ".model.safetensors.0123abcd.tmp"
    for name in (files.SUMMARY, files.METRICS, "figures/fit.png", left):
        (tmp_path / name).write_text(files.DRAWN)
    hidden = {".notes.tmp", ".model.safetensors.tmp", ".paper.0123abcd.tmp", f"{left}.tmp"}
    for name in hidden:
        (tmp_path / name).write_text("keep")
    (tmp_path / files.FIGURES / "mine.png").write_text("keep")
    (tmp_path / "mine.txt").write_text("keep")
    (tmp_path / files.FIGURES / "for_the_paper").mkdir()
    (tmp_path / files.FIGURES / "for_the_paper" / "fit.pdf").write_text("keep")
    files.clear(tmp_path)
    kept = {"mine.txt", files.FIGURES, "for_the_paper", "fit.pdf", "mine.png", *hidden}
    assert {p.name for p in tmp_path.rglob("*")} == kept


@pytest.mark.parametrize("name", files.WRITTEN)
def test_what_a_killed_process_leaves_of_a_file_is_cleared(tmp_path, monkeypatch, name):
    monkeypatch.setattr(Path, "replace", lambda *_: os._exit(9))
    child = os.fork()
    if not child:
        files.write_bytes(tmp_path / name, b"content")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(list(tmp_path.iterdir())) == 1
    files.clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/", ".", "/dev/null", "folder"])
def test_neither_a_device_nor_a_folder_is_replaced(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert files.is_special(Path(place))
    if place == "folder":
        with pytest.raises(OSError, match="not a file: 'folder'"):
            files.write_bytes(Path(place), b"content")
        assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "link").symlink_to(other)
    files.write_bytes(tmp_path / "link", b"new")
    assert other.read_text() == "kept"
    assert (tmp_path / "link").read_text() == "new"


def test_a_file_larger_than_memory_costs_a_sentence(tmp_path):
    (tmp_path / "runs.csv").touch()
    os.truncate(tmp_path / "runs.csv", 2**42)
    with pytest.raises(files.UnreadableRunError, match="is larger than the free memory"):
        files.read_bytes(tmp_path / "runs.csv")


def test_a_file_that_could_be_written_is_as_it_was(tmp_path):
    path = tmp_path / "page.html"
    files.require_output("--output", path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("earlier")
    files.require_output("--output", path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [
        ("page.html", "earlier")
    ]


@pytest.mark.parametrize("place", ["nowhere/page.html", ".", "x" * 300])
def test_a_file_that_could_not_be_written_is_refused(tmp_path, place):
    with pytest.raises(RequestError, match=r"--output: .* cannot be written: "):
        files.require_output("--output", tmp_path / place)


PACKAGE = Path(files.__file__).parent.parent

READING = re.compile(
    r"\b(open|open_memmap|FileIO|read_text|read_bytes|read_csv|safe_open|load|load_file"
    r"|loadtxt|genfromtxt|fromfile|memmap)\("
)
"""The names of functions that read files."""

GUARDED = re.compile(
    r"(files\.)?read_bytes\(|.*\((io\.)?(BytesIO|StringIO)\(|.*read_csv\(content\b"
    r"|.*open\(.*'(w|x|a|xb|ab)'|os\.open\(os\.devnull|open\(os\.devnull"
)
"""Calls that read by the guarded function or what is in memory already, and those that write."""

OF_NO_RUN = {
    "of attnexp's own files": (
        *("SOURCE.read_bytes", "TABLE.read_text", "pages[name].read_text", "OmegaConf.load"),
        *("(TEMPLATES / kind / f'{part}.txt').read_text", "Path(spec.origin).read_text"),
        "(FOLDER / name / in_language(file, language)).read_text",
        "path.read_text in cli/docs.py",
        "path.read_text in cli/new.py",
        "load in training/native_steps.py",
    ),
    "of the system's": (
        *("Path('/proc/cpuinfo').read_text", "MEMINFO.read_text", "QUOTA.read_text"),
        *("Path('/proc/sys/kernel/random/boot_id').read_text",),
        "open in runs/origin/provenance.py",
    ),
    "of the user's own, named on the command line or by Python": (
        *("path.read_bytes in runs/user_code.py", "path.read_bytes in attend/tensors.py"),
        *("open_memmap", "pd.read_csv in course/exercises/which_head/costs.py"),
    ),
    "of the user's own cache": (
        *("found.load", "made.open in architectures/compiled.py"),
        "self.path.read_bytes in architectures/compiled.py",
    ),
    "guarded": ("FileIO in runs/files.py", "safe_open in runs/files.py"),
    "of a lease that this process has just made": ("os.open in runs/lock.py",),
    "no file": ("open in cli/main.py", "member.open"),
}
"""The other functions that read, and what."""


def unguarded(source: str, where: str) -> list[str]:
    """The calls in a module that read a file past the guarded function."""
    if not READING.search(source):
        return []
    known = {name for names in OF_NO_RUN.values() for name in names}
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
    reading = [call for call, name in zip(calls, names, strict=True) if READING.match(f"{name}(")]
    return [
        f"{where}: {ast.unparse(call)}"
        for call in reading
        if not GUARDED.match(ast.unparse(call))
        if not {name := ast.unparse(call.func), f"{name} in {where}"} & known
    ]


def test_files_of_runs_are_read_by_the_guarded_function():
    paths = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    assert [x for where, path in paths.items() for x in unguarded(path.read_text(), where)] == []


@pytest.mark.parametrize(
    "call",
    [
        *("(self._folder / LOCK).read_bytes()", "(folder / name).read_text()", "open(path)"),
        *("pd.read_csv(path)", "Image.open(path)", "load_file(path)", "path.open('rb')"),
    ],
)
def test_a_reading_past_the_guarded_function_is_seen(call):
    assert unguarded(call, "runs/lock.py")
