"""The trials that are shipped, and files that are none."""

from typing import get_args

import pytest
from conftest import choice_names

from attnexp.cards.lines import Effort
from attnexp.cards.rows import row_of
from attnexp.cards.trial import SEEDS, LevelName, read_tasks
from attnexp.core.errors import RequestError
from attnexp.stats.compare import fewest_seeds
from attnexp.sweeps.line import jobs_of

LEVELS = get_args(LevelName)
TASKS = [(level, task) for level in LEVELS for task in read_tasks(level)]


@pytest.mark.first(8)
@pytest.mark.check
@pytest.mark.parametrize(
    ("level", "task"),
    [
        pytest.param(
            level,
            task,
            id=f"{level}-{task.name}",
            marks=() if level == "quick" or not task.trial.quick else pytest.mark.slow,
        )
        for level, task in TASKS
    ],
)
def test_each_trial_composes_and_says_what_it_asks(level, task):
    assert task.asks.endswith("?")
    assert task.trial.source
    assert task.trial.cost == bool(task.level.lengths)
    if task.trial.cost:
        return
    effort = Effort(level, 2, 1, "cpu", None)
    jobs = jobs_of(effort.sweep(task, row_of(["model=scaled_dot"])))
    assert {job.settings["seed"] for job in jobs} == {1, 2}
    for word in task.trial.harder:
        group, _, name = word.partition(".")
        assert name in jobs[0].settings[group], word


def test_every_trial_is_in_a_level_and_each_level_has_seeds_for_a_verdict():
    assert {task.name for _, task in TASKS} == set(choice_names("trial"))
    assert min(SEEDS.values()) >= fewest_seeds()


def test_trials_of_ones_own_are_found(tmp_path):
    (tmp_path / "trial").mkdir()
    mine = "# Mine?\nsource: me\nmetric: test_mse\nequal_within: 0\nquick: {words: [data=nile]}\n"
    (tmp_path / "trial" / "mine.yaml").write_text(mine)
    (task,) = read_tasks("quick", ["mine"], tmp_path)
    assert (task.asks, task.words) == ("Mine?", ["data=nile"])
    with pytest.raises(RequestError, match="mine is in --quick, not --full"):
        read_tasks("full", ["mine"], tmp_path)


def test_an_unknown_trial_is_refused():
    with pytest.raises(RequestError, match=r"--trials: 'revers' .*reverse"):
        read_tasks("quick", ["revers"])


def test_a_file_with_another_field_is_refused(tmp_path):
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "mine.yaml").write_text("# Mine?\nsource: me\nmetrics: a\n")
    with pytest.raises(RequestError, match=r"mine\.yaml: .*metrics"):
        read_tasks("quick", [], tmp_path)
