"""A search goes on where it was, repeats no point, and leaves its best as a configuration."""

import re
from importlib.util import find_spec

import pytest
from sweeping import begun, statuses, summaries, until

from hydra_plugins.attnexp_sweeper import sweeper

pytestmark = pytest.mark.skipif(find_spec("optuna") is None, reason="Optuna is not installed")

SEARCH = ("-m", "hydra/sweeper=optuna", "figures=false")
KERNEL = (*SEARCH, "model=gaussian")


def test_the_same_command_goes_on_to_the_total(in_process, tmp_path):
    words = (*KERNEL, "model.width=tag(log,interval(0.5,20))")
    assert in_process(*words, "hydra.sweeper.n_trials=3").returncode == 0
    answer = in_process(*words, "hydra.sweeper.n_trials=5")
    assert "3/5" not in answer.stdout
    assert "5/5 model.width=" in answer.stdout
    assert "5 of 5 points: 5 measured, 0 failed" in answer.stdout
    widths = {end["config"]["model"]["width"] for end in summaries(tmp_path)}
    assert len(widths) == 5
    assert all(0.5 <= width <= 20 for width in widths)
    # nothing more to do: said without another point
    assert "5 of 5 points" in in_process(*words, "hydra.sweeper.n_trials=5").stdout
    assert "5 of 9 points" in in_process(*words, "hydra.sweeper.n_trials=9", "--dry-run").stdout
    assert len(summaries(tmp_path)) == 5


def test_the_best_is_written_ready_to_run(in_process, tmp_path):
    words = (*SEARCH, "model=gaussian,boxcar", "data.num_train=40", "model.width=interval(0.5,9)")
    answer = in_process(*words, "hydra.sweeper.n_trials=4")
    assert answer.returncode == 0, answer.stderr
    (folder,) = re.findall(r"attnexp --config-dir (\S+) experiment=best", answer.stdout)
    best = min(summaries(tmp_path), key=lambda end: end["metrics"]["loo_mse"])
    again = in_process("--config-dir", folder, "experiment=best", "figures=false")
    assert "This run has finished before" in again.stdout
    assert best["key"] in again.stdout
    assert f": loo_mse {best['metrics']['loo_mse']:.4g}." in (
        (tmp_path / folder / "experiment" / "best.yaml").read_text()
    )


def test_a_space_with_an_end_is_tried_once(in_process, tmp_path):
    words = (*KERNEL, "model.width=range(1,4)", "hydra.sweeper.n_trials=10")
    answer = in_process(*words)
    assert answer.returncode == 0, answer.stderr
    assert "all 3 points of the space have been tried" in answer.stdout
    assert sorted(end["config"]["model"]["width"] for end in summaries(tmp_path)) == [1, 2, 3]
    assert "all 3 points of the space have been tried" in in_process(*words).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("model.width=1,1e0,1", "seed=0,0", "hydra.sweeper.at_once=3"),
        ("figures=true,false", "hydra.sweeper.at_once=2"),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                ("model.width=1,1.0", "hydra.sweeper.at_once=2"),
                ("model=gaussian,'gaussian'", "hydra.sweeper.at_once=2"),
                ("model.width=interval(2,2)",),
            )
        ),
    ],
    ids=" ".join,
)
def test_points_that_are_the_same_job_are_one_point(in_process, tmp_path, words):
    for _ in range(2):
        answer = in_process(*KERNEL, *words)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert "all 1 points of the space have been tried" in answer.stdout
        assert "1 of 20 points: 1 measured, 0 failed" in answer.stdout
        assert len(summaries(tmp_path)) == 1


def test_failed_points_are_remembered_as_failed(fragile, home):
    words = ("-m", "hydra/sweeper=optuna", "model.how=raise,fine", "hydra.sweeper.n_trials=5")
    answer = fragile(*words)
    assert answer.returncode == 0, answer.stderr
    assert "2 of 5 points: 1 measured, 1 failed" in answer.stdout
    assert "the last that failed: model.how=raise: ZeroDivisionError: division by zero" in (
        answer.stdout
    )
    count = len(begun(home))
    assert "2 of 5 points: 1 measured, 1 failed" in fragile(*words).stdout
    assert len(begun(home)) == count


def test_seeds_are_not_searched_but_averaged(in_process, tmp_path):
    words = ("model.width=2,4", "seed=range(0,3)", "hydra.sweeper.n_trials=2")
    by = ("hydra.sweeper.metric=test_mae", "hydra.sweeper.at_once=2")
    answer = in_process(*KERNEL, *words, *by)
    assert len(summaries(tmp_path)) == 6
    assert len(list((tmp_path / "outputs").glob("search-width-by_test_mae-*"))) == 1
    for width in (2, 4):
        own = [
            end["metrics"]["test_mae"]
            for end in summaries(tmp_path)
            if end["config"]["model"]["width"] == width
        ]
        assert f"model.width={width}: test_mae {sum(own) / 3:.4g}" in answer.stdout


def test_a_search_by_the_test_set_is_warned_of(in_process):
    sentence = "test_mse is measured on the test set"
    words = (*KERNEL, "model.width=1,2", "hydra.sweeper.n_trials=2")
    answer = in_process(*words, "hydra.sweeper.metric=test_mse")
    assert answer.returncode == 0
    assert (answer.stdout + answer.stderr).count(sentence) == 1
    assert sentence not in (again := in_process(*words)).stdout + again.stderr


def test_a_metric_that_is_not_there_is_named(in_process):
    answer = in_process(*KERNEL, "model.width=1,2", "hydra.sweeper.metric=bleu")
    assert answer.returncode == 1
    assert "there is no metric 'bleu': choose bandwidth, baseline_mse" in answer.stdout
    assert "no point of the search could be measured" in answer.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("model.width=1",), "there is nothing to search: give a setting an interval"),
        (("model.width=interval(3,1)",), "model.width: .*low"),
        (("model.width=tag(log,interval(0,1))",), "model.width: .*log"),
        (("model.widht=interval(0,1)",), "There is no setting 'widht' in 'model'"),
    ],
)
def test_wrong_spaces(in_process, tmp_path, words, sentence):
    answer = in_process(*KERNEL, *words)
    assert answer.returncode == 2
    assert re.search(sentence, answer.stderr)
    assert "Traceback" not in answer.stderr


def test_without_optuna_the_extra_is_named(in_process, monkeypatch):
    monkeypatch.setattr(sweeper, "find_spec", lambda name: None)
    answer = in_process(*KERNEL, "model.width=interval(0,1)")
    assert answer.returncode == 2
    assert "pip install 'attnexp[optuna]'" in answer.stderr


@pytest.mark.slow
def test_an_interrupted_search_goes_on(start, fragile, home):
    words = ("-m", "hydra/sweeper=optuna", "model.seconds=interval(0.5,1.5)")
    for stop in ("interrupt", "kill"):
        count = len(begun(home))
        command = start(*words, "hydra.sweeper.n_trials=6")
        until(lambda count=count: len(begun(home)) == count + 2)
        if stop == "interrupt":
            command.interrupt()
            code, _, err = command.end()
            assert code == 130
            assert "of 6 points are done; the same command goes on" in err
        else:
            command.process.kill()
            command.end()
    answer = fragile(*words, "hydra.sweeper.n_trials=6")
    assert answer.returncode == 0, answer.stderr
    assert "6 of 6 points: 6 measured, 0 failed" in answer.stdout
    assert set(statuses(home).values()) == {"finished"}
    assert len({end["config"]["model"]["seconds"] for end in summaries(home)}) == 6


def test_the_highest_is_the_best_where_more_is_better(in_process):
    tiny = (
        "data=reverse",
        "model=dot",
        "data.num_train=20",
        "data.num_test=10",
        "arch.hidden_dim=8",
        "train.max_epochs=2",
    )
    searched = ("optim.lr=0.0001,0.1,0.3", "hydra.sweeper.metric=token_accuracy")
    answer = in_process(*SEARCH, *tiny, *searched, "hydra.sweeper.n_trials=3")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    shown = [float(line.split()[1]) for line in answer.stdout.splitlines() if line.startswith("0.")]
    assert len(set(shown)) > 1
    assert shown == sorted(shown, reverse=True)
