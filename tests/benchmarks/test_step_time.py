import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "step_time.py"


@pytest.fixture
def step_time():
    specification = importlib.util.spec_from_file_location("step_time", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_both_sides_of_the_comparison_are_the_same_mathematics(step_time):
    assert step_time.check_agreement(*step_time.trainers()) < step_time.TOLERANCE


def test_different_mathematics_is_not_compared(step_time):
    ours, textbook = step_time.trainers()
    textbook.model.output.bias.data[0] += 1
    with pytest.raises(RuntimeError, match="step 0: our loss is"):
        step_time.check_agreement(ours, textbook)
