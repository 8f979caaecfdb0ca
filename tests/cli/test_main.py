"""What every command line has in common."""

import os
import signal
import subprocess
import sys

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
