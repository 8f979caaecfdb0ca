"""Kinds of data: the loss of each, its metrics, and the score of a trivial answer."""
