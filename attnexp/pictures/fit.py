"""Pictures of a fitted curve."""

from matplotlib.figure import Figure

from attnexp.pictures.canvas import FAINT, INK, PALETTE, new_figure, plot_axes
from attnexp.pictures.stored import StoredRun


def has_fit(run: StoredRun) -> bool:
    """Whether the run predicted a curve: one x, and the training points are stored."""
    batch = run.attention.batch
    return not run.attention.source_vocab and "values" in batch and batch["keys"].shape[-1] == 1


def draw_fit(run: StoredRun) -> Figure:
    """The truth, the prediction, and the training points, which carry noise."""
    batch = run.attention.batch
    figure = new_figure(5.6, 3.7, run.title, run.primary)
    axes = plot_axes(figure)
    axes.scatter(
        batch["keys"][0, :, 0],
        batch["values"][0, :, 0],
        s=14,
        facecolors="none",
        edgecolors=FAINT,
        linewidths=0.9,
        label="training points",
    )
    rows = sorted(
        tuple(float(row[name]) for name in ("x", "truth", "prediction"))
        for row in run.predictions[: batch["queries"].shape[1]]
    )
    x, truth, prediction = zip(*rows, strict=True)
    axes.plot(x, truth, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
    axes.plot(x, prediction, color=PALETTE[0], linewidth=2, label="prediction")
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.legend(loc="best")
    return figure
