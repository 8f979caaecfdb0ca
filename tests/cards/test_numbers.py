"""The numbers of a row in a trial, worked out by hand from stored runs of few numbers."""

import msgspec
import pytest
from stored_runs import make_summary, write_epochs

from attnexp.cards.card_file import RowResult
from attnexp.cards.judge import verdicts
from attnexp.cards.numbers import MeasuredRow, row_result, trial_result
from attnexp.cards.rows import CardRow
from attnexp.cards.trial import Escapes, Level, SizedTrial, Trial, Works
from attnexp.runs.folder import Run
from attnexp.runs.probed import Probed, write_probed
from attnexp.runs.summary import Tuning
from attnexp.stats.compare import Word

DIVERGED = {"status": "failed", "error": "TrainingDivergedError: the loss is nan"}
ROW = CardRow("mine", ("model=mine", "normalizer=softmax"))


def task(**fields):
    trial = msgspec.structs.replace(Trial("a paper", "exact_match", 0.02), **fields)
    return SizedTrial("copy", "Can it?", trial, Level(words=["data.num_test=7"]))


@pytest.fixture
def stored(tmp_path):
    """Writes a run with these metrics, and returns it."""

    def write(seed, metrics=None, losses=(), settings=None, **fields):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        summary = make_summary(
            {"seed": seed, **(settings or {})},
            primary="exact_match",
            better={"exact_match": "higher"},
            units={"exact_match": "share"},
            companions={"exact_match": {"chance": "exact_match_chance"}},
            metrics={"test_mse": None, "neighbours": None, **(metrics or {})},
            **fields,
        )
        summary.write(folder)
        if losses:
            write_epochs(folder, losses)
        return Run(str(folder), summary)

    return write


def numbers_of(runs, **fields):
    return row_result(task(**fields), ROW, runs, len(runs))[0].numbers


def test_each_number_is_by_seed_and_one_that_no_run_has_is_left_out(stored):
    runs = [stored(2, {"exact_match": 0.5, "f": 3.0}), stored(1, {"exact_match": 0.25})]
    write_probed(
        runs[1].folder,
        [
            Probed("test", "teacher", "learned", {"exact_match": 0.25}),
            Probed("test", "teacher", "hard", {"exact_match": 0.125}),
        ],
    )
    columns = ["f", "never_measured", "probe.hard.exact_match"]
    assert numbers_of(runs, columns=columns) == {
        "exact_match": {1: 0.25, 2: 0.5},
        "f": {2: 3.0},
        "probe.hard.exact_match": {1: 0.125},
    }
    assert numbers_of([], columns=columns) == {}


def test_a_run_counts_if_it_finished_or_diverged(stored):
    runs = [
        stored(1, {"exact_match": 0.5}, seconds=2.0),
        stored(2, {"exact_match": 0.75}, seconds=4.5),
        stored(3, {"exact_match": 1.0}, status="failed", error="no", seconds=None),
        stored(4, **DIVERGED, seconds=1.0),
        stored(5, {"exact_match": 1.0}, status="interrupted", seconds=8.0),
    ]
    result, sample, _ = row_result(task(), ROW, runs, 7, "ValueError: " + "no " * 200)
    assert (result.label, result.words) == ("mine", ["model=mine", "normalizer=softmax"])
    assert result.numbers == {"exact_match": {1: 0.5, 2: 0.75}}
    assert result.diverged == [4]
    assert result.lost == 7 - 3
    assert result.seconds == 15.5
    assert result.why.startswith("ValueError: no no")
    assert len(result.why) <= 300
    assert sample.values == {1: {0: 0.5}, 2: {0: 0.75}}
    assert row_result(task(), ROW, runs[:2], 2)[0].why == ""


def test_the_values_at_which_a_run_works_are_counted_and_others_are_the_largest(stored):
    """Seed 1 works at 0.9 and 0.95, seed 2 at none of its three, one of which diverged."""
    exact = {1: (0.9, 0.95, 0.89), 2: (0.1, 0.2, None)}
    gradient = {1: (3.0, 7.0, 5.0), 2: (-2.0, -4.0, None)}
    runs = [
        stored(
            seed,
            {"exact_match": exact[seed][i], "g": gradient[seed][i], "test_mse": 0.5},
            settings={"optim.lr": rate},
            **(DIVERGED if exact[seed][i] is None else {}),
        )
        for seed in (1, 2)
        for i, rate in enumerate((0.1, 0.01, 0.001))
    ]
    words = ["optim.lr=0.1,0.01,0.001"]
    found = {"words": words, "columns": ["g"], "works": Works("optim.lr", 0.9)}
    result, sample, _ = row_result(task(**found), ROW, runs, 6)
    counted = "values of optim.lr that work"
    assert result.numbers == {
        "g": {1: 7.0, 2: -2.0},
        counted: {1: 2.0, 2: 0.0},
        "too_small": {1: 1.0},
        "too_large": {1: 0.0},
    }
    assert (result.diverged, result.lost) == ([], 0)
    assert (sample.name, sample.better, sample.unit) == (counted, "higher", "")
    of_trial = trial_result(task(**found), [MeasuredRow(result, sample)])
    assert (of_trial.metric, of_trial.better, of_trial.chance) == (counted, "higher", None)
    assert numbers_of([stored(1)], **found) == {}


@pytest.mark.parametrize(
    "ending", [None, {"status": "interrupted"}, {"status": "failed"}, DIVERGED]
)
def test_a_seed_with_a_run_that_was_stopped_counts_no_values(stored, ending):
    """The largest rate of seed 2 was not begun, stopped, failed, or diverged."""
    runs = [
        stored(seed, {"exact_match": 1.0}, settings={"optim.lr": rate})
        for seed in (1, 2)
        for rate in (0.001, 0.01, 0.1)[: 3 if seed == 1 else 2]
    ]
    if ending is not None:
        runs.append(stored(2, settings={"optim.lr": 0.1}, **{"error": "no", **ending}))
    works = {"words": ["optim.lr=0.001,0.01,0.1"], "works": Works("optim.lr", 0.9)}
    result, _, _ = row_result(task(**works), ROW, runs, 6)
    assert result.numbers["values of optim.lr that work"] == (
        {1: 3.0, 2: 2.0} if ending is DIVERGED else {1: 3.0}
    )
    assert result.lost == (0 if ending is DIVERGED else 1)


def test_a_seed_escapes_at_the_first_step_at_or_below_the_bound(stored):
    runs = [
        stored(1, {"exact_match": 1.0}, (4.0, 1.5, 1.0, 0.5, 2.0)),
        stored(2, {"exact_match": 0.0}, (4.0, 1.5, 1.25)),
        stored(3, {"exact_match": 0.5}),
        stored(4, {"exact_match": 0.5}, (1.0, 1.0)),
    ]
    steps = {"steps to escape": {1: 3.0, 4: 1.0}}
    exact = {"exact_match": {1: 1.0, 2: 0.0, 3: 0.5, 4: 0.5}}
    assert numbers_of(runs, escapes=Escapes("loss", 1.0)) == exact | steps
    none = {"steps to escape": {}}
    assert numbers_of(runs, escapes=Escapes("validation_loss", 1.0)) == exact | none
    assert numbers_of(runs) == exact


def test_the_tuned_values_are_those_that_runs_have_of_what_was_tried(stored):
    tried = Tuning(
        values={"optim.lr": ["0.1", "0.01"]}, metric="loss", seeds=[1000], tuning_run=False
    )
    settings = {"optim": {"lr": 0.01, "betas": 2}}
    runs = [stored(1, settings=settings), stored(2, settings=settings, tuning=tried)]
    tuned = [row_result(task(), ROW, each, 2)[0].tuned for each in (runs, runs[::-1], runs[:1])]
    assert tuned == [{"optim.lr": "0.01"}, {"optim.lr": "0.01"}, {}]


def test_a_trial_has_the_facts_of_its_first_row_with_a_result(stored):
    measured = {"exact_match": 0.5, "exact_match_chance": 0.125}
    ours = row_result(task(), ROW, [stored(1, measured, settings={"data.num_test": 40})], 1)
    fields = {"words": ["data=copy"], "tune": ["a=1,2"], "harder": ["data.n"], "columns": ["f"]}
    lost = MeasuredRow(RowResult("lost", []))
    other = row_result(task(), ROW, [stored(1, measured, settings={"data.num_test": 50})], 1)
    found = trial_result(task(**fields), [lost, ours, other])
    assert (found.name, found.asks, found.source) == ("copy", "Can it?", "a paper")
    assert found.words == ["data=copy", "data.num_test=7"]
    assert (found.tune, found.harder, found.columns) == (["a=1,2"], ["data.n"], ["f"])
    assert (found.metric, found.equal_within) == ("exact_match", 0.02)
    assert (found.better, found.unit, found.chance) == ("higher", "share", 0.125)
    assert found.examples == 40
    assert found.rows == [lost[0], ours[0], other[0]]
    nothing = trial_result(task(), [lost])
    assert (nothing.better, nothing.unit, nothing.chance) == ("higher", "", None)


def test_a_trial_of_costs_has_the_numbers_of_its_rows_and_lower_is_better():
    rows = [
        RowResult("mine", [], {"seconds@16": {1: 0.1}}),
        RowResult("other", [], {"seconds@16": {1: 0.2}, "MiB@16": {1: 4.0}}),
    ]
    found = trial_result(task(cost=True, columns=["f"]), [MeasuredRow(row) for row in rows])
    assert found.columns == ["seconds@16", "MiB@16"]
    assert found.better == "lower"


def test_a_loss_is_better_lower(stored):
    run = stored(1, {"exact_match": 0.5})
    lower = make_summary({"seed": 1}, better={"test_mse": "lower"}, metrics={"test_mse": 0.5})
    result = row_result(task(metric="test_mse"), ROW, [Run(run.path, lower)], 1)
    assert trial_result(task(metric="test_mse"), [result]).better == "lower"


def test_a_row_that_computes_what_the_subject_does_is_said_to(stored):
    """The first baseline has all numbers of the subject, the second the one that decides."""
    metrics = [{"exact_match": 0.5, "f": 1.0}, {"exact_match": 0.5, "f": 1.0}]
    metrics.append({"exact_match": 0.5, "f": 1.5})
    rows = [row_result(task(), ROW, [stored(1, own), stored(2, own)], 2) for own in metrics]
    found = trial_result(task(), rows)
    assert [row.is_subject for row in found.rows] == [False, True, False]
    (same, other) = verdicts(found)
    assert (same.word, same.because) == (Word.NO_VALUE, "changes nothing here")
    assert other.word is Word.FEW
    nothing = [row_result(task(), ROW, [], 2) for _ in range(2)]
    assert not any(row.is_subject for row in trial_result(task(), nothing).rows)
