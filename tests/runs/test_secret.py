"""A secret is refused before anything is written, and one from the environment is in no file."""

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from attnexp.core.errors import RequestError
from attnexp.runs.secret import is_secret, require_no_secret, require_no_secret_typed
from attnexp.runs.settings import leaves

CANARY, TYPED = "canary-in-the-environment", "canary-on-the-line"

SCORE = """
from attnexp.scores.average import Average

class Secretive(Average):
    def __init__(self, query_dim, key_dim, note="", password="", number=0, url=""):
        super().__init__(query_dim, key_dim)
        assert note in ("", "canary-in-the-environment"), "not the value in the environment"
"""

WORDS = (
    *("--config-dir", "my_conf", "model=mine", "train.max_epochs=1", "figures=false"),
    "model.password=${oc.env:CANARY}",
)


@pytest.fixture
def home(own_choice, tmp_path, monkeypatch) -> Path:
    """A folder with a score whose settings hold secrets."""
    settings = "note: ''\npassword: ''\nnumber: 0\nurl: ''\n"
    own_choice("model", "secretive.Secretive", SCORE, settings)
    monkeypatch.setenv("CANARY", CANARY)
    return tmp_path


NAMES = {
    True: (
        *("password", "db_password", "passwd", "api_key", "apikey", "WANDB_API_KEY", "a.b.secret"),
        *("client_secret", "aws.access_key", "private-key", "auth_token", "access_token", "token"),
        *("credentials", "aws_credentials", "tracker.token", "MY_SECRET"),
    ),
    False: (
        *("pad_token", "bos_token", "mask_token", "num_tokens", "max_tokens", "key_size", "key"),
        *("keys", "query_key", "author", "passes", "low_pass", "tokenizer", "model.key.dim"),
        *("token.of", "secretary", "path"),
    ),
}


@pytest.mark.parametrize("expected", NAMES)
def test_names_of_secrets(expected):
    assert [name for name in NAMES[expected] if is_secret(name) is not expected] == []


HARMLESS: list[dict[str, Any]] = [
    {"password": "${oc.env:PW}", "token": None, "secret": True, "api_key": 12345},
    {"api_key": ""},
    {"url": "https://me@host/x", "other": "ssh://git@host:22/a", "third": "https://host:443/x"},
    {"url": "https://me:${oc.env:PW}@host", "port": "https://host:8080/a@b"},
    {"password": "${oc.decode:${oc.env:PW}}", "token": "${model.token}"},
    {"credentials": {"_target_": "mine.Credentials", "of": "${oc.env:A}"}},
]


@pytest.mark.parametrize("settings", HARMLESS)
def test_what_refers_or_switches_is_none(settings):
    require_no_secret(settings)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"tracker": {"api_key": "abc"}}, "tracker.api_key is a secret"),
        ({"model": {"of": {"password": "x"}}}, "model.of.password is a secret"),
        ({"credentials": {"user": "me"}}, "credentials.user is a secret"),
        ({"tokens": [{"token": "x"}]}, "tokens.token is a secret"),
        ({"passwd": ["x"]}, "passwd is a secret"),
        ({"data": {"url": "https://me:x@host"}}, "data.url is an address with a password"),
        ({"a": ["redis://:x@host"]}, "a is an address with a password"),
        ({"a": "postgresql://me:x/y@host/db"}, "a is an address with a password"),
        ({"a": "https://me:${oc.env:NO,x}@host"}, "a is an address with a password"),
        ({"password": "${oc.env:NO,x}"}, "password is a secret"),
        ({"password": "x${oc.env:HOME}"}, "password is a secret"),
        ({"password": "${oc.decode:x}"}, "password is a secret"),
    ],
)
def test_text_under_such_a_name_and_passwords_of_addresses_are_named(settings, named):
    with pytest.raises(RequestError, match=f"^{named}, and a run writes .*oc.env:VARIABLE"):
        require_no_secret(settings)


@pytest.mark.parametrize(
    "word",
    [
        "tracker.api_key=abc",
        "+tracker.api_key='abc'",
        "++hydra.job.env_set.WANDB_API_KEY=abc",
        "tracker.api_key=abc,def",
        "hydra.sweeper.storage=postgres://me:x@host/a",
    ],
)
def test_a_word_of_a_command_line_is_looked_at(word):
    with pytest.raises(RequestError, match="and a run writes its settings down"):
        require_no_secret_typed(["model=dot", word])
    require_no_secret_typed([word.partition("=")[0] + "=${oc.env:NAME}"])


def test_no_shipped_setting_is_a_secret():
    for file in (Path(__file__).parents[2] / "conf").rglob("*.yaml"):
        own: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
        require_no_secret(own)
        assert [name for name, _ in leaves(own) if is_secret(name)] == []


def yaml_of_ones_own(home: Path, text: str) -> None:
    folder = home / "my_conf" / "experiment"
    folder.mkdir(exist_ok=True)
    (folder / "best.yaml").write_text(f"# @package _global_\n# The best.\n{text}\n")


@pytest.mark.parametrize(
    ("given", "yaml"),
    [
        ([f"model.password={TYPED}"], ""),
        ([f"+model={{password: {TYPED}}}"], ""),
        (["-m", f"model.password={TYPED},b"], ""),
        (["tracker=wandb", f"+tracker.api_key={TYPED}"], ""),
        ([f"+hydra.job.env_set.MY_SECRET={TYPED}"], ""),
        ([f"model.url=https://me:{TYPED}@host/a"], ""),
        (["experiment=best"], f"model: {{password: {TYPED}}}"),
        (["experiment=best"], f"hydra: {{job: {{env_set: {{A_TOKEN: a, API_KEY: {TYPED}}}}}}}"),
        (["-m", "experiment=best", "seed=0,1"], f"model: {{url: 'db://a:{TYPED}@host'}}"),
    ],
)
def test_a_secret_is_refused_before_anything_is_written(refused, home, given, yaml):
    yaml_of_ones_own(home, yaml)
    said = refused(*WORDS[:-1], *given)
    assert "and a run writes its settings down: " in said
    in_command = "set the variable in the environment of the command" in said
    assert in_command or "='${oc.env:VARIABLE}', and set VARIABLE in the environment" in said
    assert not (home / "outputs").exists()


def leaks(folder: Path) -> list[str]:
    """The files below a folder that hold a secret, but for those with the text of code."""
    of_code = ("code.diff", "own_code.json")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in of_code]
    return [str(path) for path in files if CANARY.encode() in path.read_bytes()]


@pytest.mark.check
@pytest.mark.parametrize("more", [["tracker=wandb"], ["-m", "model.number=1,2"]], ids=" ".join)
def test_a_value_of_the_environment_is_in_no_file(succeeds, home, more):
    if "tracker=wandb" in more:
        pytest.importorskip("wandb", reason="wandb is not installed")
    answer = succeeds(*WORDS, "hydra.run.dir=outputs/${hydra.job.override_dirname}", *more)
    assert leaks(home / "outputs") == []
    assert CANARY not in answer.stdout + answer.stderr
    summaries = [json.loads(path.read_text()) for path in home.glob("outputs/*/summary.json")]
    assert summaries
    for summary in summaries:
        assert summary["config"]["model"]["password"] == "${oc.env:CANARY}"
        assert "model.password=${oc.env:CANARY}" in summary["overrides"]


def test_a_run_is_repeated_with_the_same_environment_alone(
    in_process, succeeds, refused, home, monkeypatch
):
    number = "model.number='${oc.decode:${oc.env:NUMBER}}'"
    monkeypatch.setenv("NUMBER", "3")
    words = (*WORDS, "model.note=${oc.env:CANARY}", number)
    succeeds(*words)
    (folder,) = (path.parent for path in home.glob("outputs/*/summary.json"))
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["config"]["model"] == {
        "_target_": "secretive.Secretive",
        "note": "${oc.env:CANARY}",
        "password": "${oc.env:CANARY}",
        "number": 3,
        "url": "",
    }
    assert "bit-identical" in succeeds("verify", str(folder), "--config-dir", "my_conf").stdout
    monkeypatch.setenv("CANARY", "elsewhere")
    dry = refused("-m", "--dry-run", *words)
    assert "not the value in the environment" in dry, "another value is another run"
    assert "CANARY in the environment has another value than for the run" in refused(
        "verify", str(folder), "--config-dir", "my_conf"
    )
    monkeypatch.delenv("CANARY")
    answer = in_process("verify", str(folder), "--config-dir", "my_conf")
    assert "needs CANARY in the environment, which is not set" in answer.stderr


def test_the_mask_of_an_earlier_version_is_not_taken_for_a_secret(succeeds, refused, home):
    yaml_of_ones_own(home, "model: {note: '***'}")
    for given in (["experiment=best"], ["model.note=***"], ["-m", "experiment=best"]):
        said = refused(*WORDS, *given)
        assert "model.note is '***', which is recorded in place of a secret" in said
    assert not (home / "outputs").exists()
    succeeds(*WORDS)
    (path,) = home.glob("outputs/*/summary.json")
    path.write_text(path.read_text().replace('"password": "${oc.env:CANARY}"', '"password": "***"'))
    assert "model.password was a secret, which a run folder does not store" in refused(
        "verify", str(path.parent), "--config-dir", "my_conf"
    )
