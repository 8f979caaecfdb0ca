"""What a signal leaves in the errors of a process."""

import signal

import pytest
from imported import python

from attnexp.training.stop import Stopped, signal_of


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (ValueError(), None),
        (KeyboardInterrupt(), signal.SIGINT),
        (Stopped(signal.SIGTERM), signal.SIGTERM),
        (caused(ValueError(), Stopped(signal.SIGHUP)), signal.SIGHUP),
        (caused(KeyboardInterrupt(), Stopped(signal.SIGTERM)), signal.SIGTERM),
        (caused(OSError(), caused(ValueError(), KeyboardInterrupt())), signal.SIGINT),
    ],
)
def test_the_signal_of_an_error_is_found(error, number):
    assert signal_of(error) == number


@pytest.mark.parametrize(
    ("error", "number"), [(ValueError(), None), (KeyboardInterrupt(), signal.SIGINT)]
)
def test_errors_that_cause_each_other_come_to_an_end(error, number):
    other = caused(OSError(), error)
    assert signal_of(caused(error, other)) == number
    assert signal_of(other) == number
    assert signal_of(caused(error, error)) == number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_torch_imports_numpy_ends_the_command(tmp_path, number):
    """The real torch swallows it, too: it imports numpy from C."""
    (tmp_path / "numpy.py").write_text(f"import signal\nsignal.raise_signal({number:d})\n")
    swallowing = "try:\n    import numpy\nexcept BaseException:\n    pass\n"
    (tmp_path / "torch.py").write_text(swallowing)
    command = (
        f"import signal, sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "from attnexp.training.stop import install_handlers; install_handlers()\n"
        "import torch; print('goes on')"
    )
    answer = python("-c", command)
    assert answer.returncode != 0
    assert answer.stdout == ""
