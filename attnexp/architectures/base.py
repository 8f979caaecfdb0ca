"""The contract of an architecture."""

from abc import ABC, abstractmethod

from torch import nn

from attnexp.batch import Batch, Prediction


class Architecture(nn.Module, ABC):
    """Maps a batch to a prediction through attention with a given scoring function and normalizer.

    The first arguments of a constructor are `spec`, annotated with the kind of data that the
    architecture accepts, `score`, called with `query_dim` and `key_dim` to build a score, and
    `normalizer`, called with `heads` to build a normalizer. One without `normalizer` is for the
    softmax alone. The other arguments are hyperparameters and come from its YAML file.

    A forward pass is pure: it writes to no module and draws from no global generator.
    """

    compares_inputs: bool = False
    """Whether the score compares x as the data have it, so that its dimensions are the inputs."""

    @abstractmethod
    def forward(self, batch: Batch, need_weights: bool = False) -> Prediction:
        """Return the outputs for every query, with the attention weights if `need_weights`."""

    def kept(self, queries: int, keys: int, examples: int) -> int:
        """Return how many numbers a step of training keeps for its gradients, at the least.

        The step is of so many examples, each with so many queries and keys. 0 is for an
        architecture of which nothing is known.
        """
        return 0


def linear_outputs(model: nn.Module) -> int:
    """Return the outputs of all linear layers in a model, for one symbol or point.

    Each is kept for the gradients by what follows it.
    """
    return sum(each.out_features for each in model.modules() if isinstance(each, nn.Linear))
