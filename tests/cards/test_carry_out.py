"""The loop over the trials and rows of a card, with sweeps that train nothing."""

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from stored_runs import make_summary

from attnexp.cards import carry_out
from attnexp.cards.carry_out import make_card
from attnexp.cards.lines import Effort
from attnexp.cards.rows import row_of
from attnexp.cards.trial import Level, SizedTrial, Trial
from attnexp.core.errors import MachineError, RequestError, RunFailedError, writable
from attnexp.runs.place import Found, Place
from attnexp.runs.run_status import Status
from attnexp.sweeps.plan import PlannedJob

EFFORT = Effort("quick", 2, 0.5, "cpu", None)
TASKS = [
    SizedTrial(name, "Can it?", Trial("a paper", "test_mse", 0.0, words=["data=sine"]), Level())
    for name in ("first", "second")
]
ROWS = [row_of(["model=gaussian"]), row_of(["model=boxcar"])]


@pytest.fixture
def ends(monkeypatch):
    """Lets sweeps of a model end in an error; returns the models whose sweeps began, in order.

    Their two jobs then have failed with `of_job`; without it no job is compared.
    """

    def by_model(errors, of_job=None):
        begun = []
        failed = Found(Status.FAILED, of_job, make_summary(status="failed", error=of_job))
        jobs = [PlannedJob(0, (), "", Place(Path(), "key", {}, failed), {})] * 2

        def run_sweep(words):
            (model,) = (word.removeprefix("model=") for word in words if word[:6] == "model=")
            begun.append(model)
            if model in errors:
                raise errors[model]

        def compared(words):
            return jobs if of_job and f"model={(begun or [''])[-1]}" in words else []

        monkeypatch.setattr(carry_out, "run_sweep", run_sweep)
        monkeypatch.setattr(carry_out, "compared", compared)
        return begun

    return by_model


def test_a_row_that_took_too_long_is_not_tried_again(ends):
    begun = ends({"gaussian": RunFailedError("stopped after 0.5 minutes")})
    card = make_card(ROWS, TASKS, EFFORT)
    assert begun == ["gaussian", "boxcar", "boxcar"]
    assert (card.subject, card.level, card.seeds, card.device) == ("gaussian", "quick", 2, "cpu")
    why = [[row.why for row in trial.rows] for trial in card.trials]
    assert why == [
        ["stopped after 0.5 minutes", ""],
        ["stopped after 0.5 minutes in first", ""],
    ]
    assert [[row.lost for row in trial.rows] for trial in card.trials] == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RunFailedError("2 jobs failed"), "ValueError: no"),
        (RunFailedError("stopped after 0.5 minutes"), "stopped after 0.5 minutes"),
    ],
    ids=["failed", "late"],
)
def test_the_reason_is_the_error_of_a_job_but_for_a_row_that_is_late(ends, error, told):
    ends({"gaussian": error}, "ValueError: no")
    (trial,) = make_card(ROWS[:1], TASKS[:1], EFFORT).trials
    assert [(row.why, row.lost) for row in trial.rows] == [(told, 2)]


def test_a_row_that_failed_is_tried_in_each_trial_and_has_its_minutes(ends, monkeypatch):
    limits = []

    def limit(seconds, why):
        limits.append((seconds, why))
        return nullcontext()

    monkeypatch.setattr(carry_out, "time_limit", limit)
    begun = ends({"gaussian": RequestError("no such thing")})
    card = make_card(ROWS, TASKS, EFFORT)
    assert begun == ["gaussian", "boxcar"] * 2
    assert limits == [(30.0, "stopped after 0.5 minutes")] * 4
    rows = [trial.rows[0] for trial in card.trials]
    assert [(row.why, row.lost) for row in rows] == [("no such thing", 2)] * 2


def test_an_intervention_that_cannot_be_made_ends_no_card_but_an_interrupt_does(ends, monkeypatch):
    ends({})
    trial = msgspec.structs.replace(TASKS[0].trial, probe=["uniform"])
    tasks = [replace(TASKS[0], trial=trial)]

    def probe(error):
        def fails(runs):
            raise error

        monkeypatch.setattr(carry_out, "comparisons", fails)
        return make_card(ROWS[:1], tasks, EFFORT).trials[0].rows

    for error in (RequestError("no gold"), RuntimeError("their code"), SystemExit(0)):
        assert [row.why for row in probe(error)] == [""]
    with pytest.raises(KeyboardInterrupt):
        probe(KeyboardInterrupt())


def test_an_unknown_choice_is_refused_before_anything_runs(ends):
    begun = ends({})
    with pytest.raises(RequestError, match="boxcar"):
        make_card([row_of(["model=boxcr"]), ROWS[1]], TASKS, EFFORT)
    assert begun == []


def test_a_trial_whose_package_is_missing_is_named_before_the_first_row(ends, monkeypatch, capsys):
    begun = ends({"gaussian": KeyboardInterrupt()})
    trial = msgspec.structs.replace(TASKS[1].trial, words=["data=dates", "arch=rnn"])
    tasks = [TASKS[0], replace(TASKS[1], trial=trial)]
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(KeyboardInterrupt):
        make_card(ROWS, tasks, EFFORT)
    assert begun == ["gaussian"]
    note = "note: not measured: second needs the package babel: pip install 'attnexp[dates]'\n"
    assert note in capsys.readouterr().err


def no_room():
    """An error that a full disk caused, as a sweep raises it."""
    try:
        with writable("output_dir", "outputs"):
            raise OSError(28, "No space left on device", "outputs/.plans")
    except RequestError as error:
        return error


@pytest.mark.parametrize("error", [MachineError("no worker starts"), no_room()], ids=str)
def test_no_worker_and_no_room_end_the_card(ends, monkeypatch, error):
    begun = ends({"boxcar": error})
    with pytest.raises(MachineError, match=r"no worker|the disk is full"):
        make_card(ROWS, TASKS, EFFORT)
    assert begun == ["gaussian", "boxcar"]

    def fails(runs):
        raise error

    monkeypatch.setattr(carry_out, "comparisons", fails)
    trial = msgspec.structs.replace(TASKS[0].trial, probe=["uniform"])
    with pytest.raises(MachineError):
        make_card(ROWS[:1], [replace(TASKS[0], trial=trial)], EFFORT)
