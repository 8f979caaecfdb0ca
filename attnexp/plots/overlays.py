"""The picture of several fitted curves."""

import numpy as np
from matplotlib.figure import Figure

from attnexp.plots.fit import draw_truth, scatter
from attnexp.plots.fitted import curve
from attnexp.plots.style import BANDS, WIDE, line_styles, name_lines, new_figure, plot_axes
from attnexp.runs.attention_maps import same_examples
from attnexp.runs.configurations import Comparison


def draw_fits(comparison: Comparison) -> Figure:
    """The truth and the prediction of every configuration, a colour each.

    With several seeds, a line is the mean over the seeds and its band reaches from the smallest to
    the largest; the training points are drawn where all runs have the same ones.
    """
    runs = [run for one in comparison.configurations for run in one.runs]
    several = any(len(one.runs) > 1 for one in comparison.configurations)
    figure = new_figure(WIDE, 4.2, f"Fit{comparison.scope}", BANDS if several else "")
    axes = plot_axes(figure, beside=True)
    if all(same_examples(runs[0].attention, run.attention) for run in runs[1:]):
        scatter(axes, runs[0])
    x, truth, _ = curve(runs[0])
    draw_truth(axes, x, truth)
    looks = line_styles(len(comparison.configurations))
    for one, look in zip(comparison.configurations, looks, strict=True):
        predictions = np.stack([curve(run)[2] for run in one.runs])
        axes.plot(x, predictions.mean(axis=0), linewidth=1.8, label=one.label, **look)
        low, high = predictions.min(axis=0), predictions.max(axis=0)
        axes.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    name_lines(axes, beside=True)
    return figure
