"""Runs, gathered for pictures and reports."""

from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons, without_repeats


def test_configurations_come_in_order_of_their_settings(write_run, tmp_path):
    for i, width in enumerate([32.0, 0.5, 8.0, 2.0]):
        for seed in (1, 0):
            write_run(f"run{i}{seed}", {"model.width": width, "seed": seed})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    labels = [own.label for own in comparison.configurations]
    assert labels == [f"gaussian, model.width={width}" for width in ("0.5", "2", "8", "32")]
    assert [own.seeds for own in comparison.configurations] == [(0, 1)] * 4


def test_runs_on_data_of_another_seed_are_another_comparison(write_run, tmp_path):
    for i, data_seed in enumerate([None, 3, 4]):
        for seed in (0, 1):
            write_run(f"run{i}{seed}", {"data_seed": data_seed, "seed": seed})
    found = comparisons(collect([tmp_path]).runs)
    names = ["sine", "sine, data_seed=3", "sine, data_seed=4"]
    assert sorted(each.data for each in found) == names
    assert [len(each.configurations) for each in found] == [1, 1, 1]


def test_a_finished_run_counts_before_a_newer_one_that_has_not_finished(frame):
    old, new = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2))
    kept, left_out = without_repeats(
        frame(
            ({"seed": 0}, {"started": old}),
            ({"seed": 0}, {"started": new, "status": "interrupted"}),
            ({"seed": 1}, {"started": new}),
            ({"seed": 1}, {"started": old}),
        )
    )
    assert kept.data.index.tolist() == [0, 2]
    assert [(run.seed, by.seed) for run, by in left_out] == [(0, 0), (1, 1)]
