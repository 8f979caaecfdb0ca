"""Standard output and error that are closed or full."""

import os
import subprocess
import sys

import pytest
from imported import IMPORTED

full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


@pytest.fixture
def shell(tmp_path):
    """Runs a line of a shell, in which $A is attnexp; the output of a pipe goes to its reader."""

    def command(line, **environment):
        return subprocess.run(
            ["sh", "-c", line],
            check=False,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": IMPORTED,
                "A": f"{sys.executable} -W error -m attnexp",
                **environment,
            },
            capture_output=True,
            timeout=120,
        )

    return command


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("$A --version >&-", 0, b""),
        ("$A --version 2>&-", 0, b""),
        ("$A nosuch=3 >&- 2>&- <&-", 2, b""),
        ("$A nosuch=3 2>/dev/full", 2, b""),
        pytest.param(
            "$A --help >/dev/full",
            1,
            b"attnexp: standard output cannot be written: the disk is full",
            marks=full,
        ),
    ],
)
def test_lost_output_takes_one_sentence_at_most(shell, line, code, sentence):
    answer = shell(line)
    assert answer.returncode == code, answer.stderr
    assert answer.stderr.startswith(sentence)
    assert answer.stderr.count(b"\n") == bool(sentence)


@pytest.mark.parametrize("words", ["--help", "--version", "--cfg job"])
def test_a_reader_that_has_gone_ends_the_command_without_a_word(shell, words):
    answer = shell(f"{{ sleep 0.3; $A {words}; echo $? >code; }} | true; cat code")
    assert answer.stdout == b"141\n"
    assert answer.stderr == b""


def test_a_closed_output_is_closed_to_no_process_that_is_started(shell):
    child = "import os; [os.fstat(number) for number in range(3)]"
    ours = (
        "import subprocess, sys; from attnexp.cli.main import _open_streams; _open_streams(); "
        f"sys.exit(subprocess.run([sys.executable, '-c', {child!r}]).returncode)"
    )
    assert shell(f'{sys.executable} -P -c "{ours}" <&- >&- 2>&-').returncode == 0
