"""One attention from a score and a number of heads."""

from attnexp.attention.base import Attention
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.scores.base import ScoreFactory, require_positive


def single_or_multihead(
    score: ScoreFactory, query_dim: int, key_dim: int, value_dim: int, heads: int, head_dim: int
) -> Attention:
    """`AttentionPooling` for one head, the score with no projection around it; else `MultiHead`.

    Either way a context has the size of a value. Raises ValueError for fewer than one head.
    """
    require_positive("heads", heads)
    if heads == 1:
        return AttentionPooling(score(query_dim=query_dim, key_dim=key_dim), value_dim)
    return MultiHead(score, query_dim, key_dim, value_dim, value_dim, heads, head_dim)
