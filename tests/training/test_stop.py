"""What a signal leaves in the errors of a process."""

import signal

import pytest

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
