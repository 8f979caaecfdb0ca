"""GPUs are found without importing torch."""

from attnexp.sweeps.executors.gpus import visible_gpus


def test_gpus_are_found_without_cuda(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", " 2, GPU-77,-1")
    assert visible_gpus() == ["2", "GPU-77"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []
