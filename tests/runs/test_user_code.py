"""The user's own code in a run's key."""

import sys

import pytest
from composed import composed, job_of

from attnexp.config import build
from attnexp.core.errors import RequestError
from attnexp.runs.key import run_key
from attnexp.runs.user_code import changed_modules, user_code, warn_of_reads

SCORE = "import math\nfrom helper import twice\nfrom pack.inner import three\nclass Mine: pass\n"


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Writes modules into a folder on the import path, and returns the code of `scored.Mine`."""
    monkeypatch.syspath_prepend(tmp_path)
    config = {
        "seed": 0,
        "model": {"_target_": "scored.Mine"},
        "optim": {"_target_": "torch.optim.SGD"},
        "tracker": {"_target_": "tracked.Mine"},  # it decides no number
    }

    def write(**modules):
        for name, text in modules.items():
            path = tmp_path.joinpath(*name.split("__", 1)).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        code = user_code(config)
        return code, run_key(config, code)

    write(
        scored=SCORE,
        tracked="class Mine: pass\n",
        helper="def twice(x):\n    return 2 * x\n",
        pack____init__="",
        pack__inner="from . import deep\nfrom .deep import *\nthree = 3\n",
        pack__deep="raise SystemExit('this was run')\n",
    )
    return write


def test_modules_are_found_with_those_they_import_and_not_run(code):
    found, _ = code()
    assert list(found) == ["helper", "pack", "pack.deep", "pack.inner", "scored"]
    assert "scored" not in sys.modules


def test_installed_packages_and_attnexp_are_not_read(code):
    config = {"a": {"_target_": "attnexp.scores.dot.Dot"}, "b": {"_target_": "torch.nn.Linear"}}
    assert user_code(config) == {}
    assert "numpy" not in code(scored="import numpy, torch, os, nowhere\nclass Mine: pass\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        f"# a comment\n\n{SCORE}",
        SCORE.replace("class Mine: pass", "class Mine:\n    pass"),
        f'"""A docstring."""\n{SCORE}',
    ],
)
def test_comments_layout_and_docstrings_change_nothing(code, text):
    assert code(scored=text) == code(scored=SCORE)


@pytest.mark.parametrize("module", ["helper", "pack__deep", "scored"])
def test_an_edit_of_any_module_is_another_run(code, module):
    (before, key), (after, other) = code(), code(**{module: SCORE + "x = 2\n"})
    assert changed_modules(before, after) == [module.replace("__", ".")]
    assert key != other
    assert code(**{module: SCORE + "x = 3\n"})[1] not in (key, other)


def test_source_that_cannot_be_parsed_counts_with_its_bytes(code):
    assert code(helper="def (")[0] != code(helper="def ((")[0]


READS = """
from pathlib import Path
from attnexp.scores.dot import Dot
from other import WIDTH
class Mine(Dot):
    def compare(self, queries, keys):
        return super().compare(queries, keys) * float(Path("width.txt").read_text()) * WIDTH
"""


@pytest.mark.parametrize("more", [(), ("-m", "seed=0,1"), ("--dry-run",)])
def test_a_run_says_that_its_code_reads_what_its_key_does_not_cover(
    in_process, succeeds, tmp_path, more
):
    words = ("model=dot", "model._target_=reading.Mine", "train.max_epochs=1", "figures=false")
    (tmp_path / "reading.py").write_text(READS)
    (tmp_path / "other.py").write_text("import os\nWIDTH = len(os.environ)\n")
    (tmp_path / "width.txt").write_text("1")
    for width in (1, 2):  # the second time the numbers of the first are shown
        (tmp_path / "width.txt").write_text(str(width))
        answer = succeeds(*words, *more)
        (note,) = [line for line in answer.stderr.splitlines() if line.startswith("note:")]
        assert "other, line 2: os.environ; reading, line 7: pathlib.Path().read_text()" in note
        assert "leaves the key of a run as it is; rerun=true runs it again" in note
        assert "note: your code" not in answer.stdout
    (tmp_path / "reading.py").write_text("from attnexp.scores.dot import Dot as Mine\n")
    assert "your code" not in in_process(*words, *more).stderr


def test_a_note_names_the_first_places(code, capsys):
    text = SCORE + "".join(f"open('{number}')\n" for number in range(9))
    warn_of_reads(code(scored=text)[0])
    told = capsys.readouterr().err
    assert "(scored, line 5: open(); scored, line 6: open(); scored, line 7: open(); and 6" in told
    warn_of_reads(code(scored=SCORE)[0])
    assert capsys.readouterr().err == ""


def test_code_that_is_edited_after_composing_is_not_run(code):
    """What was computed with it would be stored under the key of the code before."""
    text = "from attnexp.scores.dot import Dot\nclass Mine(Dot):\n    pass\n"
    code(scored=text)
    job = job_of(composed("model=dot", "model._target_=scored.Mine"))
    assert list(job.place.code) == ["scored"]
    code(scored=text.replace("pass", "scale = 2"))
    with pytest.raises(RequestError, match="scored: the code was edited after the command began"):
        build.prepare(job)
