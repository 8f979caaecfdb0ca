"""Pictures of attention: a panel per layer and head of a run, the mean of the heads of several."""

import numpy as np
import pytest

from attnexp.plots.attention import compare_attention, draw_attention
from attnexp.plots.base import Options
from attnexp.runs.attention import View
from attnexp.runs.folder import load_run
from attnexp.select.collect import collect
from attnexp.select.groups import comparisons


def maps_in(figure):
    """The numbers of each panel, in order."""
    return [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]


def test_a_run_has_a_panel_for_each_layer_and_head(sequence_run):
    run = load_run(sequence_run(layers=2, heads=3))
    ((name, figure),) = draw_attention(run, Options(View(examples=(1,))))
    assert name == "attention"
    panels = maps_in(figure)
    assert len(panels) == 6
    ((_, one),) = draw_attention(run, Options(View(examples=(1,), layer=1, head=2)))
    (alone,) = maps_in(one)
    assert (alone == panels[5]).all()
    assert len({panel.tobytes() for panel in panels}) == 6


def test_of_several_runs_the_mean_of_the_heads_is_shown(sequence_run, tmp_path):
    for model in ("additive", "dot"):
        choices = {"model": model, "data": "reverse", "arch": "rnn"}
        sequence_run(f"outputs/{model}", heads=3, choices=choices)
    runs = collect([tmp_path / "outputs"]).runs
    (comparison,) = comparisons(runs)
    ((_, figure),) = compare_attention(comparison, Options(View(examples=(1,))))
    shown = maps_in(figure)
    assert len(shown) == 2
    ((_, figure),) = draw_attention(runs[0], Options(View(examples=(1,))))
    heads = maps_in(figure)
    assert len(heads) == 3
    assert shown[0] == pytest.approx(np.mean(heads, axis=0))
