"""Attention scoring functions, one a file: the formula, its source, the code."""
