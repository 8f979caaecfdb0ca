"""The book's plots, in pyplot's figures and outside of them."""

import sys
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attnexp import d2l


@pytest.fixture(autouse=True)
def figures(monkeypatch):
    """No figure is left, and the size of later ones is as before."""
    plt.switch_backend("Agg")
    monkeypatch.setitem(plt.rcParams, "figure.figsize", (6, 4))
    yield
    plt.close("all")


def drawn():
    lines = [line.get_xydata() for line in plt.gca().lines]
    return [tuple(np.asarray(line).T.tolist()) for line in lines]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (([1, 2],), [([0, 1], [1, 2])]),
        (([5, 6], [1, 2]), [([5, 6], [1, 2])]),
        (([5, 6], [[1, 2], [3, 4]]), [([5, 6], [1, 2]), ([5, 6], [3, 4])]),
        (([[5, 6], [7]], [[1, 2], [3]]), [([5, 6], [1, 2]), ([7], [3])]),
        (([[1, 2], [3, 4]],), [([0, 1], [1, 2]), ([0, 1], [3, 4])]),
        ((torch.tensor([5, 6]), torch.tensor([[1, 2]])), [([5, 6], [1, 2])]),
    ],
)
def test_plot_draws_a_line_for_each_row(given, expected):
    d2l.plot(*given)
    assert drawn() == expected


def test_plot_has_the_settings_of_its_axes():
    d2l.plot([1, 10], [1, 100], "x", "y", ["a"], xlim=[1, 20], yscale="log", figsize=(3, 2))
    axes = plt.gca()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a"]
    assert (axes.get_xlim(), axes.get_yscale()) == ((1, 20), "log")
    assert list(plt.gcf().get_size_inches()) == [3, 2]


def test_plot_clears_the_axes_that_it_is_given():
    axes = plt.figure().subplots()
    axes.plot([9, 9, 9])
    d2l.plot([1, 2], axes=axes)
    plt.sca(axes)
    assert drawn() == [([0, 1], [1, 2])]


def test_figures_are_svg_in_a_notebook_only(monkeypatch):
    chosen: list[str] = []
    d2l.use_svg_display()
    inline: Any = SimpleNamespace(set_matplotlib_formats=chosen.append)
    monkeypatch.setitem(sys.modules, "matplotlib_inline", SimpleNamespace(backend_inline=inline))
    monkeypatch.setitem(sys.modules, "matplotlib_inline.backend_inline", inline)
    terminal = SimpleNamespace(get_ipython=object)
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    d2l.use_svg_display()
    assert chosen == []
    notebook = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace())
    d2l.use_svg_display()
    assert chosen == ["svg"]


def test_heatmaps_have_a_panel_for_each_map():
    maps = torch.eye(4).expand(2, 3, 4, 4)
    figure: Any = d2l.show_heatmaps(maps, "Keys", "Queries", titles=["a", "b", "c"], figsize=(5, 3))
    panels = figure.axes[:6]
    assert [axes.get_title() for axes in panels] == 2 * ["a", "b", "c"]
    assert [axes.get_xlabel() for axes in panels] == 3 * [""] + 3 * ["Keys"]
    assert [axes.get_ylabel() for axes in panels] == ["Queries", "", "", "Queries", "", ""]
    assert (panels[4].images[0].get_array() == torch.eye(4).numpy()).all()
    assert figure._repr_png_()[:4] == b"\x89PNG"


def test_an_animator_has_the_points_that_it_is_given():
    animator = d2l.Animator("epoch", "loss", legend=["a", "b"], xlim=[1, 5], yscale="log")
    animator.add(1, (2.0, None))
    animator.add(2, (torch.tensor(3.0), 0.5))
    animator.add((3, 4), (1, 0.25))
    assert drawn() == [([1, 2, 3], [2, 3, 1]), ([2, 4], [0.5, 0.25])]
    assert animator.X == [[1, 2, 3], [2, 4]]
    assert animator.Y == [[2, 3, 1], [0.5, 0.25]]
    (axes,) = animator.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("epoch", "loss", "log")
    assert axes.get_xlim() == (1, 5)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


def test_an_animator_of_one_line_draws_in_the_first_of_its_axes():
    animator = d2l.Animator(nrows=1, ncols=2, figsize=(5, 2))
    animator.add(1, 7)
    assert [len(axes.lines) for axes in animator.axes] == [1, 0]
    assert list(animator.fig.get_size_inches()) == [5, 2]
    assert (animator.X, animator.Y) == ([[1]], [[7]])
