"""Errors that jobs share are told once, and a device that is missing before the first job."""

import json

import pytest

WORDS = ("-m", "model=average", "seed=1,2,3", "figures=false")
ERROR = "train.stop_metric is exact_match, but these data have no validation set"


def test_an_error_of_several_jobs_is_one_line_with_their_number(attnexp):
    swept = attnexp(*WORDS, "train=short")
    assert swept.returncode == 1
    told = swept.stdout + swept.stderr
    assert told.count(ERROR) == 2  # when it is first seen, and in the summary
    assert "seed=1 and 2 more" in told
    assert "3 of 3 jobs failed" in told
    status = attnexp("status").stdout
    assert status.count(ERROR) == 1
    assert "and 2 more" in status
    document = json.loads(attnexp("status", "--format", "json").stdout)
    assert len(document["ended_early"]) == 3
    attnexp("model=gaussian", "figures=false")
    table = attnexp("results", "--explain").stdout
    assert table.count(f"note: 3 runs failed: ValueError: {ERROR}") == 1


@pytest.mark.parametrize("launcher", ["basic", "parallel"])
def test_a_missing_device_is_said_before_the_first_job(attnexp, tmp_path, launcher):
    refused = attnexp(*WORDS, "device=cuda:99", f"hydra/launcher={launcher}")
    assert refused.returncode == 2
    assert refused.stderr.count("device=cuda:99 is not available") == 1
    assert list((tmp_path / "outputs").glob("*")) == []
