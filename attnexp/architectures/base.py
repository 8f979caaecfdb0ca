"""The contract of an architecture."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from torch import nn

from attnexp.attention.base import Attention
from attnexp.core.batch import Batch, Prediction


class Architecture(nn.Module, ABC):
    """Maps a batch to a prediction through attention with a given scoring function and normalizer.

    The first arguments of a constructor are `spec`, annotated with the kind of data that the
    architecture accepts, `score`, called with `query_dim` and `key_dim` to build a score, and
    `normalizer`, called with `heads` to build a normalizer. An architecture without `normalizer` is
    for the softmax alone. The other arguments are hyperparameters and come from its YAML file.

    A forward pass is pure: it writes to no module and draws from no global generator.
    """

    causal: ClassVar[bool] = False
    """Whether all of its attention is causal self-attention."""

    compares_inputs: bool = False
    """Whether the score compares x itself, so that its dimensions are the inputs of the data."""

    compares_products: bool = False
    """Whether it does so by products, which do not tell which points are near."""

    @property
    def attentions(self) -> Mapping[str, Sequence[Attention]]:
        """The attention of each layer, by the name that its weights have in a prediction.

        By default every attention has an entry of its own, under the path of its module.
        """
        return {
            name: [module] for name, module in self.named_modules() if isinstance(module, Attention)
        }

    @abstractmethod
    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        """Return the outputs for every query, with the attention weights if `need_weights`."""
