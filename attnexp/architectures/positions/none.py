"""No positions."""

from attnexp.architectures.positions.base import Positions


class NoPositions(Positions):
    """Leaves vectors, queries, keys and scores as they are.

    An encoder then takes its symbols as a set. A causal stack does not: the number of keys that a
    query may see tells its layers its position (Haviv et al., 2022).
    """
