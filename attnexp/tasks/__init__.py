"""Kinds of data: what the loss is, its metrics, the score of a trivial answer."""
