"""The base of the scores that compare normalised queries and keys by another score."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.inner import Inner


class Normed(Inner):
    """a(q, k) = a'(n_q(q), n_k(k)), with the maps n_q and n_k that a subclass defines."""

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
