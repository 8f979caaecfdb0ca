"""The class of the largest item of a set."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    ascending,
    check_least,
    numbered,
    question_batch,
    stack,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(eq=False, repr=False)
class Maximum(DrawnSequences):
    """source = n items, each a priority and a class; target = the class of the largest priority.

    Max retrieval, after Veličković et al. (2025), "Softmax is not enough (for Sharp Size
    Generalisation)". An item is one symbol, such as c17: class c, priority 17. One item has the
    largest priority m, which is uniform over 1 to `priorities` - 1; those of the others are uniform
    below m, and so may repeat, and classes are uniform. In the paper a priority is a real number
    and classes are given as vectors; here a table has a vector for each of the `priorities` *
    `classes` items. There are `min_items` to `max_items` of them, in equal shares, and all sources
    are different. With two priorities and four classes most tests of as many items as training has
    are a training source in another order, which a model without positions, such as `arch=pooling`,
    cannot tell apart. The test set has the numbers `test_items`, in equal shares, or those of
    training if that is None. The gold alignment is the place of the largest item.

    Example:
        source     a3 c17 a9 b3
        target     c
        alignment  1

    Raises ValueError for a set without examples, fewer than two priorities or one class, more than
    26 classes, an empty range of items, no or negative `test_items`, and more examples than there
    are different sources.
    """

    floors = ("exact_match",)

    num_train: int = 50_000
    num_test: int = 1_000
    min_items: int = 5
    max_items: int = 16
    priorities: int = 16
    classes: int = 10
    test_items: Sequence[int] | None = None

    def __post_init__(self, generator: torch.Generator) -> None:
        trained, _ = self.ranges_of("items")
        check_least("priorities", self.priorities, 2)
        if not 1 <= self.classes <= len(LETTERS):
            raise ValueError(f"classes must be within 1 to {len(LETTERS)}, got {self.classes}")
        tested = ascending("test_items", self.test_items, "number of items")
        letters, count = LETTERS[: self.classes], self.classes
        self.draw_sets(
            generator,
            trained,
            tested,
            numbered(self.priorities * count, lambda i: f"{letters[i % count]}{i // count}"),
            list(letters),
            shapes=self.priorities - 1,
        )

    def families(self, numbers: Sequence[int]) -> Families:
        named = f"{', '.join(map(str, numbers))} items of {self.priorities} priorities"
        return Families(
            {
                (items, largest): [items] + [largest] * (items - 1) + [self.classes] * items
                for items in numbers
                for largest in range(1, self.priorities)
            },
            f"{named} and {self.classes} classes",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, targets, places = [], [], []
        for (items, largest), digits in drawn.items():
            place, lower, kinds = digits.split([1, items - 1, items], dim=1)
            # the place of the largest splits the others in two
            column = torch.arange(items).expand(len(digits), -1)
            rank = column - (column > place).long()
            priority = torch.cat([lower, lower.new_zeros(len(digits), 1)], dim=1).gather(1, rank)
            priority = priority.where(column != place, largest)
            sources.append(FIRST + priority * self.classes + kinds)
            targets.append(FIRST + kinds.gather(1, place).squeeze(1))
            places.append(place.squeeze(1))
        most = max(items for items, _ in drawn)
        return question_batch(stack(sources, most), torch.cat(targets), torch.cat(places))
