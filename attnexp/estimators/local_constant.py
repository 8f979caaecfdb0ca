"""The estimator of Nadaraya and Watson."""

from jaxtyping import Float
from torch import Tensor

from attnexp.estimators.base import Compared, Estimator


class LocalConstant(Estimator):
    """l = w: the answer is the average of the values, sum_i w_i v_i.

    Nadaraya (1964) and Watson (1964): the constant that fits the values best by squares with the
    weights w, if they sum to 1. It is the attention of Bahdanau, Cho and Bengio (2015) and of
    Vaswani et al. (2017).
    """

    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        return weights
