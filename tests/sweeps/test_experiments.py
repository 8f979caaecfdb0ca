"""Every experiment asks a question, names its axes and seeds, and ends in its table."""

import re

import pytest
import yaml
from conftest import CONF

from attnexp.stats.compare import Rule

ONE_RUN = {"width_of_many_points"}
"""Experiments that are a recipe for one run."""

LEAST = Rule("lower").least
"""The fewest seeds of a row that a verdict takes."""


def test_each_opens_with_what_it_asks(experiment_name):
    lines = (CONF / "experiment" / f"{experiment_name}.yaml").read_text()
    directive, question = lines.splitlines()[:2]
    assert directive == "# @package _global_"
    assert "?" in question


@pytest.mark.first(3)
def test_each_can_be_composed_with_its_axes(experiment_name, succeeds):
    answer = succeeds("-m", f"experiment={experiment_name}", "--dry-run")
    (jobs,) = re.findall(r"^to do +(\d+)$", answer.stdout, re.M)
    file = CONF / "experiment" / f"{experiment_name}.yaml"
    axes = yaml.safe_load(file.read_text()).get("hydra", {}).get("sweeper", {}).get("params", {})
    if experiment_name in ONE_RUN:
        assert int(jobs) == 1
    else:
        seeds = int(axes["seed"].removeprefix("range(").removesuffix(")"))
        assert seeds >= LEAST
        tuned = re.search(
            rf"then (\d+) configurations?, each at its best .* with {seeds} seeds", answer.stdout
        )
        assert int(jobs) == 3 * int(tuned[1]) if tuned else int(jobs) % seeds == 0


def test_each_states_its_minutes(experiment_name):
    text = (CONF / "experiment" / f"{experiment_name}.yaml").read_text()
    assert re.search(r"^# .*\b(second|minute|hour)s?\b", text, re.M)


@pytest.mark.slow
def test_an_experiment_ends_in_its_table(in_process, succeeds):
    command = ("-m", "experiment=scores_on_sine", "model=average,gaussian", "seed=0,1")
    status, _, results = succeeds(*command).stdout.partition("test_mse")
    assert re.findall(r"done +(\d)\n", status) == ["6", "4"]
    assert re.search(r"average", results)
    assert re.search(r"gaussian", results)
    again = in_process(*command)
    assert again.stdout.partition("test_mse")[2] == results
    assert re.findall(r"skipped +(\d)\n", again.stdout) == ["6", "4"]


PICTURED = ("-m", "experiment=first_look", "model=average,gaussian")


@pytest.mark.slow
def test_an_experiment_with_pictures_draws_the_comparison_and_names_the_files(
    in_process, succeeds, tmp_path
):
    answer = succeeds(*PICTURED)
    assert "could not be drawn" not in answer.stdout
    names = ["attention.png", "fit.png", "metric.png"]
    folder = tmp_path / "outputs" / "figures" / "first_look"
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert f"outputs/figures/first_look/{name}\n" in answer.stdout
    assert "gaussian has the lowest mean test_mse" in answer.stdout
    assert list(tmp_path.glob("outputs/*-*/figures")) == []  # the jobs store numbers alone
    again = in_process(*PICTURED)
    assert "outputs/figures/first_look/fit.png\n" in again.stdout
    for command in re.findall("^  (attnexp .*)  # ", again.stdout, re.M):
        assert in_process(*command.split()[1:]).returncode == 0, command


def test_any_sweep_ends_with_its_table_and_its_pictures(
    in_process, succeeds, tmp_path, monkeypatch
):
    words = ("-m", "model=average", "seed=0,1")
    answer = succeeds(*words)
    assert "sine: 1 configuration, 2 runs" in answer.stdout
    drawn = [*tmp_path.glob("outputs/figures/model_average_seed_0-1/fit.png")]
    assert len(drawn) == 1
    assert f"{drawn[0].relative_to(tmp_path)}\n" in answer.stdout
    plain = in_process(*words, "figures=false", "output_dir=plain")
    assert "sine: 1 configuration, 2 runs" in plain.stdout
    assert not (tmp_path / "plain" / "figures").exists()
    succeeds("-m", "model=gaussian", "figures=true")
    assert len([*tmp_path.glob("outputs/gaussian-*/figures/fit.png")]) == 1
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "1 个配置\N{FULLWIDTH COMMA}2 次运行" in succeeds(*words, "figures=false").stdout


def test_too_many_configurations_are_not_drawn_and_that_is_said(succeeds, monkeypatch, tmp_path):
    from attnexp.sweeps import printed

    assert printed.MOST_COMPARED == 32
    monkeypatch.setattr(printed, "MOST_COMPARED", 1)
    said = " ".join(succeeds("-m", "model=average,gaussian").stdout.split())
    assert "2 configurations are too many for one picture: attnexp plot --where draws some" in said
    assert not (tmp_path / "outputs" / "figures").exists()


def test_a_comparison_that_cannot_be_drawn_fails_no_sweep(succeeds, monkeypatch):
    from attnexp.plots import catalogue

    monkeypatch.setattr(catalogue, "draw_comparisons", lambda folders, into: 1 / 0)
    answer = succeeds(*PICTURED)
    assert "the comparison could not be drawn (ZeroDivisionError: division by zero)" in (
        answer.stdout
    )


def test_the_command_line_replaces_axes_and_a_single_run_says_that_there_are_some(fragile):
    answer = fragile("-m", "experiment=first_look", "model=dot", "--dry-run")
    assert re.search(r"to do +6\n", answer.stdout)
    answer = fragile("experiment=first_look", "model=average")
    assert "This is one run of an experiment; -m runs it for all values of model, seed." in (
        answer.stdout
    )


def test_experiments_with_axes_run_one_at_a_time(refused):
    assert "each experiment has its own axes, so run one at a time" in refused(
        "-m", "experiment=scores_on_sine,first_look", "--dry-run"
    )
