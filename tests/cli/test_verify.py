"""`attnexp verify` does a run again and says whether its numbers are the same."""

import json
import re
from pathlib import Path

import pytest

from attnexp.runs import files

SMALL = (
    *("data=reverse", "model=additive", "arch.hidden_dim=8", "figures=false"),
    *("data.num_train=48", "data.num_validation=8", "data.num_test=8"),
    *("train.batch_size=16", "train.max_epochs=3"),
)


@pytest.fixture
def run(in_process, tmp_path) -> Path:
    answer = in_process(*SMALL)
    assert answer.returncode == 0, answer.stderr
    (folder,) = (tmp_path / "outputs").iterdir()
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a run; its log is still open in this process."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.suffix != ".log"
    }


def change_summary(folder: Path, change) -> None:
    path = folder / files.SUMMARY
    summary = json.loads(path.read_text())
    change(summary)
    path.write_text(json.dumps(summary))


def test_a_run_is_bit_identical_to_its_repetition(in_process, run):
    before = contents(run)
    answer = in_process("verify", str(run))
    assert answer.returncode == 0, answer.stderr
    assert "bit-identical" in answer.stdout
    assert contents(run) == before


def test_another_number_is_named_with_the_first_update(in_process, run):
    path = run / files.METRICS
    head, *rows = path.read_text().splitlines()
    place = head.split(",").index("loss")
    for number in (1, 2):
        cells = rows[number].split(",")
        cells[place] = str(float(cells[place]) + 0.5)
        rows[number] = ",".join(cells)
    path.write_text("\n".join([head, *rows]) + "\n")
    answer = in_process("verify", str(run))
    assert answer.returncode == 1
    assert "different: metrics.csv: loss by" in " ".join(answer.stdout.split())
    assert "first at update 6" in " ".join(answer.stdout.split())
    assert "the run has other numbers now" in answer.stderr


def test_a_last_digit_is_within_the_tolerance_that_is_asked_for(in_process, run):
    change_summary(run, lambda s: s["metrics"].update(test_loss=s["metrics"]["test_loss"] + 1e-6))
    answer = in_process("verify", str(run))
    assert answer.returncode == 0, answer.stderr
    assert "within tolerance: test_loss" in answer.stdout
    answer = in_process("verify", str(run), "--tolerance", "1e-8")
    assert answer.returncode == 1
    assert "different: test_loss" in answer.stdout


def test_all_runs_of_a_folder_are_verified_and_others_named(in_process, run, tmp_path):
    assert in_process(*SMALL, "seed=1").returncode == 0
    change_summary(run, lambda s: s["versions"].update(torch="1.0"))
    answer = in_process("verify", str(tmp_path / "outputs"))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("bit-identical") == 2
    assert re.search(r"torch was 1\.0 and is \S+ \(1 of 2 runs\)", answer.stdout)


def test_code_that_is_not_trusted_is_refused(in_process, run):
    change_summary(run, lambda s: s["config"]["model"].update(_target_="os.system"))
    answer = in_process("verify", str(run))
    assert answer.returncode == 2
    assert "os.system" in answer.stderr


def test_a_run_that_has_not_finished_has_nothing_to_verify(in_process, run):
    change_summary(run, lambda s: s.update(status="failed"))
    answer = in_process("verify", str(run))
    assert answer.returncode == 2
    assert "nothing to verify" in answer.stderr


@pytest.mark.parametrize("value", ["-1", "nan", "much"])
def test_a_tolerance_is_a_number(in_process, run, value):
    answer = in_process("verify", str(run), f"--tolerance={value}")
    assert answer.returncode == 2
    assert value in answer.stderr
