"""Every picture in Chinese: no fixed word of it stays English, and names stay as they are."""

import re

import pytest
from matplotlib.text import Text

from attnexp.core.language import speaking
from attnexp.plots.base import Options
from attnexp.plots.catalogue import PICTURES
from attnexp.plots.picture_style import Style
from attnexp.plots.style import style_context
from attnexp.runs.folder import load_run
from attnexp.runs.probed import LEARNED, Probed, write_probed
from attnexp.select.configurations import comparisons

NAMES = re.compile(
    r"additive|gaussian_learned|boxcar|scaled_dot|gaussian|sine|reverse|table|cross|pooling|encoder|"
    r"decoder|exact_match|test_mse|model|width|seed|uniform|hard|sinusoidal|zero|sparse|dot|"
    r"none|rnn|transformer|exact|<eos>|c \(m/s\)|n\^\(-3/4\)|nonpad|pad|eos|bos|lr|mse|log"
)
"""Names of choices, settings, metrics and symbols, which have no translation."""

HAN = re.compile(r"[\u4e00-\u9fff]")


def texts(figure):
    figure.draw_without_rendering()
    return {text.get_text() for text in figure.findobj(Text) if text.get_text().strip()}


def in_both(picture, subject):
    """Return the texts of the first figure of a picture, in English and in Chinese."""
    found = []
    for language in ("en", "zh"):
        with style_context(Style().settings), speaking(language):
            figures = list(picture.figures(subject, Options()))
            found.append(set().union(*(texts(figure) for _, figure in figures)))
    return found


@pytest.fixture
def subjects(finished_runs, sequence_run, regression_run, write_run):
    """Runs and comparisons of which every picture has a figure."""
    shares = {"exact_match_by_length": {"3": 1.0, "9": 0.5}}
    trained = {"lengths_in_training": {"shortest": 3.0, "longest": 5.0}}
    lengths = load_run(sequence_run("lengths", details=shares | trained))
    sizes = []
    for size in (10, 100, 1000):
        settings = {"data.num_train": size}
        metrics = {"test_mse": 1 / size, "loo_mse": 1.0}
        sizes.append(regression_run(f"size{size}", settings=settings, metrics=metrics))
    choices = {"model": "dot", "data": "reverse"}
    probed = write_run(
        "probed", {"seed": 0}, choices=choices, primary="exact_match", status="finished"
    )
    numbers = {LEARNED: 1.0, "uniform": 0.1, "zero=cross.1.1": 0.9}
    rows = [Probed("test", "decoded", name, {"exact_match": x}) for name, x in numbers.items()]
    write_probed(probed, rows)
    own = {name: load_run(folder) for name, folder in finished_runs.items()}
    grown = comparisons([*map(load_run, sizes)])
    sets = [
        load_run(
            write_run(
                f"{model}{number}",
                {"seed": 0, "data._target_": f"d{number}"},
                choices={"model": model, "data": f"d{number}"},
                metrics={"test_mse": error},
            )
        )
        for number in range(6)
        for model, error in (("boxcar", 0.2), ("gaussian", 0.1))
    ]
    compared = comparisons([own[name] for name in ("curve", "second", "boxcar")])
    return [
        *own.values(), lengths, load_run(probed), *compared,
        *comparisons([own["rnn"], own["transformer"]]), compared, grown, comparisons(sets),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.filterwarnings("ignore:Glyph")  # the machine may have no Chinese font
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_no_fixed_word_of_a_picture_stays_english(picture, subjects):
    drawn = False
    for subject in subjects:
        english, chinese = in_both(picture, subject)
        if not english:
            continue
        drawn = True
        assert any(map(HAN.search, chinese))
        assert not any(map(HAN.search, english))
        left = {text: re.findall("[A-Za-z]{2,}", NAMES.sub("", text)) for text in chinese}
        assert {text: words for text, words in left.items() if words} == {}
    assert drawn
