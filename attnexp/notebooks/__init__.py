"""Runs in notebooks: how they are shown there, and notebooks written over their files."""
