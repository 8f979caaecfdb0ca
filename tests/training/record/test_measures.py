"""What a summary has of the course of a training."""

from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.base import Epoch
from attnexp.training.record.measures import milestones


def test_the_first_epoch_above_nine_tenths_and_the_last_of_a_convergence_have_their_steps():
    shares = (0.5, 0.9, 0.91, 0.4)
    rows = [
        Epoch(
            epoch=n,
            step=10 * n,
            loss=0.1,
            lr=0.1,
            seconds=0.1,
            validation={"exact_match": share, "alignment_accuracy": 0.9},
            converged=n == 4,
        )
        for n, share in enumerate(shares, start=1)
    ]
    task = SequenceToSequence()
    assert milestones(rows, task) == {"exact_match_90_step": 30, "converged_step": 40}
    assert milestones(rows[:2], task) == {}
