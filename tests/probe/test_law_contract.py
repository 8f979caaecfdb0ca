"""The contract holds for every law of conf/law, and fails for what it forbids."""

import pytest
import torch

from attnexp.config.laws import read_laws
from attnexp.core.errors import RequestError
from attnexp.probe.laws.base import Law
from attnexp.probe.laws.contract import LAW_CONTRACT
from attnexp.probe.laws.uniform import Uniform

LAWS = read_laws()


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("check", LAW_CONTRACT, ids=lambda check: check.__name__)
def test_contract(name, check):
    choice = LAWS[name]
    check(lambda: choice.make("2" if choice.argument else None))


class Flat(Law):
    """Gives hidden keys a weight, and does not keep sums."""

    def replace(self, rows):
        return torch.full_like(rows.weights, 0.1)


class InPlace(Law):
    def replace(self, rows):
        return rows.weights.mul_(1.0).add_(0.1 * rows.valid)


class Short(Law):
    def replace(self, rows):
        return rows.weights[..., :-1]


class Silent(Uniform):
    """Draws, and does not say so."""

    def replace(self, rows):
        return super().replace(rows) * 0 + rows.random() * rows.valid


class Boast(Uniform):
    draws = True
    needs_gold = True


class Mixed(Law):
    """A row depends on the others."""

    def replace(self, rows):
        return rows.weights.mean(dim=-2, keepdim=True).expand_as(rows.weights) * rows.valid


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (Flat, {"gives_no_weight_to_hidden_keys", "keeps_the_sum_of_a_row_as_declared"}),
        (InPlace, {"changes_nothing_in_place"}),
        (Short, {"keeps_shape_and_precision"}),
        (Silent, {"draws_as_declared"}),
        (Boast, {"draws_as_declared", "reads_gold_as_declared"}),
        (Mixed, {"takes_rows_one_by_one"}),
    ],
)
def test_a_broken_law_fails_its_checks(law, broken):
    for check in LAW_CONTRACT:
        if check.__name__ in broken:
            with pytest.raises(AssertionError):
                check(law)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("_target_: pathlib.PurePath\n", "is not a subclass of Law"),
        ("_target_: attnexp.probe.laws.hard.Hart\n", "Did you mean 'Hard'?"),
        ("{}\n", "law=mine has no _target_"),
        ("_target_: attnexp.probe.laws.hard.Hard\nsize: 2\n", "There is no setting 'size'"),
        ("_target_: a.B\none: ???\ntwo: ???\n", r"one argument at most can be \?\?\?, got one and"),
    ],
)
def test_a_file_that_does_not_name_a_law_is_refused(tmp_path, text, sentence):
    (tmp_path / "law").mkdir()
    (tmp_path / "law" / "mine.yaml").write_text(f"# A law.\n{text}")
    with pytest.raises(RequestError, match=sentence):
        read_laws(tmp_path)["mine"].make(None)
