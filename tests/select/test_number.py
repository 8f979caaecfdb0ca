"""One word for a number: metrics, places of details, and what `attnexp probe` stored."""

import math

import pytest

from attnexp.core.errors import RequestError
from attnexp.runs.folder import load_run
from attnexp.runs.probed import LEARNED, Probed, write_probed
from attnexp.select.frame import make_frame
from attnexp.select.number import metric_of, number_of, numbers_of, with_numbers
from attnexp.select.sample import sample_of
from attnexp.select.where import matching

FIELDS = {
    "primary": "exact_match",
    "better": {"exact_match": "higher"},
    "units": {"exact_match": "share"},
    "metrics": {"exact_match": 1.0},
    "details": {"exact_match_by_length": {"5": 0.75, "16": 0.5, "32": math.inf}},
}


@pytest.fixture
def runs(write_run):
    """Two runs of which the first was probed, and one without details."""
    folders = [write_run(f"run{seed}", {"seed": seed}, **FIELDS) for seed in (0, 1)]
    folders.append(write_run("other", {"seed": 2}, **{**FIELDS, "details": {}}))
    numbers = {"hard": 0.5, "zero=cross.1.2": 0.7, LEARNED: 1.0}
    write_probed(
        folders[0],
        [Probed("test", "decoded", name, {"exact_match": n}) for name, n in numbers.items()],
    )
    return [load_run(folder) for folder in folders]


def test_a_word_names_a_number_of_a_run(runs):
    words = ["exact_match", "exact_match_by_length@16", "probe.zero=cross.1.2.exact_match"]
    assert [number_of(runs[0], word) for word in words] == [1.0, 0.5, 0.7]
    assert [number_of(runs[2], word) for word in words] == [1.0, None, None]
    assert number_of(runs[0], "exact_match_by_length@32") is None
    assert {*words, "probe.hard.exact_match"} <= set(numbers_of(runs))


@pytest.mark.parametrize(
    ("word", "metric"),
    [
        ("exact_match", "exact_match"),
        ("exact_match_by_length@5", "exact_match"),
        ("probe.zero=cross.1.2.exact_match", "exact_match"),
        ("loss_by_hand", "loss_by_hand"),
    ],
)
def test_a_number_has_unit_and_direction_of_its_metric(word, metric):
    assert metric_of(word) == metric


def test_numbers_become_metrics_of_a_frame(runs):
    frame = with_numbers(make_frame(runs), ["exact_match_by_length@5", "probe.hard.exact_match"])
    assert frame.data["exact_match_by_length@5"].tolist()[:2] == [0.75, 0.75]
    assert math.isnan(frame.data["probe.hard.exact_match"][1])
    for word in ("exact_match_by_length@5", "probe.hard.exact_match"):
        assert frame.better[word] == "higher"
        assert frame.units[word] == "share"
        assert word in frame.metrics


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("exact_match_by_lenth@5", "Did you mean 'exact_match_by_length@5'"),
        ("probe.hart.exact_match", "`attnexp probe RUN hart` measures what it can"),
    ],
)
def test_a_number_that_nothing_has_is_refused_with_the_nearest(runs, word, text):
    with pytest.raises(RequestError) as error:
        with_numbers(make_frame(runs), [word])
    assert text in str(error.value)
    assert str(error.value).startswith(f"nothing has the number '{word}' yet")


@pytest.mark.parametrize(
    ("test", "fitting"),
    [
        ("exact_match_by_length@5 > 0.7", [0, 1]),
        ("probe.hard.exact_match < 1 and exact_match = 1", [0]),
        ("'probe.zero=cross.1.2.exact_match' >= 0.7", [0]),
    ],
)
def test_where_takes_numbers(runs, test, fitting):
    assert matching(make_frame(runs), test).nonzero()[0].tolist() == fitting


def test_a_detail_at_a_place_has_the_chance_at_that_place(write_run):
    details = {
        "exact_match_by_length": {"5": 0.5, "9": 0.25},
        "exact_match_chance_by_length": {"5": 0.125},
    }
    run = load_run(write_run("lengths", {}, details=details))
    frame = with_numbers(make_frame([run]), ["exact_match_by_length@5", "exact_match_by_length@9"])
    assert sample_of(frame, "exact_match_by_length@5").companions == {"chance": 0.125}
    assert sample_of(frame, "exact_match_by_length@9").companions == {}
