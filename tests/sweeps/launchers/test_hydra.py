"""The marker of an active sweep."""

from attnexp.sweeps.launchers.hydra import ActiveMarker


def test_a_marker_is_there_until_its_sweep_is_cancelled(tmp_path):
    active, other = ActiveMarker(tmp_path), ActiveMarker(tmp_path)
    active.create()
    other.create()
    active.remove()
    assert not active.path.exists()
    assert other.path.exists()
    other.remove()
    assert not (tmp_path / ".sweeps").exists()
    active.create()  # a sweep that was cancelled does not become active again
    assert not active.path.exists()
