"""What a run keeps of its training, by hand."""

import pytest

from attnexp.runs.folder import load_run
from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.base import Epoch
from attnexp.training.record.measures import milestones


def row(epoch, converged=False, **validation):
    return Epoch(epoch, 10 * epoch, 0.0, 0.1, 0.0, validation, converged)


def test_a_milestone_is_the_end_of_the_first_epoch_above_90_percent():
    rows = [
        row(1, exact_match=0.2, token_accuracy=0.95, alignment_accuracy=0.9),
        row(2, exact_match=0.9, token_accuracy=0.99, alignment_accuracy=0.91),
        row(3, exact_match=0.95, token_accuracy=0.8, alignment_accuracy=0.1),
        row(4, exact_match=0.99, token_accuracy=0.9, alignment_accuracy=0.95),
    ]
    assert milestones(rows, SequenceToSequence()) == {
        "exact_match_90_step": 30,
        "token_accuracy_90_step": 10,
        "alignment_accuracy_90_step": 20,
    }


def test_what_was_not_reached_is_left_out_and_convergence_has_its_step():
    assert milestones([row(1, exact_match=0.5)], SequenceToSequence()) == {}
    assert milestones([row(1), row(2, converged=True)], SequenceToSequence()) == {
        "converged_step": 20
    }


@pytest.mark.parametrize("name", ["curve", "rnn"])
def test_the_last_epoch_gives_the_loss_and_the_steps(finished_runs, name):
    run = load_run(finished_runs[name])
    assert run.metrics["train_loss"] == run.epochs["loss"][-1]
    assert run.metrics["steps"] == run.epochs["step"][-1]
