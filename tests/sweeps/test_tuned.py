"""Every configuration is tuned by the same procedure on validation data, and then compared."""

import math
import os
import random
import re
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from sweeping import summaries, until

from attnexp.config.compose import CommandLine
from attnexp.core.errors import RequestError, RunFailedError
from attnexp.sweeps import objective
from attnexp.sweeps.line import compared_jobs, jobs_of, run_sweep
from attnexp.sweeps.objective import NotMeasuredError
from attnexp.sweeps.plan import Composer
from attnexp.sweeps.tuned import jobs as tuning
from attnexp.sweeps.tuned.settings import TuningSettings

TUNED = ("-m", "hydra/sweeper=tuned", "figures=false", "train.max_epochs=3")
WIDTHS = "hydra.sweeper.tune=['model.width=0.1,3,50']"
COMPARED = (*TUNED, WIDTHS, "model=gaussian,epanechnikov", "data.noise=0.1,0.5", "seed=0,1")
RATES = "hydra.sweeper.tune=['optim.lr=0.001,0.1']"


def runs_of(home, tuning_run):
    return [one for one in summaries(home) if one["tuning"]["tuning_run"] is tuning_run]


def kind(one):
    return one["choices"]["model"], one["config"]["data"]["noise"]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> Path:
    """A folder in which a sweep has tuned four configurations and run each at two seeds."""
    from attnexp.cli.main import run

    folder, before = tmp_path_factory.mktemp("tuned"), os.getcwd()
    os.chdir(folder)
    try:
        assert run(COMPARED) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def swept(tuned, tmp_path) -> Path:
    """A copy of that folder."""
    return shutil.copytree(tuned, tmp_path / "swept")


@pytest.fixture
def there(swept, in_process, monkeypatch):
    """Runs a command line in the copy."""
    monkeypatch.chdir(swept)
    return in_process


def test_the_best_value_on_validation_data_is_compared_at_other_seeds(swept):
    tuning, compared = runs_of(swept, True), runs_of(swept, False)
    assert len(compared) == 8
    for one in compared:
        own = [other for other in tuning if kind(other) == kind(one)]
        best = min(own, key=lambda other: other["metrics"]["loo_mse"])
        assert one["config"]["model"]["width"] == best["config"]["model"]["width"]
    assert {one["config"]["seed"] for one in compared} == {0, 1}


def test_all_configurations_have_the_same_budget(swept):
    tuning = runs_of(swept, True)
    assert len(tuning) == 12
    for one in tuning:
        own = [other["config"]["model"]["width"] for other in tuning if kind(other) == kind(one)]
        assert sorted(own) == [0.1, 3, 50]
    assert {one["config"]["seed"] for one in tuning} == {1000}


def test_a_run_says_how_its_settings_were_chosen(swept):
    record = {"values": {"model.width": ["0.1", "3", "50"]}, "metric": "loo_mse", "seeds": [1000]}
    for tuning_run in (True, False):
        for one in runs_of(swept, tuning_run):
            ends = ["model.width"] if one["tuning"]["at_end"] else []
            further = {"by_split": False, "beyond": 0, "finals": [], "at_end": ends}
            assert one["tuning"] == record | {"tuning_run": tuning_run} | further


def test_the_same_command_runs_nothing_again(there, swept):
    before = {one["key"]: one["ended"] for one in summaries(swept)}
    again = there(*COMPARED)
    assert again.returncode == 0, again.stderr
    assert {one["key"]: one["ended"] for one in summaries(swept)} == before
    assert re.findall(r"skipped +(\d+)", again.stdout) == ["12", "8"]
    assert re.findall(r"done +(\d+)", there(*COMPARED, "--dry-run").stdout) == ["12", "8"]


def test_a_best_value_at_the_end_of_those_tried_is_remarked(there):
    ends = "the best model.width, 3, is the last one tried in its direction"
    assert ends not in there(*COMPARED).stdout
    fewer = there(*COMPARED, "model.width=3,50", "--dry-run")
    assert re.search(r"done +8\n", fewer.stdout), "the command line replaces the values"
    more = there(*COMPARED, "model.width=50,40,3", "model=gaussian", "data.noise=0.5", "seed=0")
    assert ends in more.stdout


def test_runs_that_have_finished_before_are_marked_and_those_compared_remain(there, swept):
    there(*TUNED, "hydra.sweeper.tune=['model.width=3,4']", "model=gaussian", "data.noise=0.1",
          "hydra.sweeper.seeds=[1]", "seed=2")  # fmt: skip
    seeds = {
        one["config"]["seed"] for one in runs_of(swept, False) if kind(one) == ("gaussian", 0.1)
    }
    assert seeds == {0, 1, 2}, "a run that one sweep compared is no tuning run of another"


@pytest.mark.first(5)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((RATES, "seed=0,1000"), "seed=1000 would both tune and be compared"),
        ((RATES, "optim.lr=0.1"), "there is nothing to tune"),
        (("hydra.sweeper.tune=['optim.lr=0.01,1e-2']",), "there is nothing to tune"),
        (("hydra.sweeper.tune=[]",), "there is nothing to tune"),
        (("hydra.sweeper.tune=['optim.rate=1,2']",), "no setting 'rate' in 'optim'"),
        ((WIDTHS, "hydra.sweeper.metric=val_x", *COMPARED[5:]), "metric 'val_x' is not a choice"),
    ],
)
def test_what_cannot_be_tuned_is_one_sentence(there, words, sentence):
    answer = there(*TUNED, "model=gaussian", *words)
    assert answer.returncode != 0
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("tune=['seed=0,3']", "settings other than seed and data_seed, got 'seed=0,3'"),
        ("tune=['++seed =3']", "settings other than seed and data_seed, got '++seed =3'"),
        ("tune=['data_seed=1,2']", "settings other than seed and data_seed, got 'data_seed=1,2'"),
        ("tune=3", "tune must be a list, got 3"),
        ("tune=null", "tune must be a list, got None"),
        ("tune=true", "tune must be a list, got True"),
        ("tune='model.width=0.1,2'", "tune must be a list, got 'model.width=0.1,2'"),
        ("tune=[3]", "tune[0] must be text, got 3"),
        ("tune=['model.width=1,2',null]", "tune[1] must be text, got None"),
        ("tune=[{a:3}]", "tune[0] must be text, got {'a': 3}"),
        ("tune=[[a,b]]", "tune[0] must be text, got ['a', 'b']"),
        ("tune=['']", "with values, such as optim.lr=0.001,0.01, got ''"),
        ("tune=['model.width']", "with values, such as optim.lr=0.001,0.01, got 'model.width'"),
        (
            "tune=['model.width=1,2','+model.width=3,4']",
            "must be different settings, got model.width=1,2, +model.width=3,4",
        ),
        ("tune=['=3,4']", "with values, such as optim.lr=0.001,0.01, got '=3,4'"),
        ("seeds=[]", "seeds must be one seed or more, such as [1000], got []"),
        ("seeds=[-1]", "seeds must be whole numbers from 0 on, got [-1]"),
        ("seeds=[1,1]", "from each other and from hydra.sweeper.finals, got [1, 1]"),
        ("seeds=null", "seeds must be a list, got None"),
        ("seeds=[true]", "seeds[0] must be a whole number, got True"),
        ("seeds=[9223372036854775808]", "seeds must be within -2^63 and 2^63, got 9.223e+18"),
        ("finals=5", "finals must be a list, got 5"),
        ("finals=[a]", "finals[0] must be a whole number, got 'a'"),
        ("finals=[-1]", "finals must be whole numbers from 0 on, got [-1]"),
        (
            "finals=[1000,1001]",
            "from each other and from hydra.sweeper.finals, got [1000, 1000, 1001]",
        ),
        ("metric=3", "metric must be null or text, got 3"),
        ("metric=true", "metric must be null or text, got True"),
        ("metric=[val_loss]", "metric must be null or text, got ['val_loss']"),
        ("metric={a:1}", "metric must be null or text, got {'a': 1}"),
        ("metric=test_mse", "metric=test_mse may be of the test set"),
        ("beyond=two", "beyond must be a whole number, got 'two'"),
        ("beyond=null", "beyond must be a whole number, got None"),
        ("beyond=1000", "beyond must be a whole number from 0 to 20, got 1000"),
        ("max_batch_size=a", "max_batch_size must be a whole number or null, got 'a'"),
        ("dry_run=3", "dry_run must be true or false, got 3"),
    ],
)
@pytest.mark.parametrize("run", [run_sweep, compared_jobs])
def test_a_setting_of_the_sweeper_that_cannot_be_is_named_with_its_value(
    tmp_path, monkeypatch, run, word, sentence
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match=re.escape(sentence)) as error:
        run(["hydra/sweeper=tuned", "model=gaussian", f"hydra.sweeper.{word}"])
    assert f"hydra.sweeper.{word.partition('=')[0]}" in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("~hydra.sweeper.tune", "hydra.sweeper.tune has no value"),
        ("+hydra.sweeper.also=3", "no setting 'also' in 'hydra.sweeper': choose beyond, dry_run"),
    ],
)
def test_a_setting_that_the_sweeper_lacks_is_named(there, word, sentence):
    answer = there(*TUNED, "model=gaussian", word)
    assert answer.returncode == 2
    assert sentence in answer.stderr


def test_a_file_is_tuned_within_the_training_rows_of_each_seeds_own_split(succeeds, tmp_path):
    answer = succeeds(*TUNED, RATES, "model=additive", "data=nile,sine", "seed=range(3)")
    for one in summaries(tmp_path):
        assert one["tuning"]["by_split"] == (one["choices"]["data"] == "nile")
    tuning, compared = (
        [one for one in runs_of(tmp_path, tuning_run) if one["choices"]["data"] == "nile"]
        for tuning_run in (True, False)
    )
    # two rates and one seed in each of three splits
    assert sorted(one["config"]["data_seed"] for one in tuning) == [0, 0, 1, 1, 2, 2]
    assert sorted(one["config"]["seed"] for one in compared) == [0, 1, 2]
    for one in compared:
        own = [t for t in tuning if t["config"]["data_seed"] == one["config"]["seed"]]
        best = min(own, key=lambda t: t["metrics"]["loo_mse"])
        assert one["config"]["optim"]["lr"] == best["config"]["optim"]["lr"]
        assert one["config"]["data_seed"] is None
    # the tuning of a split trained on its rows: the mean of the targets is that of the split
    for one in compared:
        for other in tuning:
            same = other["config"]["data_seed"] == one["config"]["seed"]
            own, its = (each["metrics"]["baseline_mse"] for each in (one, other))
            assert (own == its) == same
    assert "nile: 1 configuration, 3 runs" in answer.stdout
    assert "by loo_mse within the training rows of each split at seed 1000" in (
        " ".join(answer.stdout.split())
    )


def test_a_split_that_no_seed_draws_is_tuned_once_for_all_seeds(succeeds, tmp_path):
    rows = "".join(f"{i},{i % 3}\n" for i in range(12))
    (tmp_path / "my.csv").write_text("a,b\n" + rows)
    table = ("data=table", "data.path=my.csv", "data.x=[a]", "data.y=b", "data.split=last")
    succeeds(*TUNED, RATES, "model=additive", *table, "seed=range(2)")
    tuning, compared = (runs_of(tmp_path, tuning_run) for tuning_run in (True, False))
    assert [one["config"]["seed"] for one in tuning] == [1000, 1000]
    assert sorted(one["config"]["seed"] for one in compared) == [0, 1]
    assert {one["config"]["data_seed"] for one in [*tuning, *compared]} == {None}


@pytest.mark.parametrize(
    ("better", "best"), [("higher", {0: 0.2, 1: 0.1}), ("lower", {0: 0.1, 1: 0.2})]
)
def test_each_split_is_compared_once_at_its_own_best_value(tmp_path, monkeypatch, better, best):
    means = {(0, 0.1): 3.0, (0, 0.2): 5.0, (1, 0.1): 5.0, (1, 0.2): 3.0}
    at = lambda settings: (settings["data_seed"], settings["optim"]["lr"])  # noqa: E731
    monkeypatch.setattr(tuning, "has_ended", lambda _: True)
    monkeypatch.setattr(objective, "selection_of", lambda _: "m")
    monkeypatch.setattr(objective, "mean_of", lambda jobs, _: means[at(jobs[0].settings)])
    monkeypatch.setattr(objective, "finished", lambda _: SimpleNamespace(better={"m": better}))
    monkeypatch.chdir(tmp_path)
    tune = "hydra.sweeper.tune=['optim.lr=0.1,0.2']"
    jobs = compared_jobs(["hydra/sweeper=tuned", tune, "model=additive", "data=nile", "seed=0,1"])
    found = [(job.settings["seed"], job.settings["optim"]["lr"]) for job in jobs]
    assert sorted(found) == [*best.items()]


def test_a_dry_run_says_what_comes_and_runs_nothing(in_process, tmp_path):
    answer = in_process(*TUNED, RATES, "model=additive,average", "seed=range(3)", "--dry-run")
    assert re.search(r"to do +4\n", answer.stdout)
    assert "then 2 configurations, each at its best values, with 3 seeds" in answer.stdout
    assert not (tmp_path / "outputs").exists()


def test_a_value_that_fails_is_not_chosen(fragile, home):
    ways = "hydra.sweeper.tune=['model.how=raise,fine']"
    answer = fragile("-m", "hydra/sweeper=tuned", ways, "seed=0,1")
    assert answer.returncode == 0, answer.stderr
    done = [one for one in summaries(home) if one["status"] == "finished"]
    assert {one["config"]["model"]["how"] for one in done} == {"fine"}
    assert re.search(r"fine +\S+ +1", answer.stdout)


@pytest.mark.slow
def test_a_configuration_that_fails_at_every_value_is_named(fragile):
    ways = "hydra.sweeper.tune=['model.how=raise,memory']"
    answer = fragile("-m", "hydra/sweeper=tuned", ways, "seed=0")
    assert answer.returncode == 1
    assert "failed at every value that was tried" in answer.stderr


@pytest.mark.slow
def test_an_interrupted_one_goes_on(start, home):
    ways = "hydra.sweeper.tune=['model.how=wait,fine']"
    command = start("-m", "hydra/sweeper=tuned", ways, "seed=0")
    until((home / "begun.txt").exists)
    command.interrupt()
    code, out, err = command.end()
    assert code == 128 + signal.SIGINT
    assert "the same command goes on with the rest" in out + err
    (home / "go").touch()
    start("-m", "hydra/sweeper=tuned", ways, "seed=0").output()
    assert len(runs_of(home, True)) == 2
    assert len(runs_of(home, False)) == 1


def test_a_tuned_range_and_a_tuned_file_are_read_as_those_of_a_sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tune = "hydra.sweeper.tune=['model.width=range(0.1,0.5,0.1)','output_dir=表,été 2']"
    jobs = jobs_of(["hydra/sweeper=tuned", tune, "model=gaussian"])
    assert {job.settings["model"]["width"] for job in jobs} == {0.1, 0.2, 0.3, 0.4}
    assert {job.settings["output_dir"] for job in jobs} == {"表", "été 2"}


@pytest.fixture
def searched(tmp_path, monkeypatch):
    """Tunes with runs that are not run: their losses are a function of rate and seed.

    Returns the rates that were tried, by seed, and the rate of the compared jobs.
    """
    monkeypatch.chdir(tmp_path)

    def search(value, tie=None, *words, metric="loss"):
        def number(jobs, name):
            own = value if name == metric else tie
            found = [own(job.settings["optim"]["lr"], job.settings["seed"]) for job in jobs]
            if None in found:
                raise NotMeasuredError("it diverged")
            return sum(found) / len(found)

        monkeypatch.setattr(tuning, "has_ended", lambda _: True)
        monkeypatch.setattr(objective, "mean_of", number)
        monkeypatch.setattr(objective, "selection_of", lambda _: "loss")
        summary = SimpleNamespace(better={"loss": "lower", "val_accuracy": "higher"})
        monkeypatch.setattr(objective, "finished", lambda _: summary)
        seen = {}
        search_of = tuning.TunedJobs._tried

        def recorded(own, case):
            found = search_of(own, case)
            for at_choice in found.values():
                for job in at_choice:
                    seen.setdefault(job.settings["seed"], []).append(job.settings["optim"]["lr"])
            return found

        monkeypatch.setattr(tuning.TunedJobs, "_tried", recorded)
        line = [
            *("hydra/sweeper=tuned", "model=additive", "seed=1"),
            *("hydra.sweeper.tune=['optim.lr=0.002,0.005,0.0125']", *words),
        ]
        (job,) = compared_jobs(line)
        return {seed: sorted(rates) for seed, rates in seen.items()}, job.settings["optim"]["lr"]

    return search


GIVEN = [0.002, 0.005, 0.0125]


@pytest.mark.parametrize(
    ("best", "rates", "taken"),
    [
        (0.005, GIVEN, 0.005),
        (0.03, [*GIVEN, 0.0312, 0.0781], 0.0312),
        (1.0, [*GIVEN, 0.0312, 0.0781], 0.0781),
        (0.0008, [0.00032, 0.0008, *GIVEN], 0.0008),
        (0.00001, [0.00032, 0.0008, *GIVEN], 0.00032),
    ],
)
def test_the_next_number_is_tried_while_the_best_one_is_at_an_end(searched, best, rates, taken):
    distance = lambda rate, _: abs(math.log(rate / best))  # noqa: E731
    assert searched(distance, None, "hydra.sweeper.beyond=2") == ({1000: rates}, taken)


def test_a_number_that_fails_ends_the_search_in_its_direction(searched):
    fails = lambda rate, _: None if rate > 0.02 else -rate  # noqa: E731
    assert searched(fails, None, "hydra.sweeper.beyond=2") == ({1000: [*GIVEN, 0.0312]}, 0.0125)


def test_the_two_best_are_tried_at_further_seeds(searched):
    """At seed 1000 the second best is the first: over three seeds it is not."""
    losses = {0.002: (3, 9, 9), 0.005: (1, 5, 5), 0.0125: (2, 2, 2)}
    found = searched(
        lambda rate, seed: losses[rate][seed - 1000], None, "hydra.sweeper.finals=[1001,1002]"
    )
    assert found == ({1000: GIVEN, 1001: GIVEN[1:], 1002: GIVEN[1:]}, 0.0125)


FURTHER = ("hydra.sweeper.beyond=2", "hydra.sweeper.finals=[1001,1002]")


@pytest.mark.parametrize(
    ("further", "tried", "taken"),
    [
        ({0.0312: 9}, [0.0312], 0.0125),
        ({0.0312: 1, 0.0781: 9}, [0.0312, 0.0781], 0.0312),
        ({0.0312: 1, 0.0781: 0.5}, [0.0312, 0.0781], 0.0781),
        ({0.0312: None}, [0.0312], 0.0125),
    ],
)
def test_where_the_finals_choose_an_end_the_next_is_tried_at_all_seeds(
    searched, further, tried, taken
):
    """At seed 1000 the best of the three is between the others."""
    losses = {0.002: (3, 3, 3), 0.005: (1, 5, 5), 0.0125: (2, 2, 2)}
    losses |= {rate: (loss, loss, loss) for rate, loss in further.items()}
    found = searched(lambda rate, seed: losses[rate][seed - 1000], None, *FURTHER)
    finals = [*GIVEN[1:], *tried]
    assert found == ({1000: [*GIVEN, *tried], 1001: finals, 1002: finals}, taken)


def test_a_round_of_tuning_runs_what_was_not_run_before(in_process, tmp_path):
    words = ("model=gaussian", "seed=0", "hydra.sweeper.finals=[1001]", "rerun=true")
    answer = in_process(*TUNED, WIDTHS, *words)
    assert re.findall(r"done +(\d+)", answer.stdout) == ["3", "2", "1"], answer.stderr


def test_a_value_that_is_given_twice_is_tried_once(searched):
    words = ("optim.lr=0.002,0.005,0.0125,0.0125", "hydra.sweeper.beyond=1")
    found = searched(lambda rate, _: -rate, None, *words)
    assert found == ({1000: [*GIVEN, 0.0312]}, 0.0312)


@pytest.mark.parametrize(("draw", "at_finals"), [(1, 2), (9, 3)])
def test_a_search_that_stops_after_any_run_ends_with_the_same_runs_and_choice(
    tmp_path, monkeypatch, draw, at_finals
):
    """The losses are noise around the best rate, 0.05. One run fails."""
    monkeypatch.chdir(tmp_path)
    ended = set()

    def run_of(job):
        return job.settings["optim"]["lr"], job.settings["seed"]

    def loss(job):
        rate, seed = run_of(job)
        if run_of(job) not in ended or (rate, seed) == (0.0312, 1001):
            raise NotMeasuredError("it failed")
        noise = random.Random(f"{rate} {seed} {draw}").uniform(0.2, 1.8)
        return noise * abs(math.log(rate / 0.05))

    monkeypatch.setattr(tuning, "has_ended", lambda job: run_of(job) in ended)
    monkeypatch.setattr(objective, "mean_of", lambda jobs, _: sum(map(loss, jobs)) / len(jobs))
    monkeypatch.setattr(objective, "selection_of", lambda job: loss(job) and "loss")
    monkeypatch.setattr(objective, "finished", lambda _: SimpleNamespace(better={"loss": "lower"}))
    tune = "optim.lr=0.002,0.005,0.0125"
    context, config = CommandLine.read(["-m", "hydra/sweeper=tuned"]).composed_sweep()

    def run(composer, at_most):
        """Runs so many jobs, in rounds as a sweep does."""
        jobs = tuning.TunedJobs(
            composer,
            ["model=additive", "seed=1"],
            TuningSettings([tune], [1000], beyond=2, finals=[1001, 1002]),
        )
        while left := {run_of(job) for job in tuning.jobs_in(jobs.tried().values())} - ended:
            for each in sorted(left):
                if len(ended) == at_most:
                    return None
                ended.add(each)
        (found,) = jobs.choose(jobs.tried()).values()
        return found.best, found.at_end, found.means

    with Composer(context, config) as composer:
        whole, made = run(composer, math.inf), {*ended}
        assert sum(seed == 1001 for _, seed in made) == at_finals
        for stop in range(len(made)):
            ended.clear()
            assert run(composer, stop) is None
            assert run(composer, math.inf) == whole
            assert ended == made


def test_a_choice_waits_for_all_runs_that_tune(there):
    """Runs of a search that tried less are there: what they would choose is not compared."""
    assert len(compared_jobs(COMPARED[1:])) == 8
    with pytest.raises(RunFailedError, match="runs that tune have not ended"):
        compared_jobs([*COMPARED[1:], "hydra.sweeper.finals=[1001]"])


def test_where_the_metric_ties_the_loss_says_whether_the_best_is_at_an_end(searched):
    words = ("hydra.sweeper.metric=val_accuracy", "hydra.sweeper.beyond=2")
    falling = lambda rate, _: -rate  # noqa: E731
    found = searched(lambda *_: 0.0, falling, *words, metric="val_accuracy")
    assert found == ({1000: [*GIVEN, 0.0312, 0.0781]}, 0.0781)
    even = searched(lambda *_: 0.0, lambda *_: 1.0, *words, metric="val_accuracy")
    assert even == ({1000: GIVEN}, 0.002)


@pytest.mark.parametrize(("second", "taken"), [(0.985, 0.005), (0.995, 0.0125)])
def test_the_loss_decides_between_values_within_a_percent(searched, second, taken):
    accuracy = {0.002: 0.5, 0.005: 1.0, 0.0125: second}
    loss = {0.002: 0.0, 0.005: 0.2, 0.0125: 0.1}
    words = ("hydra.sweeper.metric=val_accuracy",)
    found = searched(
        lambda rate, _: accuracy[rate], lambda rate, _: loss[rate], *words, metric="val_accuracy"
    )
    assert found[1] == taken


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["hydra.sweeper.finals=[1]"], "would both tune and be compared"),
        (["hydra.sweeper.beyond=1", "optim.lr=0.1,0.2"], "needs 3 positive numbers or more"),
        (["hydra.sweeper.beyond=1", "optim.lr=-1,0.1,0.2"], "needs 3 positive numbers or more"),
        (["hydra.sweeper.beyond=1", "optim.lr=1,2,4"], "not all of them whole"),
    ],
)
def test_a_search_that_cannot_be_is_one_sentence(searched, words, sentence):
    with pytest.raises(RequestError, match=sentence):
        searched(lambda *_: 0.0, None, *words)


@pytest.mark.slow
def test_a_search_goes_on_where_it_was_and_repeats_nothing(succeeds, tmp_path):
    """The default rate of the regression is 0.01 and more: a sweep from 0.001 goes up."""
    tune = "hydra.sweeper.tune=['optim.lr=0.0001,0.0003,0.0009']"
    words = (*TUNED, tune, "model=additive", "seed=0", "hydra.sweeper.beyond=2")
    first = succeeds(*words, "hydra.sweeper.finals=[1001]")
    assert "tuning goes on with 1 run" in first.stdout
    (compared,) = runs_of(tmp_path, False)
    assert compared["tuning"]["at_end"] == ["optim.lr"]
    assert compared["config"]["optim"]["lr"] == 0.0081
    assert len(runs_of(tmp_path, True)) == 5 + 2
    again = succeeds(*words, "hydra.sweeper.finals=[1001]")
    assert sum(map(int, re.findall(r"done +(\d+)", again.stdout))) == 0


def test_a_setting_without_effect_is_said_to_have_none_in_place_of_a_choice(there):
    two = "hydra.sweeper.tune=['optim.lr=0.001,0.1','optim.scalar_lr=0.2,2']"
    line = (*TUNED, two, "model=gaussian_learned,additive,gaussian", "seed=0", "hydra.sweep.dir=o")
    shown = there(*line).stdout.splitlines()
    head = next(
        i for i, each in enumerate(shown) if re.match("model +optim.lr +optim.scalar_lr", each)
    )
    rows = {
        re.split(" {2,}", each)[0]: re.split(" {2,}", each)[1:3]
        for each in shown[head + 2 : head + 5]
    }
    assert rows["gaussian"] == ["no effect", "no effect"]
    assert rows["gaussian_learned"][0] == "no effect" != rows["gaussian_learned"][1]
    assert rows["additive"][1] == "no effect" != rows["additive"][0]
