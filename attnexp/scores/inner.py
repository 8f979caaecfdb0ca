"""The base of the scores that are made of another score."""

from attnexp import scores
from attnexp.core.lazy import classes_by_file
from attnexp.scores.base import Score, ScoreFactory


class Inner(Score):
    """A score around another one, a'.

    `inner` makes a': a class of scores, or the name of the file of one of attnexp's, which then has
    its default settings. `name` is that of the subclass in messages.

    Raises ValueError for an unknown name, for a score that is compact, whose gradient is not finite
    once its scores are scaled, and as a' does for sizes.
    """

    def __init__(self, name: str, query_dim: int, key_dim: int, inner: str | ScoreFactory) -> None:
        super().__init__(query_dim, key_dim)
        make = _class_named(name, inner) if isinstance(inner, str) else inner
        self.inner = make(query_dim=query_dim, key_dim=key_dim)
        self.of_products = self.inner.of_products
        self.treats_keys_alike = self.inner.treats_keys_alike
        if self.inner.compact:
            raise ValueError(
                f"inner of model={name} must have a score for every query and key, got "
                f"{type(self.inner).__name__}, which is minus infinity for keys out of reach"
            )


def _class_named(name: str, inner: str) -> type[Score]:
    kinds = classes_by_file(scores, Score)
    if inner not in kinds:
        choices = ", ".join(each for each, kind in kinds.items() if not kind.compact)
        raise ValueError(
            f"inner of model={name} must be a class of scores or one of {choices}, got {inner!r}"
        )
    return kinds[inner]
