"""summary.json, read and written through its type."""

import json
import math

import pytest
import torch
from stored_runs import change_summary

from attnexp.runs.files import SUMMARY, UnreadableRunError
from attnexp.runs.run_status import Status
from attnexp.runs.summary import error_text, first_summary, read_summary


def test_what_is_written_comes_back(summary, tmp_path):
    written = summary(
        {"optim.betas": [0.9, 1.0], "normalizer._target_": "a.Soft", "batched": False},
        choices={"normalizer": "soft"},
        notes=["a note"],
        details={"by": {"3": 0.5}},
    )
    written.write(tmp_path)
    assert read_summary(tmp_path) == written


def test_a_number_that_is_not_finite_is_null(summary, tmp_path):
    summary(metrics={"test_mse": math.nan, "loss": math.inf}).write(tmp_path)
    assert json.loads((tmp_path / SUMMARY).read_text())["metrics"]["loss"] is None
    assert read_summary(tmp_path).metrics == {"test_mse": None, "loss": None, "neighbours": 7.25}


def test_letters_that_no_encoding_has_are_replaced(summary, tmp_path):
    summary(error="half a pair \ud83d").write(tmp_path)
    assert read_summary(tmp_path).error == "half a pair ?"


def test_a_run_opens_and_ends_early(tmp_path):
    config = {"seed": 3, "model": {"width": 1.0}, "normalizer": {"_target_": "a.Soft"}}
    opened = first_summary("key", config, {"model": "gaussian", "normalizer": "soft"})
    assert (opened.status, opened.seed, opened.ended) == ("running", 3, None)
    failed = opened.ended_early(Status.FAILED, "ValueError: no", 1.5)
    failed.write(tmp_path)
    assert read_summary(tmp_path) == failed
    assert (failed.status, failed.error, failed.seconds) == ("failed", "ValueError: no", 1.5)
    assert failed.ended is not None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "cannot be read"),
        ('{"schema": 1, "conf', "cannot be read"),
        ("[" * 100_000, "is not the summary of a run"),
        (b"\xff\xfe", "cannot be read"),
        ("[]", "is not the summary of a run"),
        ('{"schema": 99, "config": {}}', "its schema is wrong"),
    ],
)
def test_content_that_is_not_a_summary_says_why(tmp_path, content, reason):
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / SUMMARY).write_bytes(raw)
    with pytest.raises(UnreadableRunError, match=reason):
        read_summary(tmp_path)


def test_a_folder_without_a_summary_is_not_a_run(tmp_path):
    with pytest.raises(UnreadableRunError, match=r"holds no summary.json"):
        read_summary(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "done"),
        ("key", 5),
        ("choices", {"model": 3}),
        ("metrics", {"test_mse": "small"}),
        ("metrics", {"test_mse": 10**400}),
        ("better", {"test_mse": "smaller"}),
        ("parameters", 1.5),
        ("git", {"commit": 3, "dirty": False}),
        ("config", {"seed": True}),
        ("config", {}),
    ],
)
def test_a_field_of_another_type_is_named(summary, tmp_path, field, value):
    summary().write(tmp_path)
    change_summary(tmp_path, lambda content: content.update({field: value}))
    with pytest.raises(UnreadableRunError, match=f"is not the summary of a run: its {field}"):
        read_summary(tmp_path)


def test_what_a_field_holds_cannot_steer_a_terminal(summary, tmp_path):
    summary().write(tmp_path)
    change_summary(tmp_path, lambda content: content.update(metrics={"\x1b[31m": "red"}))
    with pytest.raises(UnreadableRunError) as raised:
        read_summary(tmp_path)
    assert "\x1b" not in str(raised.value)


def test_an_error_is_one_line():
    from attnexp.core.errors import RequestError

    assert error_text(ValueError("no")) == "ValueError: no"
    assert error_text(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert error_text(RequestError("a sentence")) == "a sentence"


def test_memory_that_pytorch_cannot_allocate_is_a_sentence():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**58)
    text = error_text(caught.value)
    assert text.startswith("a step of training does not fit in memory (1152921504606846976 bytes ")
    assert "choose a smaller train.batch_size" in text
    cuda = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has")
    assert "does not fit in memory (2.00 GiB more)" in error_text(cuda)
