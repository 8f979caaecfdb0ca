"""Samples: a number by seed, what belongs to it, and how samples compare."""

import pytest

from attnexp.select.sample import DATA_SETS, EXAMPLES, sample_of, standings, with_diverged


@pytest.fixture
def share(frame):
    """Returns a frame of runs with these shares by seed; None is a run that diverged."""

    def make(values, **fields):
        lost = {"status": "failed", "error": "TrainingDivergedError: the loss is nan"}
        fields = {"units": {"test_mse": "share"}, "better": {"test_mse": "higher"}} | fields
        return frame(
            *(
                ({"seed": seed}, fields | lost | {"metrics": {}})
                if value is None
                else ({"seed": seed}, fields | {"metrics": {"test_mse": value, "guess": 0.25}})
                for seed, value in values
            )
        )

    return make


def test_a_sample_has_a_value_by_seed_and_what_the_runs_say_of_it(share):
    companions = {"test_mse": {"chance": "guess"}}
    runs = share([(3, 0.5), (1, 0.75), (3, 0.7)], companions=companions)
    sample = sample_of(runs, "test_mse")
    assert sample.values == {3: {0: pytest.approx(0.6)}, 1: {0: 0.75}}
    assert (sample.unit, sample.better, sample.best) == ("share", "higher", 1.0)
    assert sample.companions == {"chance": 0.25}
    assert (sample.examples, sample.overlap) == (EXAMPLES, 0.0)
    assert sample.spread_at(0.5).high < sample.spread.high


def test_several_data_seeds_are_the_unit_if_it_is_asked_for(frame):
    runs = frame(
        *(
            ({"seed": s, "data_seed": d}, {"metrics": {"test_mse": s + d}})
            for s in (0, 1)
            for d in (4, 6)
        )
    )
    sample = sample_of(runs, "test_mse", DATA_SETS)
    assert sample.means == [4.5, 6.5]


def test_a_run_that_diverged_counts_as_the_worst(share):
    one, two = (sample_of(share([(0, a), (1, 0.9)]), "test_mse") for a in (0.8, None))
    assert [each.means for each in with_diverged([one, two])] == [[0.8, 0.9], [0.9, 0.0]]
    assert two.means == [0.9]


def test_samples_are_compared_as_rows_of_a_table_are(share):
    low, high = (
        sample_of(share([(seed, base + 0.01 * seed) for seed in range(6)]), "test_mse")
        for base in (0.5, 0.7)
    )
    assert [one.word for one in standings([low, high])] == ["worse", "best"]
    assert standings([low, high])[0].difference.mean == pytest.approx(-0.2)
    assert [one.word for one in standings([low, high], equal_within=0.3)] == ["equal", "best"]
