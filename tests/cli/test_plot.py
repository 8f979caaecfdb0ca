import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from imported import python
from matplotlib.image import imread
from PIL import Image, ImageSequence

from attnexp.cli.parser import run_verb
from attnexp.core.errors import RequestError
from attnexp.runs import files
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons

main = partial(run_verb, "plot")

PNG, PDF = b"\x89PNG\r\n\x1a\n", b"%PDF-"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def sweep(regression_run, tmp_path) -> Path:
    """Two configurations with seeds 0 and 1 each, and one that was not trained."""
    for width in (1.0, 2.0):
        for seed in (0, 1):
            settings = {"seed": seed, "model.width": width, "data.noise": 0.5}
            regression_run(
                f"w{width:g}-{seed}", losses=(width, 0.5, seed + 0.25), settings=settings
            )
    untrained = {"seed": 0, "model": {}, "data.noise": 0.5}
    choices = {"model": "average", "data": "sine", "arch": "kernel_regression"}
    regression_run("average", losses=(), settings=untrained, choices=choices)
    return tmp_path


def test_one_run_is_drawn_into_its_folder(regression_run):
    folder = regression_run(snapshots=(0, 2, 4))
    main([str(folder)])
    there = names(folder / files.FIGURES)
    assert {"attention.png", "fit.png", "growth.png", "loss.png"} <= set(there)


@pytest.mark.first(1)
@pytest.mark.parametrize(("form", "start"), [("png", PNG), ("pdf", PDF), ("svg", b"<?xml")])
def test_every_format_is_written_and_says_no_date(sequence_run, tmp_path, form, start):
    folder = sequence_run()
    first, again = tmp_path / "first", tmp_path / "again"
    for place in (first, again):
        main([str(folder), "--format", form, "--output", str(place)])
        assert {f"attention.{form}", f"loss.{form}"} <= set(names(place))
    for name in names(first):
        content = (first / name).read_bytes()
        assert content.startswith(start)
        assert content == (again / name).read_bytes()
        assert not re.search(rb"CreationDate|dc:date|20\d\d-\d\d-\d\d", content)


@pytest.mark.slow
def test_growth_is_animated_with_the_same_bytes_each_time(regression_run):
    """Frames differ, as all epochs do, and each is shown for half a second."""
    folder = regression_run(snapshots=range(8))
    path = folder / files.FIGURES / "growth.gif"
    main([str(folder), "--kind", "growth", "--format", "gif"])
    content = path.read_bytes()
    assert names(path.parent) == ["growth.gif"]
    with Image.open(path) as image:
        shown = [frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(image)]
        assert image.info["duration"] == 500
    assert len(shown) == len(set(shown)) == 8
    main([str(folder), "--kind", "growth", "--format", "gif,png"])
    assert path.read_bytes() == content
    assert names(path.parent) == ["growth.gif", "growth.png"]


def test_several_runs_are_compared(sweep):
    main([str(sweep)])
    assert names(sweep / files.FIGURES) == ["attention.png", "fit.png", "loss.png", "metric.png"]


def test_sequence_runs_of_several_scores_share_a_grid(sequence_run, tmp_path):
    for model, heads in (("additive", 1), ("dot", 2)):
        choices = {"model": model, "data": "reverse", "arch": "rnn"}
        sequence_run(model, heads=heads, choices=choices, settings={"arch.heads": heads})
    main([str(tmp_path), "--example", "2,4"])
    there = names(tmp_path / files.FIGURES)
    assert there == ["attention.png", "loss.png", "metric.png"]


def test_pictures_of_different_data_are_apart(regression_run, sequence_run, tmp_path):
    regression_run("a")
    sequence_run("b")
    main([str(tmp_path)])
    assert names(tmp_path / files.FIGURES) == [
        "attention-reverse.png",
        "attention-sine.png",
        "fit-sine.png",
        "loss-reverse.png",
        "loss-sine.png",
    ]


def test_configurations_gather_seeds_and_are_named_by_what_differs(sweep):
    (comparison,) = comparisons(collect([sweep]).runs)
    found = {one.label: one.seeds for one in comparison.configurations}
    assert found == {
        "gaussian, model.width=1": (0, 1),
        "gaussian, model.width=2": (0, 1),
        "average": (0,),
    }
    assert comparison.seeds == (0,)
    assert comparison.data == "sine"


def test_the_later_of_two_runs_with_one_seed_counts(regression_run, tmp_path):
    regression_run("a", started="2026-01-02T00:00:00+00:00")
    regression_run("b", started="2026-01-01T00:00:00+00:00")
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((run,),) = (one.runs for one in comparison.configurations)
    assert run.folder.name == "a"


def test_a_run_that_failed_still_shows_its_losses(regression_run):
    folder = regression_run(status="failed")
    (folder / files.ATTENTION).unlink()
    main([str(folder)])
    there = names(folder / files.FIGURES)
    assert "loss.png" in there
    assert not {"attention.png", "fit.png"} & set(there)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "fti"], r"--kind: 'fti' is not a choice. Did you mean 'fit'\?"),
        (["--format", "gif"], "--format gif has a frame per epoch: ask for --kind growth"),
        (["--format", "gif", "--kind", "loss"], "frame per epoch: ask for --kind growth"),
        (["--format", "bmp"], r"--format: 'bmp' is not a choice: choose gif, pdf, png or svg"),
        (["--columns", "0"], "--columns: '0' is not a positive integer"),
        (["--kind", "growth"], r"no growth to draw: .* train.attention_every=N"),
        (["--metric", "test_mze"], "--metric: 'test_mze' is not a choice. Did you mean 'test_mse'"),
        (["--kind", "loss", "--metric", "test_mse"], "metrics.csv has no column 'test_mse'"),
        (["--attention", "self"], "no attention 'self': the run kept pooling"),
        (["--example", "2"], "no example 2: the run kept only example 1"),
        (["--layer", "0"], "--layer: '0' is not a positive integer"),
        (["--head", "3"], "no head 3: the run kept heads 1 to 2"),
        (["--width", "3"], "--width: '3' is not a width from 2in to 40in: write a number and in"),
        (["--venue", "icml2042"], r"--venue: 'icml2042' is not a choice. Did you mean 'icml20"),
        (["--venue", "icml2024", "--slides"], "--venue and --slides exclude each other"),
        (["--width", "3in", "--slides"], "--width and --slides exclude each other"),
        (["--font", "DejaVu San"], "--font: 'DejaVu San' is not a choice. Did you mean 'DejaVu"),
        (["--dpi", "0"], "--dpi: '0' is not a whole number from 50 to 1200"),
        (["--slides", "--dpi", "100"], "have less than 1,920 pixels: 320 is the least"),
        (["--name", "gausian=G"], r"--name: 'gausian' is not a choice. Did you mean 'gaussian'"),
        (["--name", "gaussian"], "--name: 'gaussian' has no new name of one line: write OLD=NEW"),
        (["--what"], r"unrecognized arguments: --what. .*`attnexp plot --help`"),
    ],
)
def test_what_cannot_be_drawn_is_said(regression_run, arguments, message):
    folder = regression_run(heads=2)
    with pytest.raises(RequestError, match=message):
        main([str(folder), *arguments])


MAIN = (files.ATTENTION, files.PREDICTIONS)


@pytest.mark.parametrize("status", ["finished", "failed", "interrupted"])
@pytest.mark.parametrize("lost", [MAIN, (*MAIN, files.METRICS)])
def test_a_run_of_which_nothing_can_be_drawn_is_refused(
    regression_run, tmp_path, capsys, status, lost
):
    folder = regression_run(losses=(), status=status)
    for name in lost:
        (folder / name).unlink(missing_ok=True)
    arguments = [str(folder), "--output", str(tmp_path / "drawn")]
    with pytest.raises(RequestError, match=r"nothing to draw: .*attention\.safetensors") as found:
        main(arguments)
    assert "predictions.csv" in str(found.value)
    assert str(folder) in str(found.value)
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "drawn").exists()


def test_runs_of_which_nothing_can_be_drawn_are_refused_together(regression_run, tmp_path):
    for seed in range(3):
        folder = regression_run(f"run{seed}", seed=seed, losses=())
        for name in MAIN:
            (folder / name).unlink()
    with pytest.raises(RequestError, match="nothing to draw: the 3 runs hold no "):
        main([str(tmp_path)])


def test_a_picture_of_what_is_left_is_no_error(regression_run, tmp_path):
    folder = regression_run()
    main([str(folder)])
    whole = {*names(folder / files.FIGURES)}
    shutil.rmtree(folder / files.FIGURES)
    for name in MAIN:
        (folder / name).unlink()
    main([str(folder)])
    left = {*names(folder / files.FIGURES)}
    assert whole - left == {"attention.png", "fit.png"}
    assert "loss.png" in left <= whole


def test_labels_and_titles_have_the_names_that_are_asked_for(sweep, tmp_path):
    names = ["--name", "average=Mean", "--name", "width=1=narrow", "--name", "gaussian=G"]
    main([str(sweep), *names, "--format", "svg", "--output", str(tmp_path / "out")])
    text = (tmp_path / "out" / "fit.svg").read_text()
    shown = set(re.findall(r"<text[^>]*>([^<]+)</text>", text))
    assert {"G, narrow (2 seeds)", "Mean"} <= shown
    assert not {"average", "gaussian, width=1"} & shown
    one = next(path for path in sweep.iterdir() if path.name.startswith("w1"))
    main([str(one), "--name", "gaussian=G", "--kind", "fit", "--format", "svg"])
    assert ">G on sine, seed" in (one / files.FIGURES / "fit.svg").read_text()


def test_axes_rows_and_titles_have_the_names_of_metrics_and_settings(sweep, tmp_path):
    asked = ["--name", "model.width=h", "--name", "test_mse=MSE", "--name", "loss=NLL"]
    out = tmp_path / "out"
    main([str(sweep), *asked, "--format", "svg", "--output", str(out)])
    texts = {
        path.stem: re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text())
        for path in out.iterdir()
    }
    assert {"MSE", "MSE on sine"} <= {*texts["metric"]}
    assert any("h=1" in text for text in texts["metric"])
    assert {"NLL", "NLL on sine"} <= {*texts["loss"]}
    every = "\n".join(text for own in texts.values() for text in own)
    assert not re.search(r"test_mse|width=|loss", every)
    one = next(path for path in sweep.iterdir() if path.name.startswith("w1"))
    main([str(one), *asked, "--kind", "fit", "--format", "svg"])
    assert ">MSE " in (one / files.FIGURES / "fit.svg").read_text()


def test_a_font_is_used_and_a_number_is_drawn_by_its_word(sweep, tmp_path):
    out = tmp_path / "out"
    main([str(sweep), "--metric", "neighbours", "--font", "STIXGeneral", "--format", "svg",
          "--output", str(out)])  # fmt: skip
    text = (out / "metric.svg").read_text()
    assert "STIXGeneral" in text
    assert ">neighbours<" in text
    assert (out / "loss.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize("asked", [["--slides"], ["--slides", "--dark"], ["--width", "6in"]])
def test_every_picture_of_a_run_has_the_size_that_is_asked_for(
    regression_run, sequence_run, tmp_path, asked
):
    for run in (regression_run("a", snapshots=(0, 2)), sequence_run("b", layers=2, heads=2)):
        main([str(run), *asked, "--output", str(tmp_path / "out")])
    shapes = [imread(path).shape for path in (tmp_path / "out").iterdir()]
    assert len(shapes) >= 4
    wide = 1920 if "--slides" in asked else 1800
    assert {shape[1] for shape in shapes} == {wide}
    assert "--slides" not in asked or {shape[0] for shape in shapes} == {1080}


def test_three_slides_of_a_sweep_are_one_command(sweep, tmp_path):
    out = tmp_path / "out"
    main([str(sweep), "--slides", "--kind", "fit,attention,metric", "--output", str(out)])
    shapes = {path.name: imread(path).shape[:2] for path in out.iterdir()}
    assert shapes == dict.fromkeys(("fit.png", "attention.png", "metric.png"), (1080, 1920))


def test_places_without_runs_are_said(tmp_path):
    with pytest.raises(RequestError, match="there are no runs below"):
        main([str(tmp_path)])
    with pytest.raises(RequestError, match="nowhere is not there"):
        main([str(tmp_path / "nowhere")])


def test_runs_can_be_chosen_by_a_test(sweep, tmp_path):
    main([str(sweep), "--where", "model.width=2 and seed=1", "--output", str(tmp_path / "out")])
    assert {"attention.png", "fit.png", "loss.png"} <= set(names(tmp_path / "out"))
    with pytest.raises(RequestError, match="none of the 5 runs fits seed=7"):
        main([str(sweep), "--where", "seed=7"])


def test_without_a_finished_run_there_is_nothing_to_compare(regression_run, tmp_path):
    for seed in (0, 1):
        regression_run(f"r{seed}", seed=seed, status="running")
    with pytest.raises(RequestError, match="none of the 2 runs has finished"):
        main([str(tmp_path)])


def test_runs_that_did_not_finish_are_left_out_and_told(sweep, regression_run, capsys):
    regression_run("broken", seed=2, status="failed", settings={"data.noise": 0.5})
    main([str(sweep)])
    assert "left out 1 run that did not finish" in capsys.readouterr().out


def test_a_backend_that_is_inherited_from_a_notebook_stops_no_picture(regression_run, tmp_path):
    folder = regression_run()
    backend = "module://matplotlib_inline.backend_inline"
    answer = python("-m", "attnexp", "plot", folder, cwd=tmp_path, MPLBACKEND=backend)
    assert answer.returncode == 0, answer.stderr
    assert "fit.png" in names(folder / files.FIGURES)


def test_rows_of_several_codes_are_named_with_the_command_that_tells_them_apart(
    regression_run, tmp_path, capsys
):
    for width in (1.0, 2.0):
        for seed in (0, 1):
            settings = {"seed": seed, "model.width": width}
            code = {"mine": "1", "helper": "2" if width == 2 and seed else "3"}
            regression_run(f"w{width:g}-{seed}", settings=settings, code=code)
    main([str(tmp_path), "--kind", "metric,loss"])
    said = capsys.readouterr().out
    (line,) = (line for line in said.splitlines() if "several codes" in line)
    command = f"attnexp results {tmp_path} --by model,model.width,code"
    assert line == f"note: rows mix runs of several codes: width=2: {command}"
    run_verb("results", command.split()[2:])
    main([str(tmp_path), "--where", "model.width=1", "--kind", "loss"])
    assert "several codes" not in capsys.readouterr().out
