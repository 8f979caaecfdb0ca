import json

import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.core.language import speaking
from attnexp.plots.base import Options
from attnexp.plots.catalogue import drawn
from attnexp.plots.ranks import draw_ranks
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons


@pytest.fixture
def compared(write_run, tmp_path):
    """The comparisons of errors of shape (models, data sets, seeds), by the model's name."""

    def compare(values, **more):
        for model, sets in values.items():
            for number, seeds in enumerate(sets):
                for seed, value in enumerate(seeds):
                    write_run(
                        f"{model}-{number}-{seed}",
                        {
                            "seed": seed,
                            "model._target_": model,
                            "data._target_": f"d{number}",
                            **more,
                        },
                        choices={"model": model, "data": f"d{number}"},
                        metrics={"test_mse": value},
                    )
        return comparisons(collect([str(tmp_path / "outputs")]).runs)

    return compare


def values(sets=7, seeds=3):
    rng = np.random.default_rng(0)
    shifts = {"a": 0.0, "b": 0.1, "c": 5.0, "d": 5.1}
    return {name: (rng.normal(size=(sets, seeds)) + far).tolist() for name, far in shifts.items()}


def test_dots_are_mean_ranks_and_bars_join_rows_that_are_not_told_apart(compared):
    own = values()
    ((name, figure),) = draw_ranks(compared(own), Options())
    (axes,) = figure.axes
    dots, *bars = axes.lines
    errors = np.array([*own.values()])
    ranks = (errors[:, None] > errors).sum(axis=1).mean(axis=(1, 2)) + 1
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert name == "ranks"
    assert labels == [[*own][i] for i in np.argsort(ranks).tolist()]
    assert dots.get_xdata() == pytest.approx(sorted(ranks))
    places = [np.asarray(bar.get_ydata()).tolist() for bar in bars]
    assert places == [[0, 1], [2, 3]]


def test_text_is_chinese_if_asked(compared):
    with speaking("zh"):
        ((_, figure),) = draw_ranks(compared(values()), Options())
    assert figure.axes[0].get_xlabel() == "平均排名"


@pytest.mark.parametrize("own", [values(5), {"a": values()["a"]}])
def test_few_data_sets_or_one_row_are_not_drawn(compared, own, tmp_path):
    several = compared(own)
    assert list(draw_ranks(several, Options())) == []
    with pytest.raises(RequestError, match="there is no ranks to draw: ranks take six data sets"):
        list(drawn(several, tmp_path, kinds=["ranks"]))


def test_rows_and_ranks_are_those_of_the_table(compared, succeeds):
    """Also where rows have other settings in some data sets, and with values of data_seed."""
    own = values(sets=8)
    own["a"][7] = []
    ((_, figure),) = draw_ranks(compared(own, data_seed=3), Options())
    shown = json.loads(succeeds("results", "--over", "data", "--format", "json").stdout)["rows"]
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [row["model"] for row in shown]
    assert axes.lines[0].get_xdata() == pytest.approx([row["mean_rank"] for row in shown])
