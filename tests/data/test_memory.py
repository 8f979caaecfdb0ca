import os

import pytest

from attnexp.data import memory


def test_linux_says_what_is_available(tmp_path, monkeypatch):
    path = tmp_path / "meminfo"
    path.write_text("MemTotal:       9000 kB\nMemFree:          10 kB\nMemAvailable:    300 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", path)
    assert memory.available_memory() == 300 * 1024


@pytest.mark.parametrize("content", [None, "MemTotal:       9000 kB\n"])
def test_elsewhere_it_is_all_there_is(tmp_path, monkeypatch, content):
    path = tmp_path / "meminfo"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(memory, "MEMINFO", path)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory.available_memory() == total
