import json

from attnexp.plots import catalogue
from attnexp.plots.base import Picture


def test_a_picture_that_fails_leaves_a_finished_run_with_a_note(succeeds, monkeypatch, tmp_path):
    def fail(run, options):
        raise ValueError("weights have 3 dimensions")
        yield

    monkeypatch.setattr(catalogue, "PICTURES", (Picture("odd", "there is none", fail),))
    answer = succeeds("model=average")
    (folder,) = (tmp_path / "outputs").glob("average-*")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["status"] == "finished"
    note = (
        "the pictures could not be drawn (no odd: ValueError: weights have 3 dimensions); "
        "attnexp plot draws them again"
    )
    assert note in summary["notes"]
    assert "Traceback" not in answer.stdout + answer.stderr
    log = (folder / "attnexp.log").read_text()
    assert "Traceback" in log
    assert "weights have 3 dimensions" in log
