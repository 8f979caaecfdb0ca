"""The marker of an active sweep."""

import errno
import fcntl

from attnexp.sweeps.executors.hydra_launcher import ActiveMarker


def test_markers_of_sweeps_that_are_gone_are_removed(tmp_path):
    left_over, active, new = (ActiveMarker(tmp_path) for _ in range(3))
    left_over.path.mkdir(parents=True)
    active.create()
    assert not left_over.path.exists()
    new.create()
    assert active.path.exists()
    for marker in (active, new):
        assert marker.path.exists()
        marker.remove()
    assert not (tmp_path / ".sweeps").exists()
    new.create()  # a sweep that was cancelled does not become active again
    assert not new.path.exists()


def test_a_marker_needs_no_locks(tmp_path, monkeypatch):
    def refuse(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    marker = ActiveMarker(tmp_path)
    marker.create()
    assert marker.path.exists()
