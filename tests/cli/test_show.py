import io
import shutil
from functools import partial

import pytest
from rich.console import Console

from attnexp.cli.parser import run_verb
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError
from attnexp.runs import files

main = partial(run_verb, "show")


@pytest.fixture
def shown(monkeypatch):
    """What `attnexp show` prints on a console of a kind."""

    def show(*arguments, into=None, **kind) -> str:
        text = into or io.StringIO()
        monkeypatch.setattr(console.screen, "out", Console(file=text, highlight=False, **kind))
        main([str(argument) for argument in arguments])
        return text.getvalue()

    return show


class Ascii(io.StringIO):
    """A stream that carries nothing but ASCII."""

    encoding = "ascii"


NOTED = {"vocab": "a\u4e2d\u00e9de", "notes": ["caf\u00e9"]}


def test_output_to_a_file_has_the_letters_of_its_encoding_and_no_colours(sequence_run, shown):
    text = shown(sequence_run(**NOTED), width=1000)
    assert "caf\u00e9" in text
    assert "?" not in text
    assert "\x1b" not in text
    assert any(0x2800 < ord(letter) < 0x2900 for letter in text)
    assert max(map(len, text.splitlines())) <= 80


def test_chance_stands_beside_the_primary_metric(regression_run, shown):
    folder = regression_run(
        metrics={"test_mse": 0.25, "baseline_mse": 1.5},
        companions={"test_mse": {"chance": "baseline_mse"}},
    )
    assert "test_mse 0.25 (chance 1.5)\n" in shown(folder, width=100)


def test_output_in_ascii_is_plain(sequence_run, shown):
    text = shown(sequence_run(**NOTED), into=Ascii(), width=1000)
    assert text.isascii()
    assert "additive on reverse, seed 0" in text
    assert "exact 0.98" in text
    assert "training loss" in text
    assert "cross attention, example 1" in text
    assert "caf?" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_terminal_has_colours_and_finer_curves(regression_run, shown):
    text = shown(
        regression_run(),
        width=60,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    assert "\x1b[38;2;" in text
    assert "\N{UPPER HALF BLOCK}" in text
    assert any(0x2800 < ord(letter) < 0x2900 for letter in text)


def test_what_was_not_trained_and_what_failed_is_shown_as_far_as_it_goes(regression_run, shown):
    assert "training loss" not in shown(regression_run("untrained", losses=()))
    failed = regression_run("failed", status="failed")
    (failed / files.ATTENTION).unlink()
    text = shown(failed)
    assert "status: failed" in text
    assert "attention" not in text
    with pytest.raises(RequestError, match=r"holds no attention\.safetensors"):
        shown(failed, "--example", 1)


def test_another_example_layer_and_head_can_be_seen(sequence_run, shown):
    folder = sequence_run(layers=2, heads=2)
    text = shown(folder, "--example", 2, "--layer", 1, "--head", 2)
    assert "cross attention, layer 1, head 2, example 2" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--example", "9"], "no example 9: the run kept examples 1 to 4"),
        (["--metric", "lss"], "metrics.csv has no column 'lss'"),
        (["--example"], r"expected one argument. `attnexp show --help`"),
    ],
)
def test_wrong_requests_are_said(sequence_run, shown, arguments, message):
    with pytest.raises(RequestError, match=message):
        shown(sequence_run(), *arguments)


def test_a_file_that_has_changed_since_the_run_ended_is_named(finished_runs, tmp_path, shown):
    folder = tmp_path / "run"
    shutil.copytree(finished_runs["curve"], folder)
    assert "gaussian_learned on sine" in shown(folder, width=100)
    content = (folder / files.MODEL).read_bytes()
    (folder / files.MODEL).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(RunFailedError, match=r"run: model\.safetensors is not as the run wrote it"):
        shown(folder, width=100)


def test_a_picture_says_its_command_and_its_runs(succeeds, refused, regression_run, tmp_path):
    regression_run("outputs/first", losses=(2.0, 1.0))
    succeeds("plot", "outputs/first", "--kind", "loss", "--format", "png,pdf")
    for ending in ("png", "pdf"):
        said = succeeds("show", f"outputs/first/figures/loss.{ending}").stdout.splitlines()
        assert said[0] == "command: attnexp plot outputs/first --kind loss --format png,pdf"
        assert said[-1] == "run 0123456789: outputs/first"
    (tmp_path / "mine.png").write_text("a picture of my own")
    assert refused("show", "mine.png") == (
        "attnexp: mine.png does not say what it was drawn from: attnexp writes that into PNG, SVG "
        "and PDF\n"
    )
    assert "is a picture: the options of show" in refused("show", "mine.png", "--head", "1")
    assert refused("show", "a/b.svg") == "attnexp: a/b.svg is not there\n"
    (tmp_path / "mine.jpg").write_text("a picture of my own")
    assert refused("show", "mine.jpg") == (
        "attnexp: mine.jpg is a file: show takes runs, and pictures in PNG, SVG and PDF\n"
    )
