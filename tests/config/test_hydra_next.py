"""The next version of Hydra has no warnings for us: `make test-hydra-next` installs it."""

import pytest
from imported import python

from attnexp.config.hydra_internals import BEFORE_1_4

pytestmark = pytest.mark.skipif(BEFORE_1_4, reason="Hydra 1.4 is not installed")

SHORT = ("model=gaussian", "figures=false")


@pytest.mark.parametrize(
    "words",
    [
        SHORT,
        ("-m", *SHORT, "hydra/launcher=parallel", "seed=0,1"),
        ("-m", *SHORT, "hydra/launcher=joblib", "seed=0"),
        ("-m", "hydra/sweeper=tuned", "--dry-run", "model=gaussian_learned"),
        ("--cfg", "job"),
        ("attend", "example=additive"),
    ],
    ids=["run", "parallel", "joblib", "tuned", "--cfg", "attend"],
)
def test_no_warning_is_printed(words, tmp_path):
    answer = python("-W", "default", "-m", "attnexp", *words, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "Warning" not in answer.stdout + answer.stderr
