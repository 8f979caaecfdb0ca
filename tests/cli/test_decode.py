"""`attnexp decode` on a model that has learned to copy two symbols."""

import pytest
import torch

from attnexp.architectures.rnn import Rnn
from attnexp.config.build import restore
from attnexp.runs import files


@pytest.fixture
def run(in_process, tmp_path):
    answer = in_process(
        "data=reverse",
        "data.num_train=200",
        "data.num_validation=20",
        "data.num_test=20",
        "data.max_length=4",
        "data.vocab_size=6",
        "train.max_epochs=1",
        "arch.hidden_dim=8",
        "arch.heads=2",
        "figures=false",
    )
    assert answer.returncode == 0, answer.stderr
    (folder,) = (tmp_path / "outputs").iterdir()
    return folder


def test_answers_and_shows_the_map(in_process, run):
    answer = in_process("decode", str(run), "3 1 4")
    assert answer.returncode == 0, answer.stderr
    first, *lines = answer.stdout.splitlines()
    assert first.startswith("3 1 4 -> ")
    assert any("cross attention" in line for line in lines)
    assert any(line.split() == ["3", "1", "4", "<eos>"] for line in lines) or "<" in answer.stdout


def test_the_restored_model_is_the_trained_one(run):
    restored = restore(files.read_summary(run), run)
    assert isinstance(restored.model, Rnn)
    stored, _ = files.read_tensors(run / files.MODEL)
    for name, parameter in restored.model.state_dict().items():
        assert parameter.equal(torch.from_numpy(stored[name]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["9 1"], "unknown symbol '9' in '9 1': the symbols are '0', '1'"),
        ([""], "there is no symbol in ''"),
        (["3 1", "--head", "3"], "there is no head 3: the run kept heads 1 to 2"),
        (["3 1", "--attention", "self"], "there is no attention 'self'"),
        ([], "the following arguments are required: SOURCE"),
    ],
)
def test_wrong_questions(in_process, run, arguments, sentence):
    answer = in_process("decode", str(run), *arguments)
    assert answer.returncode == 2
    assert sentence in answer.stderr


def test_a_regression_has_nothing_to_decode(in_process, tmp_path):
    in_process("figures=false", "train.max_epochs=1")
    (folder,) = (tmp_path / "outputs").iterdir()
    answer = in_process("decode", str(folder), "3")
    assert answer.returncode == 2
    assert "data=sine is no sequence data" in answer.stderr


def test_no_run_is_said(in_process):
    answer = in_process("decode", "nowhere", "3")
    assert answer.returncode == 2
    assert "nowhere holds no summary.json" in answer.stderr


def test_parameters_that_do_not_fit_are_refused(in_process, run):
    files.write_tensors(run / files.MODEL, {}, {})
    answer = in_process("decode", str(run), "3")
    assert answer.returncode == 2
    assert "holds no parameters of its model" in answer.stderr
