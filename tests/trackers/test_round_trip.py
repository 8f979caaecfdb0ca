"""A run that a tracker recorded and that is imported again is the run that it was."""

from importlib.util import find_spec

import pytest
from imported import python


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.parametrize(
    ("tracker", "place"),
    [("tensorboard", "outputs"), ("wandb", "outputs"), ("trackio", "databases/attnexp.db")],
)
def test_a_run_that_is_imported_again_is_the_same(tracker, place, succeeds, tmp_path):
    if find_spec(tracker) is None:
        pytest.skip(f"{tracker} is not installed")
    from attnexp.runs.folder import load_run

    words = [
        "model=gaussian_learned",
        "train.max_epochs=3",
        "model.check_width=false",
        f"tracker={tracker}",
        "figures=false",
    ]
    done = python(
        *["-m", "attnexp", *words, "model.initial_width=0.25"],
        cwd=tmp_path,
        TRACKIO_DIR=str(tmp_path / "databases"),
    )
    assert done.returncode == 0, done.stderr
    said = succeeds("import", tracker, place).stdout
    assert "test_mse: lower is better (by its name; --better says otherwise); it ranks\n" in said
    (folder,), (other,) = ((tmp_path / name).glob("*-seed0-*") for name in ("outputs", "imported"))
    before, after = load_run(folder), load_run(other)
    assert dict(after.choices) == dict(before.choices)
    known = {name: value for name, value in before.settings.items() if value is not None}
    assert known == {name: after.settings.get(name) for name in known}
    assert after.seed == before.seed
    assert after.summary.primary == before.summary.primary == "test_mse"
    measured = {name: value for name, value in before.metrics.items() if name != "steps"}
    assert after.metrics == pytest.approx(measured, rel=1e-6)
    assert set(before.summary.better.items()) <= set(after.summary.better.items())
    for name in ("epoch", "loss"):
        assert after.epochs[name] == pytest.approx(before.epochs[name], rel=1e-6)
