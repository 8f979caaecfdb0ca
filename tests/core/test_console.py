"""What is shown while something is being done."""

import contextlib
import io
import os
import re
import shlex
import sys
import time

import pexpect
import pytest
from rich.console import Console

from attnexp.core import console


def shown(monkeypatch, **kind):
    text = io.StringIO()
    monkeypatch.setattr(console.screen, "out", Console(file=text, **kind))
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
    monkeypatch.setattr(console.screen, "out", screen)
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
    monkeypatch.setattr(console.screen, "out", screen)
    monkeypatch.setattr(console, "LINE_EVERY", 0.0)
    with console.progress("seed 0: epoch", 2) as show:
        for done in (0.5, 1, 1.5, 2):
            show(done, "loss")
    assert printed.getvalue().splitlines() == [
        "seed 0: epoch 1/2 loss",
        "seed 0: epoch 2/2 loss",
    ]


def test_a_bar_that_is_shown_goes_on_where_nothing_else_is_printed(monkeypatch):
    printed = io.StringIO()
    shown = Console(file=printed, width=60, force_terminal=True, color_system=None)
    monkeypatch.setattr(console.screen, "out", shown)
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.progress("seed 0: epoch", 3) as show:
        show(1, "before")
        with console.screen.silent():
            console.print_line("a sentence")
            show(2, "within")
            end = time.monotonic() + 5
            while " 2/3 " not in printed.getvalue() and time.monotonic() < end:
                time.sleep(0.02)
            within = printed.getvalue()
    assert " 2/3 " in within
    assert "sentence" not in within


def test_a_sentence_is_printed_again_behind_a_silent_block(capsys):
    with contextlib.suppress(ValueError), console.screen.silent():
        console.print_line("unheard")
        console.complain("unheard")
        raise ValueError
    console.print_line("heard")
    console.complain("heard")
    assert capsys.readouterr() == ("heard\n", "attnexp: heard\n")


@pytest.mark.parametrize(
    ("is_read", "streams"), [(True, ("", "aside\n")), (False, ("aside\n", ""))]
)
def test_what_is_said_next_to_a_document_is_on_the_standard_error(is_read, streams, capsys):
    with console.screen.aside(is_read):
        console.print_line("aside")
    assert capsys.readouterr() == streams


PRINTS = (
    "from attnexp.core import console\nconsole.warn('mind')\nwith console.status('loading'): pass\n"
)
"""A program that prints a coloured word, and shows on a terminal what it does."""

OF_IPYKERNEL = {"TERM": "xterm-color", "PAGER": "cat", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
"""Variables that ipykernel sets for the commands of `!`."""


def on_a_terminal(**variables):
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    answer = pexpect.run(
        shlex.join([sys.executable, "-c", PRINTS]),
        env=environment | {"TERM": "xterm-256color"} | variables,
        encoding="utf-8",
    )
    assert "mind" in answer
    return answer


def luminance(colour):
    """The relative luminance of a colour by WCAG 2."""
    parts = [part / 255 for part in colour]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", ["note", "name", "good", "bad"])
def test_colours_read_on_white_and_on_black(name):
    light = luminance(console.COLOURS.styles[name].color.get_truecolor())
    assert 1.05 / (light + 0.05) > 3.6
    assert (light + 0.05) / 0.05 > 3.6


def test_no_color_drops_every_style():
    assert "\x1b[38;5;166m" in on_a_terminal()
    assert "m" not in re.findall(r"\x1b\[[\d;]*([A-Za-z])", on_a_terminal(NO_COLOR="1"))


@pytest.mark.parametrize("variables", [OF_IPYKERNEL, {"JPY_PARENT_PID": "7"}])
def test_a_notebook_is_told_nothing_but_text(variables):
    assert on_a_terminal(**variables) == "note: mind\r\n"
