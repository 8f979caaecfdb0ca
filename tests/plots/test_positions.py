import numpy as np
import pytest

from attnexp.plots.base import Options
from attnexp.plots.positions import draw_encodings, sinusoids
from attnexp.runs import files
from attnexp.runs.folder import load_run


def figures_of(folder):
    return dict(draw_encodings(load_run(folder), Options()))


def of_arch(**settings):
    """What a run has whose architecture has these settings, its positions among them."""
    positions = {name: settings.pop(name) for name in ["positions"] if name in settings}
    return {
        "choices": positions,
        "settings": {f"arch.{name}": value for name, value in settings.items()},
    }


def test_sinusoids_are_those_of_the_model():
    import torch

    from attnexp.architectures.positions.sinusoidal import Sinusoidal

    added = Sinusoidal(10, 1, 1).add(torch.zeros(1, 7, 10), torch.arange(7))[0]
    np.testing.assert_allclose(sinusoids(7, 10), added.numpy(), atol=1e-6)


def test_sinusoidal_positions_are_drawn_from_the_settings(sequence_run):
    figures = figures_of(sequence_run(**of_arch(positions="sinusoidal", dim=32)))
    assert list(figures) == ["encoding"]
    heat, curves, _ = figures["encoding"].axes
    np.testing.assert_array_equal(heat.images[0].get_array(), sinusoids(60, 32))
    assert [line.get_label() for line in curves.lines] == [f"dimension {i}" for i in (6, 7, 8, 9)]
    np.testing.assert_array_equal(curves.lines[0].get_ydata(), sinusoids(60, 32)[:, 6])


@pytest.mark.parametrize("sides", [("source_", "target_"), ("",)])
def test_learned_positions_are_drawn_from_the_parameters(sequence_run, sides):
    folder = sequence_run(**of_arch(positions="learned", dim=3))
    tables = {
        f"{side}positions.table.weight": np.random.default_rng(i).normal(size=(5 + i, 3))
        for i, side in enumerate(sides)
    }
    tables["embed.weight"] = np.zeros((9, 3))
    files.write_tensors(folder / files.MODEL, tables, {})
    figures = figures_of(folder)
    assert list(figures) == ["_".join(filter(None, ["encoding", s[:-1]])) for s in sides]
    for figure, table in zip(figures.values(), tables.values(), strict=False):
        heat, curves, _ = figure.axes
        np.testing.assert_array_equal(heat.images[0].get_array(), table)
        assert len(curves.lines) == 3


@pytest.mark.parametrize("settings", [{}, {"positions": "rotary", "dim": 32}])
def test_what_adds_no_vectors_has_no_picture(sequence_run, settings):
    assert figures_of(sequence_run(**of_arch(**settings))) == {}
