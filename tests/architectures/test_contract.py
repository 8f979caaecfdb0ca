"""The contract holds for every architecture of conf/arch, and fails for what it forbids."""

import pytest
import torch
from hydra.utils import get_object
from torch import nn

from attnexp.architectures.base import Architecture
from attnexp.architectures.contract import ARCHITECTURE_CONTRACT
from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.architectures.rnn import Rnn
from attnexp.core.batch import Prediction, RegressionSpec


@pytest.mark.parametrize("check", ARCHITECTURE_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check, arch_name, settings_of):
    check(get_object(settings_of("arch", arch_name)["_target_"]))


class Broken(KernelRegression):
    """Answers for one target too few."""

    def forward(self, batch, need_weights=False):
        whole = super().forward(batch, need_weights)
        return Prediction(whole.outputs[:, 1:], whole.weights)


class Chatty(KernelRegression):
    """Always gives weights."""

    def forward(self, batch, need_weights=False):
        return super().forward(batch, need_weights=True)


class Unmasked(KernelRegression):
    """Forgets the mask."""

    def forward(self, batch, need_weights=False):
        context, weights = self.pooling(batch.queries, batch.keys, batch.values)
        return Prediction(context, {"pooling": weights.unsqueeze(1)} if need_weights else {})


class Noisy(KernelRegression):
    """Draws from the global generator."""

    def forward(self, batch, need_weights=False):
        whole = super().forward(batch, need_weights)
        return Prediction(whole.outputs + torch.rand(()), whole.weights)


class Idle(Architecture):
    """Has a parameter on which no output depends."""

    def __init__(self, spec: RegressionSpec, score, normalizer):
        super().__init__()
        self.unused, self.used = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))

    def forward(self, batch, need_weights=False):
        return Prediction(self.used * batch.targets, {})


class Hasty(Rnn):
    """Gives other logits where it decodes."""

    def step(self, ids, state):
        logits, state = super().step(ids, state)
        return 2 * logits, state


BREAKERS = {
    "answers_every_target": Broken,
    "gives_the_same_outputs_without_weights": Chatty,
    "gives_masked_keys_no_weight": Unmasked,
    "is_pure": Noisy,
    "has_gradients": Idle,
    "decodes_as_it_trains": Hasty,
}


@pytest.mark.parametrize("check", ARCHITECTURE_CONTRACT, ids=lambda check: check.__name__)
def test_a_check_fails_for_what_it_forbids(check):
    with pytest.raises(AssertionError):
        check(BREAKERS[check.__name__])
