"""The contract holds for each choice of conf/attention, and fails otherwise."""

from functools import partial

import pytest
import torch
from hydra.utils import get_object

from attnexp.attention.contract import ATTENTION_CONTRACT
from attnexp.attention.multihead import MultiHead
from attnexp.estimators.local_constant import LocalConstant


def named(check):
    return check.__name__


@pytest.mark.parametrize("check", ATTENTION_CONTRACT, ids=named)
def test_contract_of_attention(check, attention_name, settings_of):
    settings = settings_of("attention", attention_name)
    check(partial(get_object(settings.pop("_target_")), **settings))


class Shifts(MultiHead):
    """Adds a number to the context, which no weight does."""

    def attend(self, queries, memory, need_weights=True, turn=None, bias=None, near=None):
        context, weights = super().attend(queries, memory, need_weights, turn, bias, near)
        return context + 1, weights


class Unmasked(MultiHead):
    def remember(self, keys, values, mask=None, turn=None):
        return super().remember(keys, values, None, turn)


class Counts(MultiHead):
    def attend(self, queries, memory, need_weights=True, turn=None, bias=None, near=None):
        context, weights = super().attend(queries, memory, need_weights, turn, bias, near)
        return context * queries.shape[1] * len(queries), weights


class Deaf(MultiHead):
    def attend(self, queries, memory, need_weights=True, turn=None, bias=None, near=None):
        return super().attend(queries, memory, need_weights)


class Unshared(MultiHead):
    def __init__(self, *args, **settings):
        super().__init__(*args, **{**settings, "kv_heads": None})


class Negative(LocalConstant):
    def forward(self, weights, compared):
        return weights - 0.1 * (weights != 0)


class Detached(LocalConstant):
    def forward(self, weights, compared):
        return weights.detach() + 0 * weights


class Overflows(LocalConstant):
    def forward(self, weights, compared):
        return weights * torch.tensor(3e-5, dtype=torch.float16).to(weights).square().rsqrt() ** 9


class Hidden(LocalConstant):
    count = 0

    def __init__(self, *args, **sizes):
        super().__init__(*args, **sizes)
        Hidden.count += 1
        self.hidden = float(Hidden.count)

    def forward(self, weights, compared):
        return self.hidden * weights


class ByPlace(LocalConstant):
    def forward(self, weights, compared):
        return weights * torch.arange(1.0, weights.shape[-1] + 1)


BREAKERS = {
    "answers_by_its_weights": Shifts,
    "gives_masked_keys_nothing": Unmasked,
    "passes_over_padding": partial(MultiHead, estimator=ByPlace),
    "answers_step_by_step": Counts,
    "hides_what_a_bias_hides": Deaf,
    "shares_keys": Unshared,
    "tells_the_truth_about_signs": partial(MultiHead, estimator=Negative),
    "has_right_gradients": partial(MultiHead, estimator=Detached),
    "treats_examples_alone": Counts,
    "works_in_half_precision": partial(MultiHead, estimator=Overflows),
    "loads_what_it_saved": partial(MultiHead, estimator=Hidden),
}


@pytest.mark.parametrize("check", ATTENTION_CONTRACT, ids=named)
def test_a_check_of_attention_fails_for_what_it_forbids(check):
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        check(BREAKERS[check.__name__])
