"""The example in the docstring of each data set, looked up among all examples there are."""

import re

import pytest
import torch

from attnexp.data.base import Dataset
from attnexp.data.copy import Copy
from attnexp.data.dates import Dates
from attnexp.data.recall import Recall
from attnexp.data.reverse import Reverse
from attnexp.data.sort import Sort
from attnexp.data.text import source_text, target_text

SYMBOLS = {"min_length": 5, "max_length": 5, "vocab_size": 6}
EVERYTHING = {
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
def test_worked_example(target: type[Dataset]):
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
