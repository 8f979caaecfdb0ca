"""The source of the book's package, which needs old packages and is not imported."""

import zipfile

import pytest
from imported import python


@pytest.fixture(scope="session")
def book_source(tmp_path_factory):
    """The text of `d2l/torch.py` of release 1.0.3."""
    folder = tmp_path_factory.mktemp("d2l")
    done = python("-m", "pip", "download", "-q", "--no-deps", "d2l==1.0.3", "-d", folder)
    if done.returncode:
        pytest.skip(f"d2l 1.0.3 cannot be downloaded: {done.stderr.strip()[-200:]}")
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).read("d2l/torch.py").decode()
