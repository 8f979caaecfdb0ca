import pytest
import step_time


def test_all_sides_of_the_comparison_are_the_same_mathematics():
    for size in step_time.BATCHES:
        assert step_time.check_agreement(step_time.trainers(size)) < step_time.TOLERANCE


def test_different_mathematics_is_not_compared():
    models = step_time.trainers(32)
    models[step_time.TEXTBOOK].model.output.bias.data[0] += 1
    with pytest.raises(RuntimeError, match="step 0: the loss by PyTorch is"):
        step_time.check_agreement(models)


def test_a_quick_trial_and_its_plain_loop_are_the_same_mathematics():
    models = step_time.decoder_trainers()
    assert step_time.check_agreement(models, step_time.PLAIN) < step_time.TOLERANCE
    models[step_time.PLAIN].model.norm.bias.data[0] += 1
    with pytest.raises(RuntimeError, match="step 0: the loss by attnexp is"):
        step_time.check_agreement(models, step_time.PLAIN)
