"""Every score and normalizer trains on every data set in every architecture that is for it."""

import json
import random
import re
from functools import cache, partial
from typing import Any, get_type_hints

import pytest
import torch
from composed import training
from conftest import CONF, OF_FILES, choice_names
from hydra.utils import get_object
from omegaconf import OmegaConf

from attnexp.config.resolved import register_resolvers
from attnexp.core.batch import Seq2SeqSpec
from attnexp.probe.interventions import Intervention
from attnexp.probe.laws.largest import TopK
from attnexp.probe.laws.uniform import Uniform
from attnexp.probe.passes import answers, main_part
from attnexp.runs import files
from attnexp.training.base import TrainSettings
from attnexp.training.schedules import Constant

SMALL = {
    "num_train": 12,
    "num_validation": 5,
    "num_test": 5,
    "validation": 0.01,
    "test": 0.01,
    "hidden_dim": 8,
    "embed_dim": 6,
    "dim": 8,
    "ff_dim": 10,
    "head_dim": 4,
    "vocab_size": 70,
}
"""Sizes that keep a step short, wherever a choice has a setting of that name."""


SAMPLED = 24
"""The pairs that are not marked as slow."""


def small(group, name):
    """The class that a YAML file of conf/ names, with its settings made small."""
    register_resolvers()
    of_file = OF_FILES.get(name, {}) if group == "data" else {}
    read = OmegaConf.merge(OmegaConf.load(CONF / group / f"{name}.yaml"), of_file)
    settings: Any = OmegaConf.to_container(read, resolve=True)
    settings.pop("defaults", None)
    target = get_object(settings.pop("_target_"))
    return partial(target, **{key: SMALL.get(key, value) for key, value in settings.items()})


@cache
def dataset(name):
    return small("data", name)(generator=torch.Generator().manual_seed(0))


@cache
def fitting():
    """Data with each architecture for them, as both annotate their `spec`."""
    data = {name: get_type_hints(small("data", name).func)["spec"] for name in choice_names("data")}
    archs = {
        name: get_type_hints(small("arch", name).func.__init__)["spec"]
        for name in choice_names("arch")
    }
    return [
        (data_name, arch_name)
        for data_name, given in data.items()
        for arch_name, needed in archs.items()
        if issubclass(given, needed)
    ]


def test_all_data_and_all_architectures_fit_something():
    pairs = fitting()
    assert {data_name for data_name, _ in pairs} == set(choice_names("data"))
    assert {arch_name for _, arch_name in pairs} == set(choice_names("arch"))


@cache
def all_pairs():
    """Score, normalizer, data, architecture and heads, so that each meets each of the others."""
    scores, normalizers = choice_names("model"), choice_names("normalizer")
    pairs = []
    for row, score in enumerate(scores):
        for column, pair in enumerate(fitting()):
            turn, place = divmod(row + column, len(normalizers))
            pairs.append((score, normalizers[place], *pair, (1, 4)[turn % 2]))
    return pairs


def sampled_pairs():
    """All pairs, of which all but `SAMPLED` are marked as slow."""
    pairs = all_pairs()
    fast = set(random.Random(0).sample(pairs, SAMPLED))
    return [pytest.param(*p, marks=() if p in fast else pytest.mark.slow) for p in pairs]


def test_all_pairs_are_all_pairs():
    """With more normalizers than scores, or than places for them, the rows would have to repeat."""
    places, normalizers = fitting(), choice_names("normalizer")
    pairs = {(n, other) for score, n, *place, _ in all_pairs() for other in (score, tuple(place))}
    assert pairs == {(n, other) for n in normalizers for other in (*choice_names("model"), *places)}
    assert {(n, heads) for _, n, *_, heads in all_pairs()} == {
        (n, heads) for n in normalizers for heads in (1, 4)
    }


@pytest.mark.check
@pytest.mark.parametrize(
    ("chosen_model", "chosen_normalizer", "chosen_data", "chosen_arch", "heads"), sampled_pairs()
)
def test_one_step(chosen_model, chosen_normalizer, chosen_data, chosen_arch, heads):
    data = dataset(chosen_data)
    torch.manual_seed(0)
    score, normalizer = small("model", chosen_model), small("normalizer", chosen_normalizer)
    given = {"spec": data.spec, "score": score, "normalizer": normalizer}
    model = small("arch", chosen_arch)(**given, heads=heads)
    task = small("task", task_of(chosen_data))()
    if task.loss(model(data.train), data.train).requires_grad:
        recipe = (partial(torch.optim.SGD, lr=0.1), Constant(), TrainSettings(max_epochs=1))
        (row,) = training(model, data, task, *recipe, torch.Generator()).epochs()
        assert torch.isfinite(torch.tensor(row.loss))
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    with torch.no_grad():
        model.eval()
        check_weights(model, data, normalizer.func.sums_to_one)
        check_interventions(model, data)
        measured = task.evaluate(model, data).metrics
    assert set(task.better) - set(measured) == (set() if has_gold(data) else OF_GOLD)
    assert task.selection in task.better
    assert all(torch.isfinite(torch.tensor(value)) for value in measured.values())


OF_GOLD = {"alignment_accuracy", "gold_mass"}
"""The metrics that only sequence data with a gold alignment have."""


def has_gold(data):
    return not isinstance(data.spec, Seq2SeqSpec) or data.test.alignment is not None


def task_of(data_name):
    """The task that a data set's YAML brings, or the default one."""
    text = (CONF / "data" / f"{data_name}.yaml").read_text()
    brought = re.search(r"_global_\.task: (\w+)", text)
    return brought[1] if brought else "regression"


def check_weights(model, data, sums_to_one):
    """Shares that sum to one where they should, or a row of zeros; nothing on masked keys.

    A map that is a part of another one has rows that sum to less.
    """
    prediction = model(data.test, need_weights=True)
    assert prediction.weights
    for name, weights in prediction.weights.items():
        assert weights.min() >= 0
        if sums_to_one and (name != "cross" or model.whole == "cross"):
            sums = weights.sum(dim=-1)
            assert ((sums - 1).abs().lt(1e-4) | (sums == 0)).all(), name
    main = prediction.weights.get("pooling", prediction.weights.get("cross"))
    mask = data.test.mask
    hidden = (
        torch.zeros_like(main, dtype=torch.bool)
        if mask is None
        else ~mask[:, None, None].expand_as(main)
    )
    assert (main[hidden] == 0).all()


def check_interventions(model, data):
    """All keys change nothing; even weights change the rows that are not even, and no number."""
    before = answers(model, data.test, data.spec, free=False).outputs
    part = main_part(model)
    every = Intervention("", TopK(10_000), part)
    same = answers(model, data.test, data.spec, every, free=False)
    torch.testing.assert_close(same.outputs, before, atol=1e-4, rtol=1e-3)
    assert same.unchanged == 1
    even = answers(model, data.test, data.spec, Intervention("", Uniform(), part), free=False)
    assert even.outputs.isfinite().all()


def test_data_bring_their_surroundings(succeeds, data_name):
    """Each data set composes with its own architecture and task."""
    answer = succeeds(f"data={data_name}", "--cfg", "job")
    task = task_of(data_name)
    of_points = "attnexp.architectures.kernel_regression.KernelRegression" in answer.stdout
    assert of_points == (task == "regression")
    assert f"attnexp.tasks.{task}." in answer.stdout


@pytest.mark.check
def test_same_data_whichever_model(in_process, tmp_path):
    keys = []
    for model in ("average", "additive"):
        in_process(f"model={model}", "train.max_epochs=1", "figures=false", "seed=5")
    for folder in (tmp_path / "outputs").glob("*-*"):
        tensors, _ = files.read_tensors(folder / files.ATTENTION)
        keys.append(json.dumps([tensors["keys"].tolist(), tensors["values"].tolist()]))
    assert len(keys) == 2
    assert keys[0] == keys[1]
