"""Positions: they tell attention, which mostly takes its keys as a set, the order of symbols."""

from attnexp.architectures.positions.base import Order, Positions, PositionsFactory, require_order

__all__ = ["Order", "Positions", "PositionsFactory", "require_order"]
