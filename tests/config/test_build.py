"""Settings become objects, through Hydra, which refuses what no setting should name."""

from typing import Any

import pytest
import torch
from composed import prepared
from hydra.errors import InstantiationException
from omegaconf import OmegaConf

from attnexp.config import build
from attnexp.core.errors import RequestError


def built(settings, **given):
    node = OmegaConf.create(settings)
    plain: Any = OmegaConf.to_container(node, resolve=True)
    return build.build(node, plain, **given)


def test_plain_settings_are_handed_over_as_they_are():
    settings = {
        "_target_": "builtins.dict",
        "rates": [1, 2],
        "deep": {"a": {"b": 3}},
        "same": "${rates}",
    }
    assert built(settings, given=4) == {
        "rates": [1, 2],
        "deep": {"a": {"b": 3}},
        "same": [1, 2],
        "given": 4,
    }
    assert type(built(settings)["rates"]) is list


@pytest.mark.parametrize(
    "inside",
    [
        {"inner": {"_target_": "builtins.dict", "a": 1}},
        {"inner": [{"_target_": "builtins.dict", "a": 1}]},
    ],
    ids=["in a setting", "in a list"],
)
def test_an_object_within_the_settings_is_built(inside):
    settings = {"_target_": "builtins.dict", **inside}
    first, second = (built(settings)["inner"] for _ in range(2))
    assert first is not second
    assert (first[0] if isinstance(first, list) else first) == {"a": 1}


@pytest.mark.parametrize("split", ["split=last", "test_path=later.csv"])
def test_a_seed_of_data_that_no_seed_draws_is_refused(tmp_path, monkeypatch, split):
    monkeypatch.chdir(tmp_path)
    for name, first in (("my.csv", 0), ("later.csv", 9)):
        rows = (f"{i},{i % 3}\n" for i in range(first, first + 9))
        (tmp_path / name).write_text("a,b\n" + "".join(rows))
    words = ("data=table", "data.path=my.csv", "data.x=[a]", "data.y=b")
    assert prepared(*words, "data_seed=3").dataset.overlap > 0
    assert prepared(*words, f"data.{split}").dataset.overlap == 0
    with pytest.raises(RequestError, match=f"data_seed=3 has no effect with data.{split[:9]}"):
        prepared(*words, f"data.{split}", "data_seed=3")


@pytest.mark.parametrize("target", ["os.system", "subprocess.getoutput", "builtins.eval"])
def test_a_target_that_runs_commands_is_refused(target):
    with pytest.raises(InstantiationException, match=r"blocklisted|blacklisted|whitelist"):
        built({"_target_": target}, command="touch harmed")


@pytest.mark.parametrize(
    "target", ["os.remove", "shutil.os.remove", "attnexp.config.build.os.remove"]
)
@pytest.mark.parametrize("outer", ["builtins.dict", "os.getcwd", "os.*"])
def test_a_target_inside_that_removes_files_is_refused(outer, target, tmp_path):
    path = tmp_path / "kept"
    path.touch()
    with pytest.raises(InstantiationException):
        built({"_target_": outer, "inner": {"_target_": target, "path": str(path)}})
    assert path.exists()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (
            ["model=gaussian_learned"],
            "a step compares 300,000 points with 300,000, which takes minutes: choose "
            "train.batch_size=512, or at most 229,064",
        ),
        (["model=gaussian_learned", "train.batch_size=260000"], "a step compares 260,000 points "),
        (["model=gaussian_learned", "train.batch_size=512"], None),
        (["model=gaussian"], None),
    ],
)
def test_steps_of_too_many_pairs_are_refused_before_the_first(words, refusal):
    if refusal is None:
        prepared("data.num_train=300000", *words)
    else:
        with pytest.raises(RequestError, match=refusal):
            prepared("data.num_train=300000", *words)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("estimator=delta", "delta is for causal self-attention alone, and arch=rnn has other"),
        ("estimator=delta model=dot arch=transformer", "choose arch=bottleneck or decoder_only"),
        ("estimator=delta arch=decoder_only model=additive", "Additive has none: choose model=dot"),
        (
            "estimator=delta arch=decoder_only model=dot normalizer=sparsemax",
            "which no normalizer changes, and got Sparsemax: choose normalizer=softmax",
        ),
        (
            "estimator=delta arch=decoder_only model=dot arch.window=3",
            "leave arch.window at null, got 3",
        ),
        (
            "estimator=delta arch=decoder_only model=dot positions=alibi",
            "choose positions=rotary, sinusoidal, learned or none",
        ),
        (
            "attention=differential estimator=local_linear arch=decoder_only model=dot",
            "choose estimator=local_constant, got LocalLinear",
        ),
        ("attention=gated", "choose arch.heads=2 or more, or attention=plain"),
        (
            "arch=transformer model=dot arch.heads=4 arch.kv_heads=3",
            "kv_heads must divide heads, 4, got 3: choose 1, 2 or 4",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused_with_what_fits(words, refusal):
    with pytest.raises((RequestError, ValueError), match=refusal):
        prepared("data=reverse", "data.num_train=20", *words.split())


def drawn(*words):
    run = prepared("model=additive", "data.num_train=20", *words)
    return run.dataset.train.values, next(run.model.parameters()).detach()


def test_the_seed_of_the_data_leaves_the_first_parameters_as_they_are():
    data, parameters = drawn("seed=3")
    other_data, same_parameters = drawn("seed=3", "data_seed=4")
    assert torch.equal(same_parameters, parameters)
    assert not torch.equal(other_data, data)
    same_data, other_parameters = drawn("seed=5", "data_seed=3")
    assert torch.equal(same_data, data)
    assert not torch.equal(other_parameters, parameters)


def test_data_and_first_parameters_are_the_same_in_every_precision():
    plain = drawn("precision=fp32")
    for precision in ("fp64", "bf16"):
        for one, other in zip(plain, drawn(f"precision={precision}"), strict=True):
            assert torch.equal(one.double(), other.double())


def test_the_order_of_training_is_of_the_seed_of_the_run():
    orders = [
        torch.randperm(50, generator=prepared("data.num_train=20", *words).order).tolist()
        for words in (["seed=3"], ["seed=3", "data_seed=4"], ["seed=4"])
    ]
    assert orders[0] == orders[1] != orders[2]


def test_a_negative_seed_of_the_data_is_refused():
    with pytest.raises(RequestError, match="data_seed must be null, or 0 or more, got -1"):
        prepared("data_seed=-1")


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("collections.Counter", "makes a Counter, and schedule takes a function of an update"),
        ("attnexp.data.sine.Sine", "schedule"),
        ("math.log", "schedule"),
    ],
)
def test_a_schedule_of_another_kind_is_refused(target, sentence):
    with pytest.raises(RequestError, match=sentence):
        prepared("model=additive", "optim=sgd", f"schedule._target_={target}")
