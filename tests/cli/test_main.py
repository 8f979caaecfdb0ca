"""What every command line has in common."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager

import pytest

from attnexp.cli import main
from attnexp.cli.main import run
from attnexp.runs.stop import Stopped

FEW = (
    "train.max_epochs=1",
    "data.num_train=20",
    "data.num_validation=4",
    "data.num_test=4",
    "figures=false",
)


def test_help_is_a_verb(in_process):
    assert in_process("help").stdout == in_process("--help").stdout
    assert "Usage" in in_process("help").stdout


@pytest.fixture
def in_c_locale(tmp_path):
    """Runs a command line in a folder with a Chinese name, where the locale knows only ASCII."""
    folder = tmp_path / "\u6570\u636e"
    folder.mkdir()

    def command(*arguments):
        environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}
        answer = subprocess.run(
            [sys.executable, "-m", "attnexp", *arguments],
            check=False,
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=120,
        )
        return answer.returncode, answer.stdout.decode(), answer.stderr.decode()

    command.folder = folder
    return command


@pytest.mark.slow
def test_a_folder_that_the_locale_cannot_name(in_c_locale):
    code, out, err = in_c_locale("data=reverse", "arch.hidden_dim=8", *FEW)
    assert (code, err) == (0, ""), out + err
    (run_folder,) = (in_c_locale.folder / "outputs").iterdir()
    recorded = (run_folder / ".hydra" / "hydra.yaml").read_text(encoding="utf-8")
    assert f"cwd: {in_c_locale.folder}" in recorded
    code, out, err = in_c_locale("decode", str(run_folder.relative_to(in_c_locale.folder)), "3 1")
    assert (code, err) == (0, ""), out + err
    code, out, err = in_c_locale("output_dir=\u6570")
    assert code == 2
    assert "is not text in the encoding ascii: set LC_ALL to a locale with UTF-8" in err
    assert "Traceback" not in err


def test_characters_that_a_stream_cannot_carry_are_escaped():
    """A path that the locale could not decode is written with its own bytes."""
    code = "import sys; sys.argv[1:] = ['\\u00e9']\nfrom attnexp.cli.main import main\nmain()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    answer = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, env=environment
    )
    assert answer.returncode == 2
    assert b"\\xe9' is not a setting" in answer.stderr
    assert b"Traceback" not in answer.stderr


def test_an_undecodable_word_is_refused(capfd):
    assert run(["output_dir=\udce6"]) == 2
    assert "is not text in the encoding" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("interrupt", "code", "how"),
    [
        (KeyboardInterrupt(), 130, "interrupted; "),
        (Stopped(signal.SIGTERM), 143, "interrupted by SIGTERM; "),
    ],
)
@pytest.mark.parametrize("hidden", [False, True], ids=["itself", "as an error of a library"])
def test_a_signal_is_no_fault(in_process, monkeypatch, interrupt, code, how, hidden):
    def interrupted(argv):
        try:
            raise interrupt
        except KeyboardInterrupt:
            if hidden:
                raise AttributeError("half of it is done") from None
            raise

    monkeypatch.setattr(main, "_command", lambda argv: interrupted)
    answer = in_process("seed=0")
    assert answer.returncode == code
    assert answer.stderr == f"attnexp: {how}what had finished is kept\n"


@contextmanager
def without_temporary_folder(monkeypatch):
    """Lets temporary files belong into a folder that is not there."""
    with monkeypatch.context() as patch:  # pytest makes such files itself after a test
        patch.setattr(tempfile, "tempdir", "/absent")
        yield


def test_a_fault_has_a_sentence_where_its_traceback_cannot_be_written(in_process, monkeypatch):
    def broken(argv):
        raise AttributeError("half of it")

    monkeypatch.setattr(main, "_command", lambda argv: broken)
    with without_temporary_folder(monkeypatch):
        answer = in_process("seed=0")
    assert answer.returncode == main.FAULT
    assert answer.stderr.startswith("attnexp: a fault of attnexp: AttributeError: half of it (")
    assert answer.stderr.count("\n") == 1


def test_without_a_temporary_folder_what_needs_one_says_so(in_process, monkeypatch, tmp_path):
    words = ("train.max_epochs=1", "figures=false")
    assert in_process(*words).returncode == 0
    (folder,) = (tmp_path / "outputs").iterdir()
    lines = [("verify", str(folder)), ("-m", "seed=1,2", *words)]
    for line in lines:
        with without_temporary_folder(monkeypatch):
            answer = in_process(*line)
        assert answer.returncode == 2, line
        assert answer.stderr.startswith("attnexp: no temporary file can be made: No such file")
        assert answer.stderr.endswith("TMPDIR names another folder\n")
        assert answer.stderr.count("\n") == 1
    with without_temporary_folder(monkeypatch):
        assert in_process("rerun=true", *words).returncode == 0
