"""Files of a configuration that several compositions of a process need."""

import pytest

from attnexp.core.errors import RequestError
from attnexp.sweeps.line import jobs_of


@pytest.fixture
def composed(tmp_path, monkeypatch):
    """Composes a run with a choice of one's own, and returns its settings of the model."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my_conf" / "model"
    folder.mkdir(parents=True)

    def settings(width):
        text = f"# My own.\n_target_: attnexp.scores.gaussian.Gaussian\nwidth: {width}\n"
        (folder / "mine.yaml").write_text(text)
        (job,) = jobs_of(["--config-dir", "my_conf", "model=mine", "data=sine"])
        return job.settings["model"]

    return settings


def test_a_file_that_has_changed_is_read_again(composed):
    assert composed(1.0)["width"] == 1.0
    assert composed(2.0)["width"] == 2.0


def test_what_one_composition_changes_no_other_sees(composed):
    composed(1.0)["width"] = 3.0
    assert composed(1.0)["width"] == 1.0


def test_a_file_that_cannot_be_read_is_refused_each_time(composed):
    composed(1.0)
    for _ in range(2):
        with pytest.raises(RequestError, match="levels inside each other"):
            composed("[" * 300 + "]" * 300)
    assert composed(1.0)["width"] == 1.0
