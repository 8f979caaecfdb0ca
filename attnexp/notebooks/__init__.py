"""Runs in Python, and how a notebook shows them."""
