"""`attnexp verify` does a run again and says whether its numbers are the same."""

import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from stored_runs import change_summary

from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.origin.repeat import compare

SMALL = (
    *("data=reverse", "model=additive", "arch.hidden_dim=8", "figures=false"),
    *("data.num_train=48", "data.num_validation=8", "data.num_test=8"),
    *("train.batch_size=16", "train.max_epochs=3"),
)


@pytest.fixture
def run(finished_runs, tmp_path) -> Path:
    return Path(shutil.copytree(finished_runs["rnn"], tmp_path / "outputs" / "rnn"))


@pytest.fixture
def both(finished_runs, run) -> Path:
    """The folder of that run and of another one."""
    shutil.copytree(finished_runs["second"], run.with_name("second"))
    return run.parent


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a run; its log is still open in this process."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.suffix != ".log"
    }


def test_a_run_is_bit_identical_to_its_repetition(succeeds, run):
    before = contents(run)
    assert "bit-identical" in succeeds("verify", str(run)).stdout
    assert contents(run) == before


def test_another_number_is_named(in_process, run):
    path = run / files.METRICS
    head, *rows = path.read_text().splitlines()
    cells = dict(zip(head.split(","), rows[-1].split(","), strict=True))
    cells["loss"] = str(float(cells["loss"]) + 0.5)
    rows[-1] = ",".join(cells.values())
    path.write_text("\n".join([head, *rows]) + "\n")
    answer = in_process("verify", str(run))
    assert answer.returncode == 1
    assert "different: metrics.csv: loss by" in " ".join(answer.stdout.split())
    assert "1 of 1 runs differ from what was stored" in answer.stderr


def test_a_byte_that_changes_no_number_is_named_too(in_process, run):
    path = run / files.PREDICTIONS
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n", 1))
    answer = in_process("verify", str(run))
    assert answer.returncode == 1
    assert "different: predictions.csv: its SHA-256" in answer.stdout
    assert answer.stdout.count("predictions.csv is not as the run wrote it") == 1


def test_a_last_digit_is_within_the_tolerance_that_is_asked_for(in_process, succeeds, run):
    change_summary(run, lambda s: s["metrics"].update(test_loss=s["metrics"]["test_loss"] + 1e-6))
    assert "within tolerance: test_loss" in succeeds("verify", str(run)).stdout
    answer = in_process("verify", str(run), "--tolerance", "1e-8")
    assert answer.returncode == 1
    assert "different: test_loss" in answer.stdout


def test_all_runs_of_a_folder_are_verified_and_others_named(succeeds, run, both):
    change_summary(run, lambda s: s["versions"].update(torch="1.0"))
    answer = succeeds("verify", str(both))
    assert answer.stdout.count("bit-identical") == 2
    assert re.search(r"torch was 1\.0 and is \S+ \(1 of 2 runs\)", answer.stdout)


def test_a_run_that_went_on_with_other_versions_is_named(succeeds, run):
    attempt = {"updates": 3, "device": None, "versions": {"torch": "1.0"}}
    change_summary(run, lambda s: s.update(attempts=[attempt]))
    assert re.search(
        r"it went on after 3 updates with torch \S+ in place of 1\.0",
        succeeds("verify", str(run)).stdout,
    )


def test_a_run_that_has_not_finished_has_nothing_to_verify(refused, run):
    change_summary(run, lambda s: s.update(status="failed"))
    assert "nothing to verify" in refused("verify", str(run))


LABELS = {
    "key": "0123456789",
    "primary": "loo_mse",
    "better": {"test_mse": "higher"},
    "units": {"test_mse": "share"},
    "headline": ["loo_mse"],
    "parameters": 7,
    "notes": ["the pictures of this run have won a prize"],
}


@pytest.mark.parametrize("label", LABELS)
def test_a_changed_label_is_different(finished, label):
    change_summary(finished, lambda s: s.update({label: LABELS[label]}))
    assert compared(finished) == ("different", label)


@pytest.mark.parametrize(
    "note",
    [
        "training began anew, because its checkpoint cannot be used",
        "results count lengths in symbols of the source: 126 for 64 instructions",
    ],
)
def test_notes_of_one_attempt_or_version_need_not_occur_again(finished, note):
    change_summary(finished, lambda s: s["notes"].append(note))
    assert compared(finished)[0] == "bit-identical"


@pytest.mark.parametrize("name", [files.MODEL, files.ATTENTION, files.SNAPSHOTS])
def test_a_changed_tensor_is_different(finished, name):
    arrays, metadata = files.read_tensors(finished / name)
    for key, array in arrays.items():
        changed = array.copy()
        changed.reshape(-1)[0] = 1 - changed.reshape(-1)[0]
        files.write_tensors(finished / name, {**arrays, key: changed}, metadata)
        assert compared(finished) == ("different", f"{name}: {key}")
    files.write_tensors(finished / name, arrays, {**metadata, "more": 1})
    assert compared(finished) == ("different", f"{name}: its description")


@pytest.mark.parametrize("name", [files.PREDICTIONS, files.RESPONSE])
def test_tables_are_compared_by_the_same_tolerance(finished, name):
    rows = [{"x": 0.5, "word": "a", "y": y} for y in (1.0, 2.0)]
    for changed, expected in (
        (rows, "bit-identical"),
        ([rows[0], {**rows[1], "y": 2.000001}], "within tolerance"),
        ([rows[0], {**rows[1], "y": 2.1}], "different"),
        ([rows[0], {**rows[1], "word": "b"}], "different"),
        (rows[:1], "different"),
    ):
        files.write_rows(finished.with_name("again") / name, rows)
        files.write_rows(finished / name, changed)
        assert compared(finished)[0] == expected


@pytest.mark.parametrize("name", [files.METRICS, files.PREDICTIONS, files.RESPONSE])
def test_a_column_that_a_later_attnexp_writes_is_no_difference_and_a_lost_one_is(finished, name):
    rows = [{"epoch": 1, "x": 1.0}, {"epoch": 2, "x": 2.0}]
    wider = [{**row, "val_later": 3.0} for row in rows]
    again = finished.with_name("again") / name
    for ours, theirs, expected in (
        (rows, wider, "bit-identical"),
        (wider, rows, "different"),
        ([{**rows[0], "x": 1.5}, rows[1]], wider, "different"),
    ):
        files.write_rows(finished / name, ours)
        files.write_rows(again, theirs)
        assert compared(finished)[0] == expected


def test_a_table_that_the_run_lacks_is_different(finished):
    files.write_rows(finished.with_name("again") / files.PREDICTIONS, [{"x": 1.0}])
    (finished / files.PREDICTIONS).unlink(missing_ok=True)
    assert compared(finished)[0] == "different"


@pytest.fixture
def finished(finished_runs, tmp_path) -> Path:
    """A run next to a copy, which stands for its repetition."""
    shutil.copytree(finished_runs["curve"], tmp_path / "again")
    return Path(shutil.copytree(finished_runs["curve"], tmp_path / "run"))


def compared(folder: Path) -> tuple[str, str]:
    repetition = compare(load_run(folder), load_run(folder.with_name("again")), 1e-4)
    return repetition.outcome, repetition.where


def test_a_choice_of_another_class_is_not_verified(in_process, run, both):
    """The others are, and each verdict is printed as it is known."""
    change_summary(run, lambda s: s["choices"].update(model="gaussian"))
    answer = in_process("verify", str(both))
    assert answer.returncode == 1
    assert "not verified: " in answer.stdout
    assert "says model=gaussian" in answer.stdout
    assert answer.stdout.count("bit-identical") == 1
    assert "1 of 2 runs could not be verified" in answer.stderr


# An interrupt may come between the opening of a file and the block that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_run_that_takes_longer_than_there_is_time_is_not_verified(in_process, run):
    answer = in_process("verify", str(run), "--minutes", "0")
    assert answer.returncode == 1
    assert "and 0 of --minutes are left" in answer.stdout
    change_summary(run, lambda s: s.update(seconds=0.0))
    answer = in_process("verify", str(run), "--minutes", "0.00002")
    assert answer.returncode == 1
    assert "it takes longer than the rest of --minutes" in answer.stdout


def test_a_run_that_its_clock_ended_is_repeated_to_the_bit(succeeds, tmp_path):
    words = (*SMALL, "schedule=cosine", "train.max_epochs=5000", "train.max_minutes=0.002")
    succeeds(*words)
    assert "bit-identical" in succeeds("verify", str(tmp_path / "outputs")).stdout


def test_a_summary_that_asks_for_nonsense_costs_its_own_verdict_alone(in_process, run, both):
    def crafted(summary):
        summary["metrics"]["steps"] = -5
        summary["notes"].append("training ended early: train.max_minutes")

    change_summary(run, crafted)
    answer = in_process("verify", str(both))
    assert answer.returncode == 1
    said = " ".join(answer.stdout.split())
    assert "rnn: not verified: ValueError: max_steps must be greater than 0, got -5" in said
    assert "second: bit-identical" in said
    assert "1 of 2 runs could not be verified" in answer.stderr


@pytest.fixture(params=["default_int_handler", pytest.param("SIG_IGN", marks=pytest.mark.slow)])
def interrupts(request):
    """SIGINT as Python handles it, and ignored."""
    before = signal.signal(signal.SIGINT, getattr(signal, request.param))
    yield
    assert signal.getsignal(signal.SIGINT) == getattr(signal, request.param)
    signal.signal(signal.SIGINT, before)


# An interrupt may come between the opening of a file and the block that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("interrupts")
def test_the_time_bounds_what_is_not_training_too(in_process, succeeds, run, monkeypatch):
    """The test examples take an hour, in steps of which each is short.

    A job that a shell started in the background ignores SIGINT.
    """
    from attnexp.training.record.recording import Recording

    finish, begun = Recording.finish, []

    def slow(record, draws):
        begun.append(record)
        for _ in range(36_000 if len(begun) == 1 else 0):
            time.sleep(0.1)
        return finish(record, draws)

    monkeypatch.setattr(Recording, "finish", slow)
    start = time.monotonic()
    answer = in_process("verify", str(run), "--minutes", "0.083")
    assert time.monotonic() - start < 60
    assert answer.returncode == 1
    assert "rnn: not verified: it takes longer than the rest of --minutes" in answer.stdout
    succeeds("verify", str(run))
