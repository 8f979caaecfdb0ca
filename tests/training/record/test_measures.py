"""What a run keeps of its training, by hand."""

from dataclasses import replace
from functools import partial

import pytest

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.core.batch import RegressionSpec
from attnexp.runs.folder import load_run
from attnexp.scores.gaussian import Gaussian
from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.base import Epoch
from attnexp.training.record.measures import learned_numbers, milestones


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
    assert milestones([row(1, converged=True), row(2)], SequenceToSequence()) == {}
    assert milestones([row(1), row(2, converged=True)], SequenceToSequence()) == {
        "converged_step": 20
    }


@pytest.mark.parametrize("width", [-3.0, 3.0])
def test_a_width_of_a_kernel_has_no_sign(width):
    score = partial(Gaussian, width="learned", initial_width=width)
    spec = RegressionSpec(x_dim=1, y_dim=1)
    model = KernelRegression(spec, score)
    assert learned_numbers(model, spec) == {"pooling.score.width": 3.0}


def test_the_largest_gradient_is_that_of_all_epochs():
    rows = [replace(row(1), gradient_norm=0.5), replace(row(2), gradient_norm=3.0), row(3)]
    assert milestones(rows, SequenceToSequence()) == {"largest_gradient": 3.0}


def test_a_run_that_clips_records_its_gradients(finished_runs):
    run = load_run(finished_runs["rnn"])
    norms = run.epochs["gradient_norm"]
    assert run.metrics["largest_gradient"] == max(norms) > min(norms) > 0
    assert "gradient_norm" not in load_run(finished_runs["curve"]).epochs


@pytest.mark.parametrize("name", ["curve", "rnn"])
def test_the_last_epoch_gives_the_loss_and_the_steps(finished_runs, name):
    run = load_run(finished_runs[name])
    assert run.metrics["train_loss"] == run.epochs["loss"][-1]
    assert run.metrics["steps"] == run.epochs["step"][-1]
