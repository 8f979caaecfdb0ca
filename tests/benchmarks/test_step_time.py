import pytest
import step_time


def test_both_sides_of_the_comparison_are_the_same_mathematics():
    assert step_time.check_agreement(*step_time.trainers()) < step_time.TOLERANCE


def test_different_mathematics_is_not_compared():
    ours, textbook = step_time.trainers()
    textbook.model.output.bias.data[0] += 1
    with pytest.raises(RuntimeError, match="step 0: our loss is"):
        step_time.check_agreement(ours, textbook)
