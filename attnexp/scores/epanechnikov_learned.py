"""The triangle kernel with a width that is learned."""

from attnexp.scores.compact import LearnedWidth
from attnexp.scores.epanechnikov import Epanechnikov


class EpanechnikovLearned(LearnedWidth):
    r"""a(q, k) = log max(0, 1 - \|w\| \|q - k\| / sqrt(d)); w is learned.

    The kernel is that of `Epanechnikov`. The width starts from U(0, 1), or from `initial_width`
    where one is given: see `LearnedWidth`. Unit of w: one over the unit of x.

    Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = EpanechnikovLearned(query_dim=1, key_dim=1, initial_width=1.0)
        >>> score(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [2.0]])).detach().exp()
        tensor([[1.0000, 0.5000, 0.0000]])
    """

    log_height = staticmethod(Epanechnikov.log_height)
