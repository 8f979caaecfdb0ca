"""Secrets and values from the environment are in no file that a run writes about itself."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from attnexp.core.secrets import MASK
from attnexp.runs.redaction import is_secret, masked
from attnexp.runs.settings import leaves

pytestmark = pytest.mark.check

CANARY, TYPED = "canary-in-the-environment", "canary-on-the-line"

SCORE = """
from attnexp.scores.average import Average

class Secretive(Average):
    def __init__(self, query_dim, key_dim, note="", password="", number=0):
        super().__init__(query_dim, key_dim)
        assert note == "canary-in-the-environment", "not the value in the environment"
"""

WORDS = (
    *("--config-dir", "my_conf", "model=mine", "train.max_epochs=1", "figures=false"),
    *("model.note=${oc.env:CANARY}", f"model.password={TYPED}"),
)
REPEATABLE = WORDS[:-1]


@pytest.fixture
def home(own_choice, tmp_path, monkeypatch) -> Path:
    """A folder with a score whose settings hold secrets."""
    own_choice("model", "secretive.Secretive", SCORE, "note: ''\npassword: ''\nnumber: 0\n")
    monkeypatch.setenv("CANARY", CANARY)
    return tmp_path


def leaks(folder: Path) -> list[str]:
    """Return the files below a folder, or their names, that hold a secret, also in base64.

    The differences of the checkout may be in this file.
    """
    found = []
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() and path.name != "code.diff" else b""
        for secret in (CANARY, TYPED):
            plain = secret.encode()
            forms = [plain, *(base64.b64encode(b"x" * n + plain)[4:-4] for n in range(3))]
            if secret in path.name or any(form in content for form in forms):
                found.append(f"{path.relative_to(folder)}: {secret}")
    return found


def run_folder(home: Path) -> Path:
    (folder,) = (path.parent for path in home.glob("outputs/*/summary.json"))
    return folder


@pytest.mark.parametrize(
    ("tracker", "overrides"),
    [
        ("tensorboard", "${hydra.job.override_dirname}"),
        ("wandb", "${hydra.job.override_dirname}"),
        ("tensorboard", "${hydra_override_dirname:}"),
    ],
)
def test_a_run_records_no_secret(in_process, succeeds, home, tracker, overrides):
    pytest.importorskip(tracker, reason=f"{tracker} is not installed")
    named = f"hydra.run.dir=outputs/{overrides}"
    words = (*WORDS, f"tracker={tracker}", named)
    answer = succeeds(*words)
    assert leaks(home / "outputs") == []
    summary = json.loads((run_folder(home) / "summary.json").read_text())
    assert summary["config"]["model"]["note"] == "${oc.env:CANARY}"
    assert summary["config"]["model"]["password"] == MASK
    assert f"model.password={MASK}" in summary["command"]
    assert {f"model.password={MASK}", "model.note=${oc.env:CANARY}"} <= {*summary["overrides"]}
    assert summary["config_dir"] == str(home / "my_conf")
    assert not any(secret in answer.stdout + answer.stderr for secret in (CANARY, TYPED))
    assert "model.password is written as ***" in answer.stdout
    assert "finished before" in in_process(*words).stdout


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "more",
    [
        ["hydra/launcher=parallel", f"+hydra.job.env_set.MY_TOKEN={TYPED}", "model.number=1,2"],
        pytest.param(
            ["hydra/sweeper=tuned", f'hydra.sweeper.tune=["model.password={TYPED},{TYPED}-too"]'],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["parallel", "tuned"],
)
def test_a_sweep_records_no_secret(attnexp, home, more):
    answer = attnexp("-m", *(REPEATABLE if "tuned" in more[0] else WORDS), *more)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert leaks(home / "outputs") == []
    assert not any(secret in answer.stdout + answer.stderr for secret in (CANARY, TYPED))
    summaries = [json.loads(path.read_text()) for path in home.glob("outputs/*/summary.json")]
    assert len(summaries) >= 2
    assert all(each["command"].startswith("attnexp -m --config-dir my_conf") for each in summaries)


def test_a_launcher_that_would_write_a_secret_down_refuses_it(refused, home):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    assert "model.password is a secret, and this launcher writes settings" in refused(
        "-m", *WORDS, "hydra/launcher=submitit_local"
    )
    assert leaks(home / "outputs") == []


def test_a_run_is_repeated_with_the_same_environment_alone(
    in_process, succeeds, refused, home, monkeypatch
):
    number = "model.number='${oc.decode:${oc.env:NUMBER}}'"
    monkeypatch.setenv("NUMBER", "3")
    succeeds(*REPEATABLE, number)
    folder = run_folder(home)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["config"]["model"] == {
        "_target_": "secretive.Secretive",
        "note": "${oc.env:CANARY}",
        "password": "",
        "number": 3,
    }
    assert "bit-identical" in succeeds("verify", str(folder), "--config-dir", "my_conf").stdout
    monkeypatch.setenv("CANARY", "elsewhere")
    dry = succeeds("-m", "--dry-run", *REPEATABLE, number)
    assert " to do " in dry.stdout, "another value is another run"
    assert "CANARY in the environment has another value than for the run" in refused(
        "verify", str(folder), "--config-dir", "my_conf"
    )
    monkeypatch.delenv("CANARY")
    answer = in_process("verify", str(folder), "--config-dir", "my_conf")
    assert "needs CANARY in the environment, which is not set" in answer.stderr


def test_a_mask_is_not_taken_for_a_secret(succeeds, refused, home):
    """A record of settings, such as best.yaml, may be given as an experiment."""
    experiment = home / "my_conf" / "experiment" / "best.yaml"
    experiment.parent.mkdir()
    experiment.write_text("# @package _global_\n# The best.\nmodel: {password: '***'}\n")
    wanted = "model.password='${oc.env:NAME}', and set NAME in the environment\n"
    for given in (["experiment=best"], ["model.password=***"], ["-m", "experiment=best"]):
        said = refused(*REPEATABLE, *given)
        assert "model.password is '***', which is recorded in place of a secret" in said
        assert said.endswith(wanted)
    assert not (home / "outputs").exists()
    succeeds(*WORDS)
    assert "model.password was a secret, which a run folder does not store" in refused(
        "verify", str(run_folder(home)), "--config-dir", "my_conf"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("password", "api_key", "apiKey", "HF_TOKEN", "a.b.secret_key")),
        *((name, True) for name in ("token", "credentials", "aws_access_key_id")),
        *((name, True) for name in ("key", "auth", "pwd", "pat", "bearer", "a.key")),
        *((name, True) for name in ("license_key", "aws_key", "licenseKey", "Authorization")),
        *((name, True) for name in ("credentials.user", "secrets.openai", "api_key.prod")),
        *((name, True) for name in ("auth.openai", "auth[0]", "+pwd", "db/password", "x.pwd.y")),
        *((name, True) for name in ("pass", "db_pass", "DB_PASS", "dbPass", "creds", "my_creds")),
        *((name, True) for name in ("pwds", "passwords", "api_tokens", "creds.user")),
        *((name, False) for name in ("passes", "pass_through", "num_pass", "bypass", "low_pass")),
        *((name, False) for name in ("key.size", "model.key.dim", "query_key.a", "auth._target_")),
        *((name, False) for name in ("key_size", "keys", "num_keys", "tokens", "monkey")),
        *((name, False) for name in ("author", "query_key", "path", "patience", "keypad", "pwdx")),
        *((name, False) for name in ("pad_token", "tokenizer", "num_tokens", "key_dim", "model")),
    ],
)
def test_names_of_secrets(name, expected):
    assert is_secret(name) is expected


def test_values_that_refer_or_switch_stay():
    settings = {"password": "${oc.env:PW}", "token": None, "secret": True, "api_key": 12345}
    assert masked(settings) == settings | {"api_key": MASK}
    assert masked({"credentials": {"user": "me"}}) == {"credentials": {"user": MASK}}


def test_a_flat_name_is_masked_as_a_nested_one():
    for group in ("credentials", "secrets", "api_key", "auth", "db_pass", "tokens", "key"):
        for value in ("me", 3):
            ((_, nested),) = masked({group: {"of": value}})[group].items()
            assert masked({f"{group}.of": value}) == {f"{group}.of": nested}


@pytest.mark.parametrize("name", ["pwds", "passwords", "api_tokens", "tokens", "num_tokens"])
def test_numbers_under_a_plural_are_counts(name):
    for counts in (3, 2.5, [1, 2], "1,2"):
        assert masked({name: counts}) == {name: counts}


@pytest.mark.parametrize("name", ["pwds", "passwords", "db_pwds", "api_tokens"])
def test_text_under_a_plural_is_secret(name):
    assert masked({name: ["1234", "sesame"]}) == {name: [MASK, MASK]}
    assert masked({name: "sesame"}) == {name: MASK}
    assert masked({"password": 3}) == {"password": MASK}


SHIPPED = sorted((Path(__file__).parents[2] / "conf").rglob("*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_no_shipped_setting_is_a_secret(file):
    """Neither nested, nor by its dotted name, nor as a word of a command line."""
    own: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    for plain in own, {file.parent.name: own}:
        assert masked(plain) == plain
        for name, value in leaves(plain):
            assert not is_secret(name, value)
            assert masked({name: value}) == {name: value}
            words = [f"{name}={value}", f"x={{{name}: {value}}}", f"{name}: {value}"]
            assert masked(words) == words


def test_sizes_under_the_name_key_are_no_secrets():
    sizes = {"key": 64, "query": {"key": {"size": 3}}, "arch": {"key": [8, 8]}}
    assert masked(sizes) == sizes
    assert masked(["model.key=64", "model.key=1,2"]) == ["model.key=64", "model.key=1,2"]
    assert masked({"key": "sk-64-abc", "aws_key": 64}) == {"key": MASK, "aws_key": MASK}


@pytest.mark.parametrize("when", ["begin", "end"])
def test_a_secret_told_by_a_tracker_is_masked(in_process, own_choice, tmp_path, monkeypatch, when):
    """Its message is in the summary, in the log, and on the screen."""
    own_choice(
        "tracker",
        "telling.Telling",
        TRACKER,
        "key: ''\npat: from-the-yaml-4\nurl: ''\nvariable: ''\n",
    )
    monkeypatch.setenv("CANARY_TOKEN", CANARY)
    answer = in_process(
        *("--config-dir", "my_conf", "model=dot", "train.max_epochs=1", "figures=false"),
        *("tracker=mine", "tracker.key=typed-key-1", f"+tracker.when={when}"),
        *("tracker.url='https://me:p@ss-2@host/a?b=c'", "tracker.variable=${oc.env:CANARY_TOKEN}"),
    )
    said = answer.stdout + answer.stderr
    summary = (run_folder(tmp_path) / "summary.json").read_text()
    log = (run_folder(tmp_path) / "attnexp.log").read_text()
    assert "refused ***" in log
    assert "refused ***" in said
    assert ("refused ***" in summary) is (when == "begin")
    for secret in ("typed-key-1", "ss-2", CANARY, "from-the-yaml-4"):
        assert secret not in said + summary + log
    assert "https://me:***@host/a?b=c" in json.loads(summary)["command"]


@pytest.mark.slow
@pytest.mark.parametrize("many", [[], ["-m"], ["-m", "batched=true"]], ids=" ".join)
def test_a_secret_in_a_warning_is_masked(attnexp, own_choice, tmp_path, many):
    own_choice("model", "warning.Warning", WARNING, "password: ''\n")
    words = ("--config-dir", "my_conf", "model=mine", "train.max_epochs=1", "figures=false")
    answer = attnexp(*many, *words, f"model.password={TYPED}")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    log = (run_folder(tmp_path) / "attnexp.log").read_text()
    assert f"warned of {MASK} when built" in (log if many else answer.stderr)
    assert f"warned of {MASK} when used" in (log if many else answer.stderr)
    assert TYPED not in log + answer.stdout + answer.stderr


WARNING = """
import warnings

from attnexp.scores.average import Average

warnings.simplefilter("always", UserWarning)

class Warning(Average):
    def __init__(self, query_dim, key_dim, password):
        super().__init__(query_dim, key_dim)
        warnings.warn(f"warned of {password} when built", stacklevel=1)
        self.password = password

    def compare(self, *tensors):
        warnings.warn(f"warned of {self.password} when used", stacklevel=1)
        return super().compare(*tensors)
"""


TRACKER = """
from attnexp.trackers.base import Tracker

class Telling(Tracker):
    def __init__(self, key, pat, url, variable, when):
        self.told = f"refused {key} {pat} {url} {variable}"
        self.when = when

    def begin(self, folder, summary):
        if self.when == "begin":
            raise RuntimeError(self.told)

    def end(self, folder, summary):
        if self.when == "end":
            raise RuntimeError(self.told)
"""


SECRETS = ("yaml-secret", TYPED, "pw5", "typed-user")


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "flags",
    [["--cfg", "job"], ["--cfg", "all", "--resolve"], ["--info", "config"]],
    ids=" ".join,
)
def test_a_configuration_that_is_printed_has_no_secret(attnexp, home, monkeypatch, flags):
    monkeypatch.setenv("SHORT", "pw5")
    choice = home / "my_conf" / "model" / "mine.yaml"
    choice.write_text(choice.read_text().replace("password: ''", "password: yaml-secret"))
    more = (
        "+model.creds={user: typed-user, of: '${oc.env:SHORT}'}",
        "+model.pwds=['${oc.env:SHORT}']",
    )
    words = (*REPEATABLE, "+model.auth=${oc.env:SHORT}", f"+model.pat={TYPED}", *more)
    shown = attnexp(*flags, *words)
    assert shown.returncode == 0, shown.stderr
    assert f"password: '{MASK}'" in shown.stdout
    assert f"pat: '{MASK}'" in shown.stdout
    assert not any(secret in shown.stdout for secret in SECRETS)


ORDINARY = (
    "https://auth.example.com:443/x",
    "auth.example.com:443",
    "redis://secret-host:80/1",
    "outputs/auth/lr=0.1,seed=2",
    "x={key: 64, y: {key: [3, 4]}, pwds: [1, 2]}",
    "login --no-token x --key 64",
    "the bearer of bad news is here",
    "Authorization: Bearer ${oc.env:TOKEN}",
    "x={password: ${oc.env:PW}, b: 1}",
    "a: b, tokens: 5",
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("data.url=https://me:sesame@host/x", f"data.url=https://me:{MASK}@host/x"),
        ("data.url='db://:open@host'", f"data.url='db://:{MASK}@host'"),
        ("x=me:sesame@host", f"x=me:{MASK}@host"),
        ("x=ssh://git@host:22/a", "x=ssh://git@host:22/a"),
        ("x=https://me:${oc.env:PW}@host", "x=https://me:${oc.env:PW}@host"),
        ("+tracker.password=open sesame", f"+tracker.password={MASK}"),
        ("tracker.password=${oc.env:PW}", "tracker.password=${oc.env:PW}"),
        ("tracker.api_key=choice(rosebud,open sesame)", f"tracker.api_key={MASK}"),
        (
            'hydra.sweeper.tune=["model.password=a,b"]',
            f'hydra.sweeper.tune=["model.password={MASK}"]',
        ),
        ("tracker={password: a, name: b}", f"tracker={{password: {MASK}, name: b}}"),
        ("Authorization: Bearer eyJ.a", f"Authorization: Bearer {MASK}"),
        ("curl -H 'Authorization: Basic YTpi' h", f"curl -H 'Authorization: Basic {MASK}' h"),
        ("authorization: Token sk-1 next", f"authorization: Token {MASK} next"),
        ('Authorization: Digest a="b c", d="e" next', f"Authorization: Digest {MASK} next"),
        ("header: Bearer eyJhbGciOiJIUzI1", f"header: Bearer {MASK}"),
        ("https://h/x?b=1&api_key=sk-1&c=2", f"https://h/x?b=1&api_key={MASK}&c=2"),
        ('{"b": 1, "api_key": "sk 1"}', f'{{"b": 1, "api_key": "{MASK}"}}'),
        (r"{\"api_key\": \"sk-1\", \"b\": 1}", rf"{{\"api_key\": \"{MASK}\", \"b\": 1}}"),
        (r"{'password': 'it\'s', 'b': 1}", f"{{'password': '{MASK}', 'b': 1}}"),
        ("Server=x;Password=p q;User=y", f"Server=x;Password={MASK};User=y"),
        ('password: "two words"', f'password: "{MASK}"'),
        ("password: two words", f"password: {MASK}"),
        ("password = x", f"password = {MASK}"),
        ("x={api_keys: [a, b], name: c}", f"x={{api_keys: {MASK}, name: c}}"),
        ("login --token x --name y", f"login --token {MASK} --name y"),
        ("['--api-key','x','--n','3']", f"['--api-key','{MASK}','--n','3']"),
        ("db.password:12345", f"db.password:{MASK}"),
        *((text, text) for text in ORDINARY),
        ("model=dot", "model=dot"),
    ],
)
def test_a_secret_in_a_word_is_masked(word, expected):
    assert masked([word]) == [expected]
    assert masked(masked([word])) == [expected]


def test_the_word_after_a_flag_of_secrets_is_masked():
    words = ["attnexp", "--api-key", "two words", "--n", "3", "--key", "64", "--token", "--b", "c"]
    assert masked(words) == [*words[:2], MASK, *words[3:]]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a=", "--a ", "-", "token=", "; ", "'", "token=[", "token='a"])
def test_long_text_is_looked_through_once(piece):
    """Ten times the text takes about ten times as long, and not a hundred times."""
    start = time.process_time()
    masked(piece * 20_000)
    assert time.process_time() - start < 5


def test_the_working_directory_is_not_a_password(in_process, monkeypatch, tmp_path):
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.setenv("DB_PWD", "sesame-and-more")
    words = ("model=average", "figures=false", "output_dir=${oc.env:PWD}/there/${oc.env:DB_PWD}")
    done = in_process(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "there" / "sesame-and-more").is_dir()
    from attnexp.core.secrets import redacted

    assert redacted(str(tmp_path)) == str(tmp_path)
    assert "sesame" not in redacted("of sesame-and-more")
