"""What a run says of the code and the machine that it comes from."""

import os
import subprocess

import pytest

from attnexp.runs import files
from attnexp.runs.origin import provenance
from attnexp.runs.origin.provenance import GitState


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one commit, in which this process works; it is asked anew after each call."""
    monkeypatch.chdir(tmp_path)
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)

    def git(*arguments):
        own = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(("git", *own, *arguments), check=True, capture_output=True)
        provenance.code.cache_clear()

    (tmp_path / "mine.py").write_text("width = 1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "First")
    yield git
    provenance.code.cache_clear()


def test_a_clean_checkout_has_a_commit_and_at_most_untracked_files(checkout, tmp_path):
    working, own = provenance.code()
    assert len(working.state.commit) == 40
    assert (working.state.dirty, working.state.diff, working.differences) == (False, None, "")
    assert own is None or own.folder != working.folder
    (tmp_path / "new.py").write_text("unknown to git")
    provenance.code.cache_clear()
    working, _ = provenance.code()
    assert (working.state.dirty, working.differences) == (False, "# untracked: new.py\n")


def test_no_monitor_of_a_checkout_is_started(checkout, tmp_path):
    (tmp_path / "monitor").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "monitor").chmod(0o755)
    checkout("config", "core.fsmonitor", str(tmp_path / "monitor"))
    assert provenance.code()[0] is not None
    assert not (tmp_path / "started").exists()
    checkout("status")
    assert (tmp_path / "started").exists()


def test_changes_are_in_the_differences_and_others_named(checkout, tmp_path):
    (tmp_path / "blob").write_bytes(bytes(range(256)))
    checkout("add", ".")
    checkout("commit", "-qm", "Second")
    (tmp_path / "mine.py").write_text("width = 2\nheight = 3\n")
    (tmp_path / "blob").write_bytes(bytes(range(255)))
    (tmp_path / "new.py").write_text("unknown to git")
    (working, _), text = provenance.code(), provenance.differences()
    assert working.state.dirty
    assert len(working.state.diff or "") == 10
    assert "-width = 1\n+width = 2\n+height = 3" in text
    assert "Binary files a/blob and b/blob differ" in text
    assert "# untracked: new.py" in text
    assert "unknown to git" not in working.differences


def test_a_run_keeps_its_differences_and_show_tells_its_origin(
    checkout, in_process, succeeds, tmp_path
):
    (tmp_path / "mine.py").write_text("width = 2\n")
    succeeds("model=average", "figures=false")
    (folder,) = (tmp_path / "outputs").iterdir()
    assert "+width = 2" in (folder / files.DIFF).read_text()
    shown = in_process("show", str(folder)).stdout
    assert "command: attnexp model=average figures=false\n" in shown
    assert ", as in code.diff\n" in shown
    assert f"machine: {os.uname().nodename}" in shown
    (tmp_path / "mine.py").write_text("width = 3\n")
    provenance.code.cache_clear()
    verified = " ".join(in_process("verify", str(folder)).stdout.split())
    assert "the checkout of the working directory was commit" in verified
    assert "bit-identical" in verified


def test_states_are_told_apart_in_words():
    assert str(GitState("a" * 40, dirty=False)) == "commit aaaaaaaaaa"
    assert str(GitState("a" * 40, True, "12")) == "commit aaaaaaaaaa with changes 12"
