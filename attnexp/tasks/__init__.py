"""Kinds of data: what the loss is, what is measured, what a trivial answer scores."""
