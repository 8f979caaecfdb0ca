"""A secret that a process has learned is in no text that it writes."""

import pytest

from attnexp.core import secrets
from attnexp.runs.redaction import masked


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch):
    monkeypatch.setattr(secrets, "_known", {})


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        ("hunter2", "refused hunter2!", "refused ***!"),
        ("hunter2", "the hunter22 stays", "the hunter22 stays"),
        ("s3cret-of-mine", "a_s3cret-of-mine_b", "a_***_b"),
        ("a/b c+d=", "?k=a%2Fb%20c%2Bd%3D", "?k=***"),
        ("it's \\ mine", repr("it's \\ mine"), '"***"'),
        ("one-line\ntwo-lines", "at two-lines", "at ***"),
        *((each, f"it is {each}", f"it is {each}") for each in ("", "1", "ab", "true", "auto")),
    ],
)
def test_a_learned_secret_is_replaced(secret, text, expected):
    secrets.learn(secret)
    assert secrets.redacted(text) == expected


def test_the_longest_of_several_secrets_is_replaced_whole():
    for secret in ("opensesame", "opensesame-too"):
        secrets.learn(secret)
    assert secrets.redacted("opensesame-too, opensesame") == "***, ***"


def test_a_password_in_a_setting_is_learned_and_one_in_other_text_is_not():
    """A document that explains `user:password@host` must not hide the word from then on."""
    assert secrets.redacted("at db://me:sesame-2@host") == "at db://me:***@host"
    assert secrets.redacted("sesame-2 is a word") == "sesame-2 is a word"
    assert secrets.without_learned("at user:password@host") == "at user:password@host"
    assert masked(["data.url=db://me:sesame-2@host"]) == ["data.url=db://me:***@host"]
    assert secrets.without_learned("sesame-2 is wrong") == "*** is wrong"


def test_what_is_masked_already_is_not_learned():
    masked(["run.dir=model.password=***,model=mine", "url=db://me:***@host"])
    assert secrets.redacted("***,model=mine at ***@host") == "***,model=mine at ***@host"
    assert not secrets._known
