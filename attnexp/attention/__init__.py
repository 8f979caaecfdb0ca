"""Attention built from a score: masked softmax, pooling, several heads."""
