"""Sweeps: many runs from one command, each of them once."""
