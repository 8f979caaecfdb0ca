"""No command line ends in a traceback, takes the memory of the machine or steers the terminal.

Each case is drawn by its seed: overrides, YAML files and flags that nobody should write. What can
be composed is built as for a run, and not trained.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from command_outcome import run_here
from mutated_settings import as_line, draw_case, write_files

SECONDS = 30
"""Time that a command may take on a busy machine."""

TEN_THOUSAND = [
    pytest.param(range(first, first + 500), marks=pytest.mark.slow)
    for first in range(0, 10_000, 500)
]


@pytest.fixture
def faults_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """Carries out the case of a seed in an empty folder, and returns what was wrong with it."""
    from attnexp.training import execute
    from attnexp.training.record.recording import opening_summary

    monkeypatch.setattr(
        execute,
        "execute",
        lambda prepared, folder: msgspec.structs.replace(
            opening_summary(prepared), status="finished"
        ),
    )
    path = list(sys.path)
    monkeypatch.setenv("PYTHONPATH", "")

    def faults(seed: int) -> list[str]:
        words, files = draw_case(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", list(path))
        write_files(folder, files)
        found = run_here(words, SECONDS).faults()
        return [f"case {seed}, {as_line(words)}: {fault}" for fault in found]

    return faults


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(20), *TEN_THOUSAND], ids=str)
def test_mutated_settings(faults_of, seeds):
    assert [fault for seed in seeds for fault in faults_of(seed)] == []


SEQUENCES = "data.num_train=40 data.num_validation=8 data.num_test=8"

SENTENCES = [
    ("model=3", "'3' is not one of the choices for 'model': choose adaptive_scale, "),
    ("data.noise=inf", "data.noise must be finite, got inf"),
    ("optim.lr=inf", "optim.lr must be finite, got inf"),
    ("optim=adam optim.betas=[0.9,-inf]", "optim.betas must be finite, got [0.9, -inf]"),
    ("schedule=cosine schedule.warmup=-inf", "schedule.warmup must be finite, got -inf"),
    ("train.tolerance=inf", "train.tolerance must be finite, got inf"),
    ("data.step=1e-9", "5,000,000,000 test points need about 320.0 GB of memory, and"),
    ("data.num_test=1000000000000", " and 1,000,000,000,000 test points need about"),
    ("data.num_train=1000000000000", " and 50 test points need about 64,000.0 GB of memory, and"),
    ("model=additive model.hidden_dim=1000000000000", "the model needs more than 16,000.0 GB"),
    ("arch.features=10000000", "the model needs more than"),
    (f"data=copy {SEQUENCES} arch.layers=1000000000", "has more than 3,000 tensors of parameters"),
    (f"data=copy {SEQUENCES} data.max_length=1000000000", "shapes are more than can be counted"),
    (f"data=copy {SEQUENCES} data.vocab_size=1000000000000", "symbols need about 150,000.0 GB"),
    ("data=copy data.num_train=1000000000000", "examples of up to 10 symbols need about"),
    ("data=dates data.locales=[de,null]", "data.locales[1] must be text, got None"),
    ("data=dates data.formats=3", "data.formats must be a list, got 3"),
    ("seed=99999999999999999999", "seed must be within -2^63 and 2^63, got 1.000e+20"),
    ("+model._args_=[1]", "model._args_ cannot be set: settings are given by name"),
    ("+model._recursive_=3", "model._recursive_ must be true or false, got 3"),
    ("-m ++hydra.sweeper._target_=: seed=1,2", "hydra.sweeper._target_ is ':', which is not an"),
    ("-m ++hydra.launcher._target_=os.system seed=1,2", "is not an installed launcher: choose one"),
    ("hydra.job_logging.root=-0.0", "job_logging.root must be null or settings as name: value"),
    ("hydra.sweeper.params=3", "hydra.sweeper.params must be null or settings as name: value"),
    ("hydra/launcher=${seed}", "Error resolving interpolation '${seed}'"),
    ("-m --dry-run hydra/job_logging=${hydra:job.name}", "interpolation '${hydra:job.name}'"),
    ("hydra.job.env_set=${output_dir}", "hydra.job.env_set must be settings as name: value, got"),
    ("+hydra.callbacks.a.b=1", "hydra.callbacks has no effect: a tracker of your own"),
    (f"train.max_epochs=-{'9' * 400}", "within -2^63 and 2^63, got -1.000e+400"),
    (f"output_dir={'x' * 300}", "cannot be written: File name too long"),
    ("-m --dry-run ++rerun=1e-30 seed=1,2", "rerun must be true or false, got 1e-30"),
    ("threads=100000", "threads must be at least 1 and at most "),
    ("-m seed=range(1000000000)", "seed=range(1000000000) names more than 100,000 values"),
    ("seed=\x1b[2J", r"\x1b[2J"),
]


@pytest.mark.parametrize(("line", "sentence"), SENTENCES, ids=[ascii(s[0]) for s in SENTENCES])
def test_what_cannot_be_is_refused_by_name(line, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run_here(line.split(" "), SECONDS)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert outcome.faults() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("question", ["--cfg job", "--cfg hydra", "--info config", "--help"])
def test_a_question_before_changes_nothing_of_a_command(question, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_here(question.split(" "), SECONDS).code == 0
    words = ["-m", "--dry-run", "hydra/job_logging=${hydra:job.name}"]  # no job runs yet
    outcome = run_here(words, SECONDS)
    assert (outcome.code, outcome.out) == (2, "")


SWEPT = b"# @package _global_\nhydra: {sweeper: {params: {3: x}}}\n"


@pytest.mark.parametrize(
    ("group", "content", "sentence"),
    [
        ("experiment", b"3\n", "a YAML file of the configuration holds a single value: settings"),
        ("experiment", b"data: &a {noise: *a}\n", "*a lies inside the value that it names"),
        ("experiment", b"a: " + b"[" * 5000, "more than 100 levels inside each other"),
        ("experiment", b"a: \xe9\n", "a YAML file of the configuration is not UTF-8 text"),
        ("experiment", SWEPT, "the names in hydra.sweeper.params must be text, got {3: 'x'}"),
        ("data", b"inner: {params: {3: x}}\n", "must be text, got 3 in data.inner.params"),
    ],
    ids=["a number", "itself", "nested", "latin", "swept", "names"],
)
def test_a_file_that_cannot_be_settings_is_refused(group, content, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    write_files(tmp_path, {f"{group}/own.yaml": content})
    outcome = run_here(["-m", "--dry-run", "--config-dir", "mine", f"{group}=own"], SECONDS)
    assert (outcome.code, outcome.faults()) == (2, [])
    assert sentence in outcome.err


def test_help_with_a_folder_that_no_system_could_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run_here(["--config-dir", "x" * 300, "-h"], SECONDS)
    assert (outcome.code, outcome.faults()) == (2, [])
    assert "--config-dir: there is no folder" in outcome.err
