"""Runs that Python starts."""

import pytest

import attnexp
from attnexp.core.errors import RequestError, RunFailedError

SMALL = ("data.num_train=10", "train.max_epochs=2", "device=cpu")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_run_is_that_of_the_command_line(capfd, in_process):
    run = attnexp.run("model=gaussian", "seed=3", *SMALL)
    assert capfd.readouterr() == ("", "")
    assert (run.seed, run.choices["model"], run.finished) == (3, "gaussian", True)
    answer = in_process("model=gaussian", "seed=3", "figures=false", *SMALL)
    assert "This run has finished before" in answer.stdout
    assert attnexp.run("model=gaussian", "seed=3", *SMALL).metrics == run.metrics


def test_a_sweep_returns_all_its_runs_and_repeats_none():
    first = attnexp.sweep("model=gaussian,average", "seed=0,1", *SMALL)
    assert sorted((run.choices["model"], run.seed) for run in first) == [
        ("average", 0),
        ("average", 1),
        ("gaussian", 0),
        ("gaussian", 1),
    ]
    again = attnexp.sweep("model=gaussian,average", "seed=0,1,2", *SMALL)
    ended = {run.path: run.summary.ended for run in again}
    assert len(ended) == 6
    assert ended.items() >= {run.path: run.summary.ended for run in first}.items()


def test_words_that_make_no_run_are_refused_in_a_sentence():
    with pytest.raises(RequestError, match="these words make 2 runs"):
        attnexp.run("model=gaussian,average", *SMALL)
    with pytest.raises(RequestError, match="Did you mean 'model=gaussian'"):
        attnexp.run("model=gausian", *SMALL)


def test_a_run_that_fails_says_why(own_choice, tmp_path):
    code = "from attnexp.scores import Score\n\n\nclass Mine(Score):\n    compare = 1 / 0\n"
    config_dir, folder, word = own_choice("model", "mine_failing.Mine", code)
    assert config_dir == "--config-dir"
    with pytest.raises((RequestError, RunFailedError)):
        attnexp.run(word, *SMALL, config_dir=tmp_path / folder)


def test_names_that_are_not_there_are_refused_with_the_nearest(regression_run, tmp_path):
    regression_run("outputs/one")
    run = attnexp.load_run("last")
    with pytest.raises(RequestError, match="attention 'cros'"):
        run.attention["cros"]
    model = run.choices["model"]
    wrong = model.replace("ss", "s") if "ss" in model else model + "x"
    with pytest.raises(RequestError, match=f"none of the 1 runs fits .* Did you mean '{model}'"):
        attnexp.load_runs().where(f"model={wrong}")
    with pytest.raises(RequestError, match="neither a folder nor a run"):
        attnexp.load_run("nothing")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((w, f"{w[-1]} asks a question") for w in (["--help"], ["model=dot", "-h"], ["--info"])),
        (["--cfg=job"], "--cfg=job asks a question"),
        ([3], "a word is text, such as 'model=dot', got 3"),
        ([["model=dot"]], "got ['model=dot']"),
    ],
)
@pytest.mark.parametrize("start", [attnexp.run, attnexp.sweep])
def test_what_makes_no_run_is_refused_before_it_begins(tmp_path, start, words, said):
    with pytest.raises(RequestError) as refused:
        start(*words)
    assert said in str(refused.value)
    assert not list(tmp_path.iterdir())
