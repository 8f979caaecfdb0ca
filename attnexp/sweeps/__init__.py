"""Sweeps: many runs from one command, each once, none spoiled by another."""
