"""The jobs that a card and its rivals train."""

import card
from cards.example import card as card_of
from cards.example import row, trial

WORDS = ["data=reverse", "model=mine", "figures=False"]  # as Hydra writes what it has split


def test_the_rival_trains_the_jobs_of_tuning_and_the_seeds_with_the_tuned_values():
    result = trial(row("mine", 0.5, tuned={"optim.lr": "0.1"}))
    result.tune.append("optim.lr=0.1,0.2")
    tuning, finals, compared = card.sweeps(card_of(result, seeds=2))
    assert card.jobs(tuning) == [
        [*WORDS, "optim.lr=0.1", "seed=1000"],
        [*WORDS, "optim.lr=0.2", "seed=1000"],
    ]
    assert card.jobs(finals) == [
        [*WORDS, "optim.lr=0.1", "seed=1001"],
        [*WORDS, "optim.lr=0.1", "seed=1002"],
    ]
    assert card.jobs(compared) == [
        [*WORDS, "optim.lr=0.1", "seed=1"],
        [*WORDS, "optim.lr=0.1", "seed=2"],
    ]


def test_a_row_without_tuned_settings_has_its_seeds_alone():
    (compared,) = card.sweeps(card_of(trial(row("mine", 0.5)), seeds=1))
    assert card.jobs(compared) == [[*WORDS, "seed=1"]]


def test_the_bound_is_that_of_a_process_per_job():
    times = {card.OURS: [2.0, 1.0], card.APART: [8.0, 8.0], card.BASIC_LAUNCHER: [2.0, 2.0]}
    apart, basic = card.measured(times, 4)
    assert (apart.ratios, apart.wanted, apart.met) == ([4.0, 8.0], card.BOUND, True)
    assert (basic.ratios, basic.wanted) == ([1.0, 2.0], None)
