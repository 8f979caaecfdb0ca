"""GPUs are found without importing torch."""

import pytest

from attnexp.errors import RequestError
from attnexp.sweeps.launchers.gpus import reserve_gpu, visible_gpus


def test_gpus_are_found_without_cuda(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", " 2, GPU-77,-1")
    assert visible_gpus() == ["2", "GPU-77"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []


def test_a_reservation_that_cannot_be_written_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
        with pytest.raises(RequestError, match=r"^TMPDIR: .* cannot be written: No such file"):
            reserve_gpu()
