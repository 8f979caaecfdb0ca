"""Runs as files, for decisions that read them."""

from itertools import count

import pytest

from attnexp.runs.folder import load_run


@pytest.fixture
def loaded(write_run):
    """Writes a run with these settings and fields, and loads it."""
    numbers = count()
    return lambda settings, **more: load_run(write_run(f"run{next(numbers)}", settings, **more))
