"""The words of a row in a trial, and which of its jobs are done."""

from dataclasses import replace
from pathlib import Path

import pytest
from stored_runs import make_summary

from attnexp.cards.lines import Effort, are_done, compared
from attnexp.cards.rows import CardRow
from attnexp.cards.trial import Level, SizedTrial, Trial
from attnexp.runs.place import Found, Place
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Tuning
from attnexp.sweeps.plan import PlannedJob

EFFORT = Effort("quick", 3, 5, "cpu", Path("my conf"))
SAME = ["device=cpu", "figures=false", "output_dir=outputs/cards"]


def task(**fields):
    trial = Trial("a paper", "test_mse", 0.0, words=["data=sine"], **fields)
    return SizedTrial("curve", "Can it?", trial, Level(words=["data.num_train=9"]))


def test_a_row_runs_at_the_seeds_from_1_and_is_tuned_at_another():
    row = CardRow("dot", ("model=dot",))
    words = ["data=sine", "data.num_train=9", "model=dot", "seed=range(1,4)", *SAME]
    assert EFFORT.sweep(task(), row) == [
        *("--config-dir", "my conf"),
        *words,
        "hydra/launcher=parallel",
    ]
    own = replace(EFFORT, config_dir=None)
    for values, beyond in (
        ("0.1,0.2", []),
        ("0.1,0.2,0.4", ["hydra.sweeper.beyond=2"]),
        ("a,b,c", []),
    ):
        tuned = task(tune=[f"optim.lr={values}"], tune_by="val_loss", launcher="batched")
        assert own.sweep(tuned, row) == [
            *words,
            "hydra/launcher=batched",
            "hydra/sweeper=tuned",
            f'hydra.sweeper.tune=["optim.lr={values}"]',
            "hydra.sweeper.seeds=[1000]",
            "hydra.sweeper.finals=[1001,1002]",
            *beyond,
            "hydra.sweeper.metric=val_loss",
        ]


def test_a_row_made_of_products_gets_their_settings():
    products = task(of_products=["arch.features=16"])
    plain, made = (CardRow("dot", ("model=dot",), of) for of in (False, True))
    assert "arch.features=16" not in EFFORT.sweep(products, plain)
    assert "arch.features=16" in EFFORT.sweep(products, made)


TUNED = make_summary(tuning=Tuning(values={}, metric="loss", seeds=[1000], tuning_run=False))


@pytest.mark.parametrize(
    ("found", "done", "done_if_tuned"),
    [
        ([Found(Status.FINISHED, summary=make_summary())], True, False),
        ([Found(Status.FINISHED, summary=TUNED)], True, True),
        ([Found(Status.FINISHED, summary=TUNED), Found(Status.NEW)], False, False),
        ([Found(Status.FAILED, summary=TUNED)], False, False),
        ([], False, False),
    ],
    ids=["finished", "tuned", "one is new", "failed", "none"],
)
def test_jobs_are_done_if_all_have_ended_and_say_how_they_were_tuned(found, done, done_if_tuned):
    jobs = [PlannedJob(0, (), "", Place(Path("run"), "key", {}, each), {}) for each in found]
    assert are_done(jobs, []) == done
    assert are_done(jobs, ["optim.lr=0.1,0.2"]) == done_if_tuned


def test_a_sweep_that_has_not_tuned_yet_compares_no_jobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    row = CardRow("gaussian_learned", ("model=gaussian_learned",))
    effort = replace(EFFORT, config_dir=None)
    assert len(compared(effort.sweep(task(), row))) == 3
    assert compared(effort.sweep(task(tune=["optim.lr=0.1,0.2"]), row)) == []
