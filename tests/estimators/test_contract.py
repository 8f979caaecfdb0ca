"""The contract holds for each choice of conf/estimator, and fails otherwise."""

from functools import partial

import pytest
import torch
from hydra.utils import get_object

from attnexp.attention.contract import ATTENTION_CONTRACT, ESTIMATOR_CONTRACT
from attnexp.estimators.base import Estimator
from attnexp.estimators.local_constant import LocalConstant


def named(check):
    return check.__name__


@pytest.mark.parametrize("check", ESTIMATOR_CONTRACT, ids=named)
def test_contract(check, estimator_name, settings_of):
    settings = settings_of("estimator", estimator_name)
    check(partial(get_object(settings.pop("_target_")), **settings))


(SIGNS,) = (each for each in ESTIMATOR_CONTRACT if named(each) == "tells_the_truth_about_signs")


class Negative(LocalConstant):
    def forward(self, weights, compared):
        return weights - 0.1 * (weights != 0)


class Mixes(LocalConstant):
    def forward(self, weights, compared):
        return weights.mean(dim=-3, keepdim=True).expand_as(weights)


class Ordered(LocalConstant):
    def forward(self, weights, compared):
        return weights * torch.arange(1.0, weights.shape[-1] + 1)


class Claims(LocalConstant):
    sums_to_one = True


BREAKERS = {
    "sums_to_one_as_declared": Claims,
    "is_causal_as_declared": Ordered,
    "takes_heads_as_declared": Mixes,
}


@pytest.mark.parametrize("check", ESTIMATOR_CONTRACT[-len(BREAKERS) :], ids=named)
def test_a_check_fails_for_what_it_forbids(check):
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        check(BREAKERS[check.__name__])


class Subtracts(LocalConstant):
    """Learns how much of the mean weight it takes off, and takes none off at first."""

    def __init__(self, *args, **sizes):
        super().__init__(*args, **sizes)
        self.share = torch.nn.Parameter(torch.zeros(()))

    def forward(self, weights, compared):
        seen = weights != 0
        return weights - self.share.square() * weights.mean(dim=-1, keepdim=True) * seen


def test_an_estimator_that_learns_negative_weights_is_signed():
    with pytest.raises(AssertionError, match="signed of its estimator must be True"):
        SIGNS(Subtracts)
    SIGNS(type("Signed", (Subtracts,), {"signed": True}))


def test_an_estimator_meets_the_contract_of_attention():
    names = [named(check) for check in ESTIMATOR_CONTRACT]
    assert names[: -len(BREAKERS)] == [named(check) for check in ATTENTION_CONTRACT]
    with pytest.raises(AssertionError, match="signed of its estimator must be True"):
        SIGNS(Negative)
    assert issubclass(Negative, Estimator)
