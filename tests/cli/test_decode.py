"""`attnexp decode` on a model that has learned to copy two symbols."""

import shutil
import sys

import pytest

from attnexp.runs import files


@pytest.fixture
def run(finished_runs, in_process, tmp_path):
    return shutil.copytree(finished_runs["rnn"], tmp_path / "outputs" / "rnn")


def test_answers_and_shows_the_map(succeeds, run):
    answer = succeeds("decode", str(run), "3 1 4")
    first, *lines = answer.stdout.splitlines()
    assert first.startswith("3 1 4 -> ")
    assert any("cross attention" in line for line in lines)
    assert any(line.split() == ["3", "1", "4", "<eos>"] for line in lines) or "<" in answer.stdout


def test_a_decoder_only_model_answers_and_shows_all_of_its_map(succeeds, tmp_path):
    small = ("data.num_train=50", "data.num_test=5", "data.vocab_size=6", "arch.dim=8")
    succeeds("data=reverse", "arch=decoder_only", *small, "train.max_epochs=1", "figures=false")
    (folder,) = (tmp_path / "outputs").iterdir()
    answer = succeeds("decode", str(folder), "3 1 4", "--attention", "self")
    assert "source and input downwards, source and input across" in answer.stdout
    succeeds("show", str(folder), "--attention", "self")


@pytest.mark.parametrize("words", [["3,1,4"], ["3", "1", "4"], ["3, 1", "4"]], ids=" ".join)
def test_a_source_may_be_typed_in_other_ways(in_process, succeeds, run, words):
    expected = in_process("decode", str(run), "3 1 4", "--head", "2").stdout.splitlines()[1:]
    first, *lines = succeeds("decode", str(run), *words, "--head", "2").stdout.splitlines()
    assert first.startswith(f"{' '.join(words)} -> ")
    assert lines == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x 1"], "unknown symbol 'x' in 'x 1': the symbols are '0', '1'"),
        ([""], "there is no symbol in ''"),
        (["3 1", "--head", "3"], "there is no head 3: the run kept heads 1 to 2"),
        (["3 1", "--attention", "self"], "there is no attention 'self'"),
        ([], "the following arguments are required: SOURCE"),
        (["3 1", "--trust", "./my_score.py"], "'./my_score.py' is not the name of a module"),
    ],
)
def test_wrong_questions(refused, run, arguments, sentence):
    assert sentence in refused("decode", str(run), *arguments)


def test_a_regression_has_nothing_to_decode(refused, finished_runs):
    assert "data=sine is not sequence data" in refused("decode", str(finished_runs["curve"]), "3")


def test_data_that_give_the_input_have_nothing_to_decode(in_process, refused, tmp_path):
    small = ("data.num_train=4", "data.num_validation=2", "data.num_test=2", "data.vocab_size=70")
    tiny = ("arch=rnn", "arch.hidden_dim=4", "train.max_epochs=1", "figures=false")
    in_process("data=mqar", *small, *tiny)
    (folder,) = (tmp_path / "outputs").iterdir()
    assert "data=mqar gives the decoder its input, so a source alone has no answer" in refused(
        "decode", str(folder), "k1 2 k1"
    )


def test_parameters_that_do_not_fit_are_refused(refused, run):
    files.write_tensors(run / files.MODEL, {}, {})
    assert "holds no parameters of its model" in refused("decode", str(run), "3")


def test_code_of_ones_own_is_refused_unless_it_is_trusted(
    succeeds, refused, own_choice, tmp_path, monkeypatch
):
    """By its name, or by the configuration that it was trained with."""
    code = "from attnexp.scores.dot import Dot\nclass Mine(Dot):\n    pass\n"
    own = (*own_choice("model", "my_score.Mine", code), "data=reverse", "figures=false")
    small = ("data.num_train=20", "data.num_validation=5", "data.num_test=5", "arch.hidden_dim=8")
    succeeds(*own, *small, "train.max_epochs=1")
    (folder,) = (tmp_path / "outputs").iterdir()

    def decode(run, *trust):
        """As in a new process, which has not searched the folder."""
        monkeypatch.delitem(sys.modules, "my_score", raising=False)
        sys.path[:] = [entry for entry in sys.path if entry != str(tmp_path)]
        return run("decode", str(folder), "3 1 4", *trust)

    (line,) = decode(refused).splitlines()
    assert "model._target_ is 'my_score.Mine', which is not attnexp's own" in line
    assert "add '--trust my_score', or the --config-dir that it was trained with" in line
    assert "my_score" not in sys.modules
    assert decode(succeeds, "--trust", "my_score").stdout.startswith("3 1 4 -> ")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    decode(succeeds, "--config-dir", str(tmp_path / "my_conf"))
