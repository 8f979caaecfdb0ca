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


def test_a_bar_moves_within_an_epoch_and_cuts_its_details_first(monkeypatch):
    printed = io.StringIO()
    screen = Console(file=printed, width=60, force_terminal=True, color_system=None)
    monkeypatch.setattr(console, "out", screen)
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.progress("seed 0: epoch", 3) as show:
        show(1.5, "loss 0.5, val exact_match 0.998, val token_accuracy 0.99")
    text = printed.getvalue()
    assert "seed 0: epoch ━━━━━━━━━━" in text
    assert " 1/3 " in text
    assert "token_accuracy" not in text


def test_a_pipe_has_a_line_per_epoch_and_none_within(monkeypatch):
    printed = io.StringIO()
    screen = Console(file=printed, width=200)
    monkeypatch.setattr(console, "out", screen)
    monkeypatch.setattr(console, "LINE_EVERY", 0.0)
    with console.progress("seed 0: epoch", 2) as show:
        for done in (0.5, 1, 1.5, 2):
            show(done, "loss")
    assert printed.getvalue().splitlines() == [
        "seed 0: epoch 1/2 loss",
        "seed 0: epoch 2/2 loss",
    ]
