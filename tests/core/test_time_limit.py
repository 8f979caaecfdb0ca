"""A block that takes too long is ended, and signals stay as they were."""

import signal
import time

import pytest

from attnexp.core.errors import RunFailedError
from attnexp.core.time_limit import time_limit


@pytest.fixture(params=[signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler])
def handler(request):
    before = signal.signal(signal.SIGINT, request.param)
    yield request.param
    signal.signal(signal.SIGINT, before)


def test_a_block_that_takes_too_long_is_ended_however_signals_are_handled(handler):
    start = time.monotonic()
    with pytest.raises(RunFailedError, match="too long"), time_limit(0.1, "too long"):
        sum(1 for _ in iter(lambda: time.monotonic() - start < 60, False))
    assert time.monotonic() - start < 30
    assert signal.getsignal(signal.SIGINT) == handler


@pytest.mark.parametrize("handler", [signal.SIG_IGN], indirect=True)
def test_an_ignored_signal_stays_ignored(handler):
    try:
        with time_limit(60, "too long"):
            signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:  # which would end pytest
        pytest.fail("the signal has ended the block")


def test_an_error_of_the_block_stays_what_it_is():
    with pytest.raises(ValueError, match="another"), time_limit(60, "too long"):
        raise ValueError("another")
