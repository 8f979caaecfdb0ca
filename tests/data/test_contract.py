"""What every data set of conf/data promises, and what sequence data promise beyond that."""

import inspect
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import torch
from conftest import OF_FILES
from hydra.utils import get_object
from omegaconf import OmegaConf

from attnexp.config.resolved import register_resolvers
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data import Dataset
from attnexp.data.contract import DATA_CONTRACT, splits
from attnexp.data.copy import Copy
from attnexp.data.dates import Dates
from attnexp.data.recall import Recall
from attnexp.data.reverse import Reverse
from attnexp.data.sine import Sine
from attnexp.data.sort import Sort
from attnexp.data.text import encode_source, source_text, target_text
from attnexp.data.text_pairs import TextPairs

CONF = Path(__file__).parents[2] / "conf" / "data"


@cache
def _settings_of(name: str) -> Any:
    register_resolvers()
    read = OmegaConf.merge(OmegaConf.load(CONF / f"{name}.yaml"), OF_FILES.get(name, {}))
    return OmegaConf.to_container(read, resolve=True)


def settings_of(name: str) -> dict:
    """The settings of a YAML file, with the class in the place of its name."""
    settings = _settings_of(name)
    return settings | {"_target_": get_object(settings["_target_"])}


def maker(
    name: str, most: int | None = None, **others: Any
) -> Callable[[torch.Generator], Dataset]:
    """Return what makes the data of a YAML file, with at most this many examples of each set."""
    settings = settings_of(name) | others
    settings.pop("defaults", None)
    for size in ("num_train", "num_validation", "num_test"):
        if most is not None and settings.get(size):
            settings[size] = min(settings[size], most)
    return partial(settings.pop("_target_"), **settings)


MOST = 4000


@cache
def build(name: str, seed: int) -> Any:
    return maker(name, most=MOST)(torch.Generator().manual_seed(seed))


SEQUENCES = [
    path.stem
    for path in sorted(CONF.glob("*.yaml"))
    if get_type_hints(settings_of(path.stem)["_target_"])["spec"] is Seq2SeqSpec
]


def small_test_set(name: str) -> Batch:
    year = {"first_year": 2021, "last_year": 2021} if name == "dates" else {}
    test: Batch = maker(name, most=2, **year)(torch.Generator().manual_seed(0)).test
    return test


TEXTS = [name for name in SEQUENCES if issubclass(settings_of(name)["_target_"], TextPairs)]
SINGLE = [name for name in SEQUENCES if name not in TEXTS]
MADE_UP = [name for name in SINGLE if "path" not in settings_of(name)]
TESTED = {name: small_test_set(name) for name in SINGLE}
GIVEN = [name for name, test in TESTED.items() if test.asked is not None]
"""Data that give the decoder's input, so that targets are due at some queries alone."""
ALIGNED = [name for name, test in TESTED.items() if test.alignment is not None]
"""Data that have a gold alignment; of the others, some have no sources of their own."""
FED_BACK = [name for name in SEQUENCES if name not in GIVEN]


REARRANGED = sorted({*MADE_UP} - {*GIVEN})
KINDS = {
    "name": SEQUENCES,
    "made_up": MADE_UP,  # drawn without a file
    "of_text": TEXTS,
    "given": GIVEN,
    "aligned": ALIGNED,
    "fed_back": FED_BACK,
    "rearranged": REARRANGED,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `made_up`, `given`, ... runs for every data set of that kind."""
    for kind, names in KINDS.items():
        if kind in metafunc.fixturenames:
            metafunc.parametrize(kind, names)


def test_a_yaml_repeats_the_defaults_of_its_class_and_brings_its_surroundings(name):
    settings = settings_of(name)
    groups = [key for entry in settings["defaults"] for key in entry]
    needed = ("arch", "task", "optim", "schedule", "train")
    assert groups == [f"override /{group}@_global_.{group}" for group in needed]
    shipped = OmegaConf.load(CONF / f"{name}.yaml")
    parameters = inspect.signature(settings["_target_"]).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    assert defaults
    for argument in defaults.keys() - {"path", "sha256"}:
        given = shipped[argument]
        given = tuple(given) if isinstance(defaults[argument], tuple) else given
        assert given == defaults[argument], argument


def test_no_source_is_in_two_sets_or_twice_in_one(aligned):
    rows = torch.cat([batch.keys for batch in splits(build(aligned, 0)).values()])
    assert len(rows.unique(dim=0)) == len(rows)


def test_no_text_is_in_two_sets_or_twice_in_one_that_is_measured(of_text):
    dataset = build(of_text, 0)
    trained = dataset.train.keys.unique(dim=0)
    rows = torch.cat([trained, dataset.validation.keys, dataset.test.keys])
    assert len(rows.unique(dim=0)) == len(rows)
    assert len(dataset.references) == len(dataset.test)


def test_sizes_are_those_of_the_settings(made_up):
    settings = settings_of(made_up)
    for split, batch in splits(build(made_up, 0)).items():
        assert len(batch) == min(settings[f"num_{split}"], MOST)


def test_masks_and_special_symbols(fed_back):
    dataset = build(fed_back, 0)
    spec = dataset.spec
    assert (spec.pad, spec.bos, spec.eos) == (0, 1, 2)
    for vocab in (spec.source_vocab, spec.target_vocab):
        assert vocab[:3] == ("<pad>", "<bos>", "<eos>")
        assert len(set(vocab)) == len(vocab)
    for batch in splits(dataset).values():
        assert torch.equal(batch.keys, batch.values)
        assert (batch.queries[:, 0] == spec.bos).all()
        assert torch.equal(batch.queries[:, 1:], batch.targets[:, :-1])
        assert batch.keys.shape[1] == spec.max_source
        assert batch.targets.shape[1] == spec.max_target
        assert batch.mask.shape == (len(batch), 1, spec.max_source)
        for ids, mask, vocab in (
            (batch.keys, batch.mask[:, 0], spec.source_vocab),
            (batch.targets, batch.target_mask, spec.target_vocab),
        ):
            assert ids.dtype == torch.int64
            assert ids.min() >= 0
            assert ids.max() < len(vocab)
            assert torch.equal(mask, ids != spec.pad)
            lengths = mask.sum(dim=1, keepdim=True)
            assert torch.equal(mask, torch.arange(ids.shape[1]) < lengths)
            assert (ids.gather(1, lengths - 1) == spec.eos).all()
            assert ((ids == spec.eos).sum(dim=1) == 1).all()
            assert (ids != spec.bos).all()
            assert lengths.min() > 1


def test_longest_lengths_and_all_symbols_occur(rearranged):
    dataset = build(rearranged, 0)
    spec, batch = dataset.spec, dataset.train
    assert batch.mask.sum(dim=-1).max() == spec.max_source
    assert batch.target_mask.sum(dim=-1).max() == spec.max_target
    assert batch.keys.unique().tolist() == [0, *range(2, len(spec.source_vocab))]
    assert len(batch.mask.sum(dim=-1).unique()) > 1


def test_given_input_has_its_masks_and_no_end_is_due(given):
    dataset = build(given, 0)
    spec = dataset.spec
    for batch in splits(dataset).values():
        assert torch.equal(batch.keys, batch.values)
        assert batch.keys.shape[1] == spec.max_source
        longest = spec.test_max_target if batch is dataset.test else spec.max_target
        assert batch.queries.shape[1] == longest
        assert torch.equal(batch.mask[:, 0], batch.keys != spec.pad)
        assert torch.equal(batch.target_mask, batch.targets != spec.pad)
        assert batch.targets[batch.target_mask].min() > spec.eos
        for ids, vocab in (
            (batch.keys, spec.source_vocab),
            (batch.queries, spec.target_vocab),
            (batch.targets, spec.target_vocab),
        ):
            assert ids.dtype == torch.int64
            assert ids.max() < len(vocab)
            present = ids != spec.pad
            assert torch.equal(present, torch.arange(ids.shape[1]) < present.sum(1, keepdim=True))
        assert batch.asked.min() >= 0
        assert (batch.asked < batch.queries.ne(spec.pad).sum(dim=1, keepdim=True)).all()


def test_alignment_points_at_content_of_the_source(aligned):
    spec = build(aligned, 0).spec
    for batch in splits(build(aligned, 0)).values():
        nowhere = batch.alignment < 0
        assert (batch.alignment[nowhere] == -1).all()
        assert nowhere[~batch.target_mask | (batch.targets == spec.eos)].all()
        pointed = batch.keys.gather(1, batch.alignment.clamp(min=0))[~nowhere]
        assert (pointed > spec.eos).all()
        assert (~nowhere).any(dim=1).all()


@pytest.mark.parametrize("check", DATA_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check, data_name):
    check(maker(data_name, most=200))


def test_the_vocabulary_of_data_without_a_file_is_that_of_every_seed(made_up):
    first, second = (torch.Generator().manual_seed(seed) for seed in (0, 1))
    assert maker(made_up, most=50)(first).spec == maker(made_up, most=50)(second).spec


def test_text_and_back(fed_back):
    dataset = build(fed_back, 0)
    spec = dataset.spec
    for source, mask in zip(dataset.test.keys[:50], dataset.test.mask[:50, 0], strict=True):
        assert torch.equal(encode_source(source_text(source, spec), spec), source[mask])


SYMBOLS = {"min_length": 5, "max_length": 5, "vocab_size": 6}
EVERYTHING: dict[type[Dataset], tuple[int, dict[str, Any]]] = {
    Copy: (6**5, SYMBOLS),
    Reverse: (6**5, SYMBOLS),
    Sort: (6**5, SYMBOLS),
    Recall: (
        4 * 3 * 2 * 3**3 * (3 + 3 * 2),
        {"min_pairs": 3, "max_pairs": 3, "max_queries": 2, "num_keys": 4, "num_values": 3},
    ),
    Dates: (
        365,
        {"first_year": 2021, "last_year": 2021, "locales": ["de"], "formats": ["long"]},
    ),
}


@pytest.mark.parametrize("target", EVERYTHING)
def test_the_docstrings_example_is_among_all_examples_there_are(target: Any):
    count, settings = EVERYTHING[target]
    dataset = target(
        torch.Generator().manual_seed(0),
        num_train=count - 2,
        num_validation=1,
        num_test=1,
        **settings,
    )
    source, answer, alignment = (
        re.search(rf"^ +{line} +(.*)$", target.__doc__, re.MULTILINE)[1]
        for line in ("source", "target", "alignment")
    )
    found = [
        (target_text(batch.targets[i], dataset.spec), batch.alignment[i][batch.target_mask[i]])
        for batch in (dataset.train, dataset.validation, dataset.test)
        for i in range(len(batch))
        if source_text(batch.keys[i], dataset.spec) == source
    ]
    assert len(found) == 1
    assert found[0][0] == answer
    assert found[0][1].tolist() == [int(place) for place in alignment.split()]


class FromAnywhere(Sine):
    def __init__(self, generator):
        super().__init__(torch.Generator().manual_seed(int(torch.randint(99, ()))))


class Bare(Sine):
    def __init__(self, generator):
        pass


class Fixed(Sine):
    def __init__(self, generator):
        super().__init__(torch.Generator().manual_seed(5))


class Infinite(Sine):
    def truth(self, x):
        return 1 / (0 * x)


class Short(Sine):
    def __init__(self, generator):
        super().__init__(generator)
        object.__setattr__(self.train, "values", self.train.values[:, 1:])


@pytest.mark.parametrize(
    ("forbidding", "breaker"),
    [
        ("has_spec_and_sets", Bare),
        ("repeats_with_its_seed", FromAnywhere),
        ("repeats_with_its_seed", Fixed),
        ("leaves_the_global_generator", FromAnywhere),
        ("has_finite_numbers", Infinite),
        ("has_as_many_values_as_keys", Short),
    ],
)
def test_a_check_fails_for_what_it_forbids(forbidding, breaker):
    (check,) = (each for each in DATA_CONTRACT if each.__name__ == forbidding)
    with pytest.raises(AssertionError):
        check(breaker)
