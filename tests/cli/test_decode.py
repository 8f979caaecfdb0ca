"""`attnexp decode` on a model that has learned to copy two symbols."""

import shutil
import sys
from pathlib import Path

import pytest
import torch
from command_outcome import run_here

from attnexp.architectures.rnn import Rnn
from attnexp.config.build import restore
from attnexp.config.trust import Trust
from attnexp.runs import files
from attnexp.runs.summary import read_summary

ROOT = Path(__file__).parents[2]
CONF, STORED = ROOT / "conf", ROOT / "tests" / "runs" / "stored"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run; each test has a copy."""
    outputs = tmp_path_factory.mktemp("trained")
    words = (
        f"output_dir={outputs}",
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
    assert run_here(words, 120).faults() == []
    (folder,) = outputs.iterdir()
    return folder


@pytest.fixture
def run(trained, in_process, tmp_path):
    return shutil.copytree(trained, tmp_path / "outputs" / trained.name)


def test_answers_and_shows_the_map(in_process, run):
    answer = in_process("decode", str(run), "3 1 4")
    assert answer.returncode == 0, answer.stderr
    first, *lines = answer.stdout.splitlines()
    assert first.startswith("3 1 4 -> ")
    assert any("cross attention" in line for line in lines)
    assert any(line.split() == ["3", "1", "4", "<eos>"] for line in lines) or "<" in answer.stdout


def test_a_decoder_only_model_answers_and_shows_all_of_its_map(in_process, tmp_path):
    small = ("data.num_train=50", "data.num_test=5", "data.vocab_size=6", "arch.dim=8")
    trained = in_process(
        "data=reverse", "arch=decoder_only", *small, "train.max_epochs=1", "figures=false"
    )
    assert trained.returncode == 0, trained.stderr
    (folder,) = (tmp_path / "outputs").iterdir()
    answer = in_process("decode", str(folder), "3 1 4", "--attention", "self")
    assert answer.returncode == 0, answer.stderr
    assert "source and input downwards, source and input across" in answer.stdout
    shown = in_process("show", str(folder), "--attention", "self")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize("words", [["3,1,4"], ["3", "1", "4"], ["3, 1", "4"]], ids=" ".join)
def test_a_source_may_be_typed_in_other_ways(in_process, run, words):
    expected = in_process("decode", str(run), "3 1 4", "--head", "2").stdout.splitlines()[1:]
    answer = in_process("decode", str(run), *words, "--head", "2")
    assert answer.returncode == 0, answer.stderr
    first, *lines = answer.stdout.splitlines()
    assert first.startswith(f"{' '.join(words)} -> ")
    assert lines == expected


def test_the_restored_model_is_the_trained_one(run):
    restored = restore(read_summary(run), run, Trust())
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


def test_data_that_give_the_input_have_nothing_to_decode(in_process, tmp_path):
    small = ("data.num_train=4", "data.num_validation=2", "data.num_test=2", "data.vocab_size=70")
    tiny = ("arch=rnn", "arch.hidden_dim=4", "train.max_epochs=1", "figures=false")
    in_process("data=mqar", *small, *tiny)
    (folder,) = (tmp_path / "outputs").iterdir()
    answer = in_process("decode", str(folder), "k1 2 k1")
    assert answer.returncode == 2
    assert "data=mqar gives the decoder its input, so a source alone has no answer" in answer.stderr


def test_no_run_is_said(in_process):
    answer = in_process("decode", "nowhere", "3")
    assert answer.returncode == 2
    assert "nowhere holds no summary.json" in answer.stderr


def test_parameters_that_do_not_fit_are_refused(in_process, run):
    files.write_tensors(run / files.MODEL, {}, {})
    answer = in_process("decode", str(run), "3")
    assert answer.returncode == 2
    assert "holds no parameters of its model" in answer.stderr


def test_a_run_of_before_the_modules_moved(in_process):
    (folder,) = STORED.glob("additive-reverse-*")
    answer = in_process("decode", str(folder), "3 1 4")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("3 1 4 -> ")


class TestCodeOfTheUsersOwn:
    """A score and a data set in files of the user's, named in a configuration of the user's."""

    @pytest.fixture
    def own_run(self, in_process, tmp_path, monkeypatch):
        place = tmp_path / "project"
        (place / "my_conf" / "model").mkdir(parents=True)
        (place / "my_conf" / "data").mkdir()
        for module, kind in {
            "my_score": "scores.dot.Dot",
            "my_data": "data.reverse.Reverse",
        }.items():
            package, _, name = f"attnexp.{kind}".rpartition(".")
            text = f"from {package} import {name}\nclass Mine({name}):\n    pass\n"
            (place / f"{module}.py").write_text(text)
        (place / "my_conf" / "model" / "mine.yaml").write_text("# Mine.\n_target_: my_score.Mine\n")
        settings = (CONF / "data" / "reverse.yaml").read_text()
        assert "attnexp.data.reverse.Reverse" in settings
        (place / "my_conf" / "data" / "mine.yaml").write_text(
            settings.replace("attnexp.data.reverse.Reverse", "my_data.Mine")
        )
        monkeypatch.chdir(place)
        small = ("data.num_train=20", "data.num_validation=5", "data.num_test=5")
        answer = in_process(
            *("--config-dir", "my_conf", "model=mine", "data=mine", "arch.hidden_dim=8"),
            *("train.max_epochs=1", "figures=false", *small),
        )
        assert answer.returncode == 0, answer.stderr
        self.forget(place)
        yield next((place / "outputs").iterdir())
        self.forget(place)

    def forget(self, place):
        """As in a new process that has not been told of the folder."""
        for name in ("my_score", "my_data"):
            sys.modules.pop(name, None)
        sys.path[:] = [entry for entry in sys.path if entry != str(place)]

    def test_is_refused_unless_it_is_trusted(self, in_process, own_run):
        answer = in_process("decode", str(own_run), "3 1 4")
        assert answer.returncode == 2
        (line,) = answer.stderr.splitlines()
        assert "model._target_ is 'my_score.Mine', which is not attnexp's own" in line
        assert "add '--trust my_score', or the --config-dir that it was trained with" in line
        assert "my_score" not in sys.modules

    def test_every_module_needs_trust(self, in_process, own_run):
        answer = in_process("decode", str(own_run), "3 1 4", "--trust", "my_score")
        assert answer.returncode == 2
        assert "data._target_ is 'my_data.Mine'" in answer.stderr

    def test_runs_where_it_is_trusted(self, in_process, own_run):
        trust = ("--trust", "my_score", "--trust", "my_data")
        answer = in_process("decode", str(own_run), "3 1 4", *trust)
        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.startswith("3 1 4 -> ")

    def test_runs_with_its_configuration_from_any_folder(
        self, in_process, own_run, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        folder = str(own_run.parents[1] / "my_conf")
        answer = in_process("decode", str(own_run), "3 1 4", "--config-dir", folder)
        assert answer.returncode == 0, answer.stderr

    def test_trains_from_any_folder(self, in_process, own_run, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        folder = str(own_run.parents[1] / "my_conf")
        small = ("data.num_train=20", "train.max_epochs=1", "figures=false")
        answer = in_process("--config-dir", folder, "model=mine", "data=reverse", *small)
        assert answer.returncode == 0, answer.stderr

    @pytest.mark.parametrize("verb", ["show", "report", "plot", "results"])
    def test_is_not_needed_to_look_at_a_run(self, in_process, own_run, verb):
        for name in ("my_score.py", "my_data.py"):
            Path(name).unlink()
        answer = in_process(verb, str(own_run))
        assert answer.returncode == 0, answer.stderr
        assert not {"my_score", "my_data"} & set(sys.modules)

    def test_a_module_has_a_name(self, in_process, own_run):
        answer = in_process("decode", str(own_run), "3 1 4", "--trust", "./my_score.py")
        assert answer.returncode == 2
        assert "'./my_score.py' is not the name of a module" in answer.stderr
