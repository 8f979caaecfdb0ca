"""The base of the scores that compare normalised queries and keys by another score."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor

from attnexp import scores
from attnexp.core.lazy import classes_by_file
from attnexp.scores.base import Score, ScoreFactory


class Normed(Score):
    """a(q, k) = a'(n_q(q), n_k(k)), with the maps n_q and n_k that a subclass defines.

    `inner` makes a': a class of scores, or the name of the file of one of attnexp's, which then has
    its default settings. `name` is that of the subclass in messages.

    Raises ValueError for an unknown name, for a score that is compact, whose gradient is not finite
    once its scores are scaled, and as a' does for sizes.
    """

    def __init__(self, name: str, query_dim: int, key_dim: int, inner: str | ScoreFactory) -> None:
        super().__init__(query_dim, key_dim)
        make = _class_named(name, inner) if isinstance(inner, str) else inner
        self.inner = make(query_dim=query_dim, key_dim=key_dim)
        if self.inner.compact:
            raise ValueError(
                f"inner of model={name} must have a score for every query and key, got "
                f"{type(self.inner).__name__}, which is minus infinity for keys out of reach"
            )

    @abstractmethod
    def norm_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries query_dim"]:
        """Return n_q(q) for each query."""

    @abstractmethod
    def norm_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys key_dim"]:
        """Return n_k(k) for each key."""

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        return self.inner.project_queries(self.norm_queries(queries))

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        return self.inner.project_keys(self.norm_keys(keys))

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return self.inner.compare(queries, keys)

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]] | None:
        return self.inner.as_dot_product(queries, keys)


def _class_named(name: str, inner: str) -> type[Score]:
    kinds = classes_by_file(scores, Score)
    if inner not in kinds:
        choices = ", ".join(each for each, kind in kinds.items() if not kind.compact)
        raise ValueError(
            f"inner of model={name} must be a class of scores or one of {choices}, got {inner!r}"
        )
    return kinds[inner]
