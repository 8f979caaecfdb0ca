"""Whatever lies in a folder, the table comes and every run is accounted for."""

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnexp.cli import main as cli
from attnexp.runs import files
from attnexp.runs.collection import collect
from attnexp.runs.frame import make_frame
from attnexp.runs.summary import Summary
from attnexp.tables.comparison import Request
from attnexp.tables.formats import WRITERS
from attnexp.tables.tables import configurations_report, pivot_report, runs_report

STEADY = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

NAMES = st.text(max_size=8)
NUMBERS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.just(10**400), st.just(-0.0)
)
JSON = st.recursive(
    st.one_of(NUMBERS, NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
FIELDS = (
    "schema",
    "status",
    "key",
    "choices",
    "config",
    "metrics",
    "primary",
    "better",
    "parameters",
    "seconds",
    "versions",
    "git",
    "started",
)


@st.composite
def runs(draw: st.DrawFn) -> Callable[[Summary], bytes]:
    """What may be found as a summary.json, made from a good one."""
    model = draw(st.one_of(st.sampled_from(["a", "b"]), NAMES))
    own = draw(st.dictionaries(NAMES, JSON, max_size=2))
    seed = draw(st.integers(0, 3))
    metrics = draw(st.dictionaries(st.sampled_from(["test_mse", "seed", "model", ""]), NUMBERS))
    status = draw(st.sampled_from(["finished", "finished", "running", "failed", "interrupted"]))
    wrong = draw(st.one_of(st.just({}), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=1)))
    cut = draw(st.one_of(st.none(), st.none(), st.integers(0, 600)))

    def content(summary: Summary) -> bytes:
        good = msgspec.to_builtins(summary)
        good["choices"]["model"] = model
        good["config"]["model"] |= own
        good["config"]["seed"] = seed
        good["metrics"] = metrics
        good["status"] = status
        return json.dumps(good | wrong).encode()[:cut]

    return content


@contextmanager
def folder_of(contents: list[bytes | None]) -> Iterator[Path]:
    """A folder of run folders; None is a run without a summary."""
    with tempfile.TemporaryDirectory() as scratch:
        for i, content in enumerate(contents):
            run = Path(scratch) / f"run{i:02}"
            (run / ".hydra").mkdir(parents=True)
            if content is not None:
                (run / "summary.json").write_bytes(content)
        yield Path(scratch)


@given(made=st.lists(st.one_of(runs(), st.none()), min_size=1, max_size=8))
@STEADY
def test_every_folder_is_in_the_table_or_named(made, summary):
    contents = [None if make is None else make(summary()) for make in made]
    with folder_of(contents) as folder:
        found = collect([folder])
        assert len(found.runs) + len(found.skipped) == len(contents)
        assert all(str(folder) in reason for reason in found.skipped)
        if not found.runs:
            return
        frame = make_frame(found.runs)
        assert len(frame.table) == len(found.runs)
        assert frame.table.columns.is_unique
        reports = [runs_report(frame, ()), configurations_report(frame, Request())]
        if {"data", "arch"} <= set(frame.factors):
            reports.append(configurations_report(frame, Request(by=("data",))))
            crossed = Request(("data", "arch"), apart=("arch",))
            reports.append(pivot_report(frame, crossed, "data", "arch"))
        for report in reports:
            for write in WRITERS.values():
                write(report).encode()


@given(
    content=st.one_of(st.binary(max_size=200), JSON.map(lambda value: json.dumps(value).encode()))
)
@STEADY
def test_what_is_no_summary_is_named_in_one_line(content: bytes, capsys):
    with folder_of([content]) as folder:
        assert cli.run(["results", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("There are no runs below")
    assert captured.err.startswith("note: skipped 1 folder: ")
    assert captured.err.count("\n") == 1


@given(made=st.lists(runs(), min_size=2, max_size=6), data=st.data())
@STEADY
def test_the_order_on_disk_does_not_matter(made, data, summary):
    contents = [make(summary(started=f"2026-01-{i + 1:02}")) for i, make in enumerate(made)]
    shuffled = data.draw(st.permutations(contents))

    def table(parts: list[bytes]) -> list[dict[str, object]]:
        with folder_of(list(parts)) as folder:
            found = collect([folder]).runs
        if not found:
            return []
        records = configurations_report(make_frame(found), Request()).records
        return sorted(
            ({k: v for k, v in record.items() if k != "standing"} for record in records),
            key=repr,
        )

    assert [list(map(repr, r.items())) for r in table(contents)] == [
        list(map(repr, r.items())) for r in table(shuffled)
    ]


def test_a_run_that_is_being_rewritten_is_always_whole(write_run, tmp_path: Path):
    """Readers see the old summary, the new one, or a folder without one; never half of one."""
    folder = write_run("a")
    content = json.loads((folder / "summary.json").read_text())

    def rewrite() -> None:
        for i in range(200):
            files.write_json(folder / "summary.json", content | {"seconds": float(i)})

    writer = threading.Thread(target=rewrite)
    writer.start()
    seen = set()
    while writer.is_alive():
        found = collect([tmp_path / "outputs"])
        assert not found.skipped
        seen.add(found.runs[0].summary.seconds)
    assert len(seen) > 1


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\ud83d", "x" * 5000])
def test_names_that_steer_terminals_reach_none(write_run, capsys, tmp_path: Path, name: str):
    write_run("a", {"model.width": name}, choices={"model": name}, metrics={name: 1.0})
    write_run("b", {"model.width": 2, "seed": 1})
    for arguments in ([], ["--runs"]):
        assert cli.run(["results", str(tmp_path), *arguments]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        out.encode()
