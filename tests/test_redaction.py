"""Secrets and values from the environment are in no file that a run leaves."""

import base64
import json
from pathlib import Path

import pytest

from attnexp import redaction
from attnexp.redaction import MASK, is_secret, recorded, redacted, remember_words

CANARY, TYPED, KEY = "canary-in-the-environment", "canary-on-the-line", "ghp_canary4567890abcdefgh"

SCORE = """
from attnexp.scores.average import Average

class Telling(Average):
    def __init__(self, query_dim, key_dim, note="", password="", address="", fails=False):
        super().__init__(query_dim, key_dim)
        self.told, self.fails = (note, password, address), fails

    def compare(self, queries, keys):
        assert self.told[0] == "canary-in-the-environment", "not what the environment has"
        if self.fails:
            raise ValueError(f"cannot say {self.told}")
        return super().compare(queries, keys)
"""

WORDS = (
    *("--config-dir", "mine", "model=telling", "train.max_epochs=1", "figures=false"),
    *("model.note=${oc.env:CANARY}", f"model.password={TYPED}", f"model.address=http://{KEY}/x"),
)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A folder with a score whose settings hold secrets."""
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "telling.py").write_text(SCORE)
    settings = (
        "# Tells.\n_target_: telling.Telling\nnote: ''\npassword: ''\naddress: ''\nfails: false\n"
    )
    (tmp_path / "mine" / "model" / "telling.yaml").write_text(settings)
    monkeypatch.setenv("CANARY", CANARY)
    monkeypatch.setattr(redaction, "_secrets", set())
    monkeypatch.setattr(redaction, "_variables", {})
    return tmp_path


def leaks(folder: Path) -> list[str]:
    """Return the files below a folder, or their names, that hold a secret, also in base64."""
    found = []
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for secret in (CANARY, TYPED, KEY):
            plain = secret.encode()
            forms = [plain, *(base64.b64encode(b"x" * n + plain)[4:-4] for n in range(3))]
            if secret in path.name or any(form in content for form in forms):
                found.append(f"{path.relative_to(folder)}: {secret}")
    return found


def run_folder(home: Path) -> Path:
    (folder,) = (path.parent for path in home.glob("outputs/*/summary.json"))
    return folder


@pytest.mark.parametrize("fails", ["false", "true"])
def test_a_run_leaves_no_secret(in_process, home, fails):
    answer = in_process(*WORDS, f"model.fails={fails}", "tracker=tensorboard")
    assert answer.returncode == (fails == "true"), answer.stderr
    assert leaks(home / "outputs") == []
    folder = run_folder(home)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["config"]["model"]["note"] == "${oc.env:CANARY}"
    assert summary["config"]["model"]["password"] == MASK
    assert summary["config"]["model"]["address"] == f"http://{MASK}/x"
    assert f"model.password={MASK}" in summary["command"]
    assert not any(secret in answer.stdout + answer.stderr for secret in (CANARY, TYPED, KEY))
    assert "model.password, model.address is written as ***" in answer.stdout
    if fails == "true":
        assert "cannot say ('${oc.env:CANARY}', '***', 'http://***/x')" in summary["error"]
        assert "cannot say ('${oc.env:CANARY}'" in (folder / "attnexp.log").read_text()
    else:
        assert in_process(*WORDS, f"model.fails={fails}").returncode == 0
        assert "finished before" in in_process(*WORDS, "model.fails=false").stdout


@pytest.mark.parametrize("launcher", ["basic", "parallel"])
def test_a_sweep_leaves_no_secret(attnexp, home, launcher):
    words = (*WORDS, "model.fails=false,true", f"hydra/launcher={launcher}")
    answer = attnexp("-m", *words, f"+hydra.job.env_set.MY_TOKEN={TYPED}")
    assert answer.returncode == 1, answer.stderr
    assert "cannot say" in answer.stdout
    assert leaks(home / "outputs") == []
    summaries = [json.loads(path.read_text()) for path in home.glob("outputs/*/summary.json")]
    assert sorted(each["status"] for each in summaries) == ["failed", "finished"]
    assert all(each["command"].startswith("attnexp -m --config-dir mine") for each in summaries)


def test_a_tuned_sweep_leaves_no_secret(in_process, home):
    words = [word for word in WORDS if TYPED not in word]
    tuned = f'hydra.sweeper.tune=["model.password={TYPED},{TYPED}-too"]'
    answer = in_process("-m", *words, "hydra/sweeper=tuned", tuned)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert leaks(home / "outputs") == []
    assert TYPED not in answer.stdout + answer.stderr
    tunings = [
        json.loads(path.read_text())["tuning"] for path in home.glob("outputs/*/summary.json")
    ]
    assert {str(tuning["values"]) for tuning in tunings} == {"{'model.password': ['***', '***']}"}


def test_a_search_leaves_no_secret(in_process, home):
    pytest.importorskip("optuna", reason="Optuna is not installed")
    words = ("-m", *WORDS, "hydra/sweeper=optuna", "hydra.sweeper.n_trials=2")
    answer = in_process(*words, "model.fails=false,true")
    assert "1 measured, 1 failed" in answer.stdout, answer.stderr
    (journal,) = home.glob("outputs/search-*/trials.journal")
    assert "cannot say" in journal.read_text()
    assert (journal.parent / "experiment" / "best.yaml").exists()
    assert leaks(home / "outputs") == []
    refused = in_process(*words, f"model.password={TYPED},{TYPED}-too")
    assert refused.returncode == 2
    assert "model.password is a secret, and the journal of a search holds" in refused.stderr
    assert leaks(home / "outputs") == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what libraries of others do to each other
def test_mlflow_is_given_no_secret(in_process, home, monkeypatch):
    for name in ("mlflow", "sqlalchemy", "alembic"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    answer = in_process(*WORDS, "tracker=mlflow")
    assert answer.returncode == 0, answer.stderr
    assert (home / "outputs" / "mlflow.db").exists()
    assert leaks(home / "outputs") == []


def test_a_launcher_that_writes_settings_is_given_no_secret(in_process, home):
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    answer = in_process("-m", *WORDS, "hydra/launcher=submitit_local")
    assert answer.returncode == 2
    assert "model.password is a secret, and this launcher writes settings" in answer.stderr
    assert leaks(home / "outputs") == []


def test_a_folder_named_by_overrides_has_no_secret(in_process, home):
    named = "hydra.run.dir=outputs/${hydra.job.override_dirname}"
    answer = in_process(*WORDS[:-1], named)
    assert answer.returncode == 0, answer.stderr
    assert leaks(home / "outputs") == []


def test_a_run_is_repeated_with_the_same_environment_alone(in_process, home, monkeypatch):
    words = [word for word in WORDS if TYPED not in word and KEY not in word]
    assert in_process(*words).returncode == 0
    folder = str(run_folder(home))
    again = in_process("verify", folder, "--config-dir", "mine")
    assert again.returncode == 0, again.stderr
    assert "bit-identical" in again.stdout
    monkeypatch.setenv("CANARY", "elsewhere")
    answer = in_process("verify", folder, "--config-dir", "mine")
    assert answer.returncode == 2
    assert "CANARY in the environment has another value than for the run" in answer.stderr
    monkeypatch.delenv("CANARY")
    answer = in_process("verify", folder, "--config-dir", "mine")
    assert "needs CANARY in the environment, which is not set" in answer.stderr


def test_a_run_with_a_masked_setting_is_not_repeated(in_process, home):
    assert in_process(*WORDS).returncode == 0
    answer = in_process("verify", str(run_folder(home)), "--config-dir", "mine")
    assert answer.returncode == 2
    assert "model.password was a secret, which no folder holds" in answer.stderr


def test_a_mask_is_not_taken_for_a_secret(in_process, home):
    """A record of settings, such as best.yaml, may be given as an experiment."""
    words = [word for word in WORDS if TYPED not in word and KEY not in word]
    experiment = home / "mine" / "experiment" / "best.yaml"
    experiment.parent.mkdir()
    experiment.write_text("# @package _global_\n# The best.\nmodel: {password: '***'}\n")
    wanted = "model.password='${oc.env:NAME}', and NAME in the environment\n"
    for given in (["experiment=best"], ["model.password=***"], ["-m", "experiment=best"]):
        answer = in_process(*words, *given)
        assert answer.returncode == 2
        assert "model.password is '***', and *** is only written in place" in answer.stderr
        assert answer.stderr.endswith(wanted)
    address = in_process(*words, "model.address=http://***@x")
    assert "model.address is 'http://***@x', and ***" in address.stderr
    assert not (home / "outputs").exists()
    given = "model.password=${oc.env:CANARY}"
    assert in_process(*words, "experiment=best", given).returncode == 0


def test_the_environment_may_hold_what_looks_like_a_mask(in_process, home, monkeypatch):
    monkeypatch.setenv("STARS", "a***b")
    words = [word for word in WORDS if TYPED not in word and KEY not in word]
    assert in_process(*words, "model.password=${oc.env:STARS}").returncode == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("password", "api_key", "apiKey", "HF_TOKEN", "a.b.secret_key")),
        *((name, True) for name in ("token", "credentials", "aws_access_key_id")),
        *((name, False) for name in ("pad_token", "tokenizer", "num_tokens", "key_dim", "model")),
    ],
)
def test_names_of_secrets(name, expected):
    assert is_secret(name) is expected


@pytest.mark.parametrize(
    "secret",
    [
        *("hf_aBcDeFgHiJkLmNoPqRsT", "ghp_0123456789abcdefghij", "github_pat_11ABCDEFG0123456789"),
        *("sk-proj-abcdefghijklmnop", "AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abc"),
    ],
)
def test_forms_of_secrets(secret):
    assert redacted(f"refused: {secret}.") == f"refused: {MASK}."
    assert recorded({"a": [secret]}) == {"a": [MASK]}


def test_an_address_loses_its_user_and_password():
    assert redacted("at https://me:p@ss@host:80/x") == f"at https://{MASK}@host:80/x"
    assert redacted("at https://host:80/x@y, task-is-long-enough-for-a-key") == (
        "at https://host:80/x@y, task-is-long-enough-for-a-key"
    )


def test_values_that_refer_or_switch_stay():
    settings = {"password": "${oc.env:PW}", "token": None, "secret": True, "api_key": 12345}
    assert recorded(settings) == settings | {"api_key": MASK}
    assert recorded({"credentials": {"user": "me"}}) == {"credentials": {"user": MASK}}


def test_a_typed_secret_is_left_out_of_every_text(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())
    remember_words(["+tracker.password=hunter22,swordfish", "model=dot"])
    assert redacted("no hunter22 or swordfish on dot") == f"no {MASK} or {MASK} on dot"
    assert recorded(["+tracker.password=hunter22"]) == [f"+tracker.password={MASK}"]


def test_a_secret_within_a_word_is_remembered(monkeypatch):
    monkeypatch.setattr(redaction, "_secrets", set())
    words = ['hydra.sweeper.tune=["model.password=hunter22,swordfish"]']
    remember_words([*words, "tracker.api_key=choice(rosebud,open sesame)"])
    assert recorded(words) == [f'hydra.sweeper.tune=["model.password={MASK},{MASK}"]']
    assert redacted("a choice of rosebud or sesame") == f"a choice of {MASK} or {MASK}"
