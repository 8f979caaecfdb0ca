import hashlib
import os

import pytest

from attnexp.runs.sources import SourceError, digest, read_source

CONTENT = b"a,b\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "points.csv"
    place.write_bytes(CONTENT)
    return place


def test_the_digest_is_that_of_the_content_at_this_moment(path):
    assert digest(None) is None
    assert digest(str(path)) == SHA256
    path.write_bytes(CONTENT * 2)
    assert digest(str(path)) == hashlib.sha256(CONTENT * 2).hexdigest() != SHA256


def test_the_content_is_read_by_its_digest_alone(path):
    assert read_source(str(path), SHA256) == CONTENT
    path.write_bytes(b"other")
    with pytest.raises(SourceError) as raised:
        read_source(str(path), SHA256)
    assert str(raised.value) == (
        f"{path} is not the file that was asked for: the SHA-256 of its content begins with "
        f"d9298a10d1b0, and the setting with {SHA256[:12]}"
    )


@pytest.mark.parametrize("use", [digest, lambda path: read_source(path, SHA256)])
def test_what_is_not_a_file_of_data_is_refused_in_a_sentence(use, path, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for name, sentence in {
        "point.csv": f"there is no file {tmp_path}/point.csv. Did you mean 'points.csv'?",
        "else/where.csv": f"there is no file {tmp_path}/else/where.csv",
        "pipe": f"{tmp_path}/pipe is not a file",
        ".": f"{tmp_path}/. is not a file",
    }.items():
        with pytest.raises(SourceError) as raised:
            use(f"{tmp_path}/{name}")
        assert str(raised.value) == sentence
    with pytest.raises(SourceError, match=r"cannot be read: embedded null byte$"):
        use("a\0b")


def test_a_file_that_a_package_ships_is_named_without_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = "attnexp:english_french.tsv"
    assert read_source(named, str(digest(named))).startswith(b"I am cold.\tJ'ai froid.")
    with pytest.raises(SourceError, match=r"^there is no file attnexp:none\.tsv$"):
        digest("attnexp:none.tsv")
    with pytest.raises(SourceError, match=r"^there is no file attnexp:\.\./base\.py$"):
        digest("attnexp:../base.py")
    with pytest.raises(SourceError, match=r"^there is no file torch:version\.py$"):
        digest("torch:version.py")
