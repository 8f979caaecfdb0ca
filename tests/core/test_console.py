"""What is shown while something is being done."""

import io

from rich.console import Console

from attnexp.core import console


def shown(monkeypatch, **kind):
    text = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=text, **kind))
    with console.status("loading PyTorch"):
        pass
    return text.getvalue()


def test_a_terminal_is_told_what_is_loading(monkeypatch):
    assert "loading PyTorch" in shown(monkeypatch, force_terminal=True)


def test_a_file_is_told_nothing(monkeypatch):
    assert shown(monkeypatch) == ""


def test_a_digest_is_told_by_its_first_digits():
    digest = "04865c2d94288ef7" * 4
    assert console.setting_text(digest) == "04865c2d9428..."
    assert console.setting_text(digest + "0") == digest + "0"
